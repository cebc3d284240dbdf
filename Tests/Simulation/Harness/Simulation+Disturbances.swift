import DocumentClient
import SystemIO
import TaskFolder

/// Actions after which disks, names, states or the remote are not what a program expects. They
/// occur only on request.
extension Simulation {
    func disturb(_ kind: Action.Kind, _ machine: SimulatedMachine, _ random: inout SeededRandom) throws {
        _ = try machine.disk.status("")
        let files = machine.files
        let paths = files.filter { !machine.busy.contains($0.key) && !$0.value.isEmpty }.keys.sorted()
        switch kind {
        case .saveRacily:
            guard let path = random.pick(paths), let old = files[path] else { return }
            try saveRacily(path, old, machine, &random)
        case .coarsenClock:
            tell(machine, "has times of whole seconds")
            machine.disk.setClockStopped(true)
            scheduler.after(random.milliseconds(10...5000)) { machine.disk.setClockStopped(false) }
        case .changeForm:
            try changeForm(files, paths, machine, &random)
        case .blockList:
            guard let directory = random.pick(machine.directories), isIdle(directory, machine) else { return }
            try blockList(directory, machine, &random)
        case .coverList:
            guard let directory = random.pick(machine.directories), isIdle(directory, machine) else { return }
            try coverList(directory, machine, &random)
        case .protect:
            guard let path = random.pick(paths) else { return }
            try machine.disk.setMode(path, 0o444)
            tell(machine, "protects '\(path)'")
        case .outgrow:
            guard let path = random.pick(paths), let old = files[path] else { return }
            var draft = Draft(old)
            draft.body += ["line \(words.make())", Self.filler]
            try machine.disk.write(path, draft.bytes)
            edited(path, old, draft.bytes, machine)
            tell(machine, "adds a mebibyte to '\(path)'")
            scheduler.after(random.milliseconds(100...20_000)) { [unowned self] in shrinkFiles(of: machine) }
        case .limitQuota:
            tell(machine, "has used up its quota")
            machine.refuses = { _ in .quota }
            scheduler.after(random.milliseconds(10...20_000)) { machine.refuses = { _ in nil } }
        case .restoreState: try restoreState(machine, &random)
        case .restoreFiles:
            let backup = files.filter { machine.hasSeen($0.key) && !machine.isNew($0.key) }
            restore(backup, machine, &random)
        default: break
        }
    }

    /// Saves a file in place so that neither its size nor its time of modification changes.
    private func saveRacily(
        _ path: String, _ old: [UInt8], _ machine: SimulatedMachine, _ random: inout SeededRandom
    ) throws {
        var draft = Draft(old)
        let word = words.make()
        guard let place = random.pick(draft.places.filter { draft.body[$0].utf8.count >= word.utf8.count }) else {
            draft.body.append("line \(word)")
            try machine.disk.write(path, draft.bytes)
            edited(path, old, draft.bytes, machine)
            return tell(machine, "adds a line \(word) in '\(path)'")
        }
        let size = draft.body[place].utf8.count - word.utf8.count
        draft.body[place] = String("line ".prefix(size)) + String(repeating: "-", count: max(0, size - 5)) + word
        try machine.disk.writeKeepingTime(path, draft.bytes)
        edited(path, old, draft.bytes, machine)
        tell(machine, "changes a line to \(word) in '\(path)', which keeps its size and its time")
    }

    // MARK: Names

    /// Gives a file or a list its name in the other Unicode form, or a name that has two forms.
    private func changeForm(
        _ files: [String: [UInt8]], _ paths: [String], _ machine: SimulatedMachine, _ random: inout SeededRandom
    ) throws {
        func isMovable(_ directory: String) -> Bool {
            isIdle(directory, machine)
                && paths.allSatisfy { !$0.hasPrefix(directory + "/") || machine.hasSeen($0) }
        }
        if random.chance(40), let directory = random.pick(machine.directories.filter(isMovable)) {
            let parent = Words.directory(of: directory)
            let fresh = (parent.isEmpty ? "" : parent + "/") + "B\u{FC}ro \(words.make())"
            return try renameList(directory, to: Self.otherForm(of: directory) ?? fresh, machine)
        }
        guard let path = random.pick(paths.filter(machine.hasSeen)) else { return }
        let directory = Words.directory(of: path)
        let fresh = (directory.isEmpty ? "" : directory + "/") + "Caf\u{E9} \(words.make()).md"
        let new = Self.otherForm(of: path) ?? fresh
        guard !machine.busy.contains(new) else { return }
        try machine.disk.rename(path, to: new, .exclusive)
        words.rename(path, to: new)
        words.leaveAttachments(of: files[path] ?? [])
        machine.noteRename(new)
        tell(machine, "renames '\(path)' to '\(new)'\(path == new ? ", in the other Unicode form" : "")")
    }

    /// Returns the path whose last component is the other Unicode form of this one's, if it has one.
    private static func otherForm(of path: String) -> String? {
        let directory = Words.directory(of: path)
        let name = Array(path.utf8.dropFirst(directory.isEmpty ? 0 : directory.utf8.count + 1))
        for (composed, decomposed) in [("\u{E9}", "e\u{301}"), ("\u{FC}", "u\u{308}")] {
            for (old, new) in [(composed, decomposed), (decomposed, composed)] {
                let other = name.replacing(Array(old.utf8), with: Array(new.utf8))
                if other != name {
                    return (directory.isEmpty ? "" : directory + "/") + String(decoding: other, as: UTF8.self)
                }
            }
        }
        return nil
    }

    // MARK: Disks

    /// A line that no document has room for.
    private static let filler = String(repeating: "x", count: 1 << 20)

    /// Takes what `outgrow` has added out of all files of a machine.
    func shrinkFiles(of machine: SimulatedMachine) {
        for (path, old) in machine.files where old.count > 1 << 20 && !machine.busy.contains(path) {
            var draft = Draft(old)
            draft.body.removeAll { $0.utf8.count == 1 << 20 }
            guard (try? machine.byUser { try $0.write(path, draft.bytes) }) != nil else { continue }
            edited(path, old, draft.bytes, machine)
            tell(machine, "takes it out of '\(path)'")
        }
    }

    // MARK: Backups of a machine

    /// Puts the state file of a while ago back, as a snapshot of the home directory does that has
    /// the tasks directory on another disk.
    private func restoreState(_ machine: SimulatedMachine, _ random: inout SeededRandom) throws {
        guard machine.isRunning else { return }
        let backup = try machine.stateBackup()
        let pause = random.milliseconds(100...3000)
        scheduler.after(random.milliseconds(100...20_000)) { [unowned self] in
            guard machine.isRunning else { return }
            tell(machine, "dies, and gets its state of a while ago")
            // A value that came and went since is in a file that the state does not know. A change
            // by a command that was neither sent nor written to a file is lost.
            let lost = machine.restore(backup) { self.words(of: $0) }
            words.unite()
            words.forget(lost, left: [])
            for path in machine.files.keys { machine.noteRename(path) }
            scheduler.after(pause) { machine.start() }
        }
    }

    /// Copies older versions of files over them while the process does not run.
    private func restore(
        _ backup: [String: [UInt8]], _ machine: SimulatedMachine, _ random: inout SeededRandom
    ) {
        let pause = random.milliseconds(100...3000)
        scheduler.after(random.milliseconds(1000...20_000)) { [unowned self] in
            guard machine.isRunning else { return }
            machine.kill()
            machine.byUser { disk in
                let now = machine.files
                for (path, old) in backup.sorted(by: { $0.key < $1.key }) {
                    guard let new = now[path], new != old, !machine.busy.contains(path),
                        Words.found(in: new, "b") == Words.found(in: old, "b"), (try? disk.write(path, old)) != nil
                    else { continue }
                    words.replace(new, with: old)
                    words.unretire(Words.found(in: old, "q"))
                }
            }
            tell(machine, "is off, and has a backup copied over its files")
            scheduler.after(pause) { machine.start() }
        }
    }
}
