/// An action of a user, a network or a disk. Its details follow from `seed` and from the state at
/// its time, so that leaving out another action changes as little as possible.
package struct Action: Sendable {
    package enum Kind: String, Sendable, CaseIterable {
        // A user changes files.
        case create, edit, editAgain, rename, move, copy, delete, replace, deleteMany, renameList, remakeList,
            removeList, passName, passNamesUnseen, putBack, bringBack, leave, makeTwin, copyAway, exchange, cycle,
            saveUnseen, bringOld, recur
        // A user, on disks, with names, sizes or backups that are not what a program expects.
        case saveRacily, coarsenClock, changeForm, blockList, coverList, protect, outgrow, limitQuota, restoreState,
            restoreFiles
        // A user at attachments
        case attach, replaceAttachment, renameAttachment, detach
        // A program uses the library.
        case count
        // A user runs commands.
        case addByCommand, tagByCommand, removeByCommand, restoreByCommand, decideDeletes, pause, rescan
        // The machine
        case kill, killLater, losePower, stopAndStart, skewClock, fillDisk, fillState, loseRoot, overflow, forbid,
            limitWatches, dieWriting, denyExchange
        // The network
        case cut, silence, mend, lose
        // The remote
        case signOut, refuse, restoreServer

        /// The frequency, in thousandths.
        var weight: Int {
            switch self {
            case .create: 150
            case .edit: 430
            // Only on request: several saves of one file before it is debounced.
            case .editAgain: 0
            // Only on request: a name passes to another task, and is removed again or changed
            // unseen.
            case .passName, .passNamesUnseen: 0
            // Only on request: one new file on two machines, a move by a copy and a delete, and two
            // files that swap names, once or again and again.
            case .makeTwin, .copyAway, .exchange, .cycle: 0
            // Only on request: files that are back before their deletes are sent, and a machine
            // that does not come back.
            case .putBack, .bringBack, .leave: 0
            // As these: an old backup is copied over the directory.
            case .bringOld: 0
            // As these: users complete occurrences of recurring tasks.
            case .recur: 0
            // As these: an editor saves what it had before others changed the file.
            case .saveUnseen: 0
            // Only on request: see `Simulation.disturb`.
            case .saveRacily, .coarsenClock, .changeForm, .blockList, .coverList, .protect, .outgrow, .limitQuota,
                .restoreState, .restoreFiles:
                0
            case .rename: 60
            case .move: 50
            case .copy: 25
            case .delete: 50
            case .replace: 12
            case .deleteMany: 3
            case .renameList: 8
            case .remakeList: 6
            case .removeList: 6
            // Only on request: programs count in documents of their own.
            case .count: 0
            case .addByCommand: 20
            case .tagByCommand: 40
            case .removeByCommand: 10
            case .restoreByCommand: 12
            case .decideDeletes: 10
            case .pause: 4
            case .rescan: 5
            case .attach: 30
            case .replaceAttachment: 12
            case .renameAttachment: 6
            case .detach: 8
            case .kill: 24
            case .killLater: 6
            case .losePower: 5
            case .stopAndStart: 5
            case .skewClock: 5
            case .fillDisk: 4
            case .loseRoot: 4
            case .overflow: 4
            case .fillState: 4
            case .forbid: 4
            case .limitWatches: 4
            // Only on request: the process dies between a write and its record, and file systems
            // cannot exchange names.
            case .dieWriting, .denyExchange: 0
            case .signOut: 4
            case .refuse: 5
            // Only on request: the commits of the last minute are lost.
            case .restoreServer: 0
            case .cut: 14
            case .silence: 5
            case .mend: 30
            case .lose: 8
            }
        }

        /// The factor of the frequency if the action is requested.
        var oftenWeight: Int {
            switch self {
            case .restoreServer, .leave: 40
            case .dieWriting, .denyExchange, .coarsenClock, .limitQuota, .restoreState, .restoreFiles, .outgrow: 150
            default: max(20, weight) * 19
            }
        }

        /// Whether `Simulation.disturb` performs the action.
        var isDisturbance: Bool {
            switch self {
            case .saveRacily, .coarsenClock, .changeForm, .blockList, .coverList, .protect, .outgrow, .limitQuota,
                .restoreState, .restoreFiles:
                true
            default: false
            }
        }

        /// Whether the action stands for something that a user wants.
        package var isUser: Bool {
            switch self {
            case .create, .edit, .editAgain, .rename, .move, .copy, .delete, .replace, .deleteMany, .renameList,
                .remakeList,
                .removeList, .passName, .passNamesUnseen, .putBack, .bringBack, .leave, .makeTwin, .copyAway,
                .exchange, .cycle, .saveUnseen, .bringOld, .recur, .saveRacily, .changeForm, .blockList, .coverList,
                .protect, .outgrow,
                .restoreFiles, .attach, .replaceAttachment,
                .renameAttachment, .detach, .count,
                .addByCommand, .tagByCommand,
                .removeByCommand, .restoreByCommand:
                true
            default: false
            }
        }
    }

    package var time: Duration
    package var machine: Int
    package var kind: Kind
    package var seed: UInt64
}

/// The actions of a run, which are determined before it runs.
package struct Plan: Sendable {
    package var seed: UInt64
    package var machineCount: Int
    package var actions: [Action]
    /// Whether lists are nested, for every sixteenth seed.
    var isNested: Bool { seed % 16 == 5 }

    private static let lots = Action.Kind.allCases.flatMap { Array(repeating: $0, count: $0.weight) }
    /// The kinds for every fourth seed: whole lists are renamed and removed, on machines that often
    /// cannot reach each other.
    private static let lotsOfLists =
        lots + [.renameList, .removeList, .cut].flatMap { Array(repeating: $0, count: 80) }

    /// Creates a plan.
    ///
    /// - Parameter often: A kind that occurs twenty times as often as otherwise; `restoreServer`,
    ///   which otherwise never occurs, occurs twice in sixty actions.
    package init(seed: UInt64, actionCount: Int, often: Action.Kind? = nil) {
        var random = SeededRandom(seed ^ 0xACE5)
        self.seed = seed
        machineCount = 2 + random.below(2)
        // Some runs are busy, and some have time to come to rest between two actions.
        let longest = [20, 200, 2000, 8000][random.below(4)]
        var time = Duration.seconds(3)
        actions = []
        var machine = 0
        var lots = seed % 4 == 1 ? Self.lotsOfLists : Self.lots
        if let often { lots += Array(repeating: often, count: often.oftenWeight) }
        for _ in 0..<actionCount {
            time += .milliseconds(random.chance(5) ? random.below(10_000) : random.below(longest))
            if random.chance(40) { machine = random.below(machineCount) }
            guard let kind = random.pick(lots) else { continue }
            actions.append(Action(time: time, machine: machine, kind: kind, seed: random.next()))
        }
    }
}
