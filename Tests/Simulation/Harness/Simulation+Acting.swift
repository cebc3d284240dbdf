import DocumentClient
import DocumentModel
import SystemIO
import TaskFolder
import TaskModel
import TaskSync

extension Action.Kind {
    /// Whether a user does it to files, so that it may occur in the middle of the bridge's own
    /// work.
    var isFile: Bool {
        switch self {
        case .create, .edit, .editAgain, .rename, .move, .copy, .delete, .replace, .attach, .replaceAttachment,
            .renameAttachment,
            .detach, .renameList, .remakeList, .passName, .recur:
            true
        default: false
        }
    }
}

/// The execution of actions.
extension Simulation {
    func perform(_ action: Action, on machine: SimulatedMachine, at path: String?) {
        var random = SeededRandom(action.seed)
        if action.kind.isFile
            || [
                .deleteMany, .removeList, .passNamesUnseen, .putBack, .bringBack, .leave, .makeTwin, .copyAway,
                .exchange, .cycle,
            ].contains(action.kind)
        {
            // If the disk refuses the change, the user has not made it.
            try? machine.byUser { _ in try touchFiles(action.kind, machine, path, &random) }
        } else if action.kind.isDisturbance {
            try? machine.byUser { _ in try disturb(action.kind, machine, &random) }
        } else if action.kind == .count {
            let word = words.make()
            tell(machine, "counts, with \(word)")
            Task { try? await machine.program?.count(word, &random) }
        } else if action.kind.isUser || [.decideDeletes, .pause, .rescan].contains(action.kind) {
            command(action.kind, machine, random)
        } else {
            happen(action.kind, machine, &random)
        }
    }

    // MARK: At the files

    private func touchFiles(
        _ kind: Action.Kind, _ machine: SimulatedMachine, _ wanted: String?, _ random: inout SeededRandom
    ) throws {
        let disk = machine.disk
        // Files of a directory that is not mounted cannot be changed.
        _ = try disk.status("")
        let files = machine.files
        // Users do not touch files that are being saved, nor those that a power cut has emptied
        // until Ferry has restored them, because emptying cannot be distinguished from a user's
        // edit.
        let paths = files.filter { !machine.busy.contains($0.key) && !$0.value.isEmpty }.keys.sorted()
        switch kind {
        case .create:
            let path = place(title(&random), machine, &random)
            guard files[path] == nil, !machine.busy.contains(path) else { return }
            if let end = path.lastIndex(of: "/") { try disk.makeDirectories(String(path[..<end])) }
            try create(path, machine, &random)
        case .edit:
            // Use exactly this file, because another one with a canonically equivalent name is
            // another file.
            let there = wanted.flatMap { wanted in paths.first { UTF8Order.areEqual($0, wanted) } }
            guard let path = there ?? random.pick(paths), let old = files[path] else { return }
            var draft = Draft(old)
            let what = draft.edit(&random, words.make())
            machine.lastEdit = (path, old, draft.bytes)
            try save(path, old, draft.bytes, machine, &random)
            tell(machine, "\(what) in '\(path)'")
        case .editAgain:
            guard let (path, before, after) = machine.lastEdit, let old = files[path],
                paths.contains(where: { UTF8Order.areEqual($0, path) })
            else { return }
            var (draft, what) = (Draft(before), "takes the last edit back")
            if old != after || random.chance(60) {
                draft = Draft(old)
                what = draft.edit(&random, words.make())
            }
            machine.lastEdit = (path, old, draft.bytes)
            try save(path, old, draft.bytes, machine, &random)
            tell(machine, "\(what) in '\(path)', once more")
        case .rename:
            guard let path = random.pick(paths.filter(machine.hasSeen)) else { return }
            _ = try rename(path, machine, &random)
        case .move:
            guard let path = random.pick(paths.filter(machine.hasSeen)) else { return }
            let name = path.split(separator: "/").last.map(String.init) ?? path
            let new = place(String(name.dropLast(3)), machine, &random)
            guard files[new] == nil, new != path, !machine.busy.contains(new) else { return }
            if let end = new.lastIndex(of: "/") { try disk.makeDirectories(String(new[..<end])) }
            try disk.rename(path, to: new, .exclusive)
            words.place(files[path] ?? [], at: new)
            words.leaveAttachments(of: files[path] ?? [])
            machine.noteRename(new)
            tell(machine, "moves '\(path)' to '\(new)'")
        case .copy:
            guard let path = random.pick(paths), let bytes = files[path] else { return }
            let new = place(title(&random), machine, &random)
            guard files[new] == nil, !machine.busy.contains(new) else { return }
            if let end = new.lastIndex(of: "/") { try disk.makeDirectories(String(new[..<end])) }
            try disk.write(new, bytes)
            machine.noteNew(new)
            words.copy(bytes)
            words.place(bytes, at: new)
            succeed(bytes, at: new, machine)
            words.rename("", to: new)
            tell(machine, "copies '\(path)' to '\(new)'")
        case .delete:
            guard let path = random.pick(paths) else { return }
            try delete(path, machine)
        case .replace:
            // A file that Ferry has not seen is another version of the file that it replaces, as
            // editors save.
            guard let path = random.pick(paths.filter { machine.hasSeen($0) && !machine.isNew($0) }),
                let other = random.pick(paths), other != path, let bytes = files[other]
            else { return }
            let last = machine.lastPlace(of: other)
            try disk.rename(path, to: other, .replacing)
            words.delete(bytes)
            for place in [other, last].compactMap(\.self) { words.place(files[path] ?? [], at: place) }
            words.leaveAttachments(of: files[path] ?? [])
            words.rename(path, to: other)
            machine.noteRename(other)
            tell(machine, "puts '\(path)' in the place of '\(other)'")
        case .deleteMany:
            for path in paths where random.chance(80) {
                try delete(path, machine, withOthers: true)
            }
        case .renameList, .remakeList:
            guard let directory = random.pick(machine.directories), isIdle(directory, machine),
                paths.allSatisfy({ !$0.hasPrefix(directory + "/") || machine.hasSeen($0) })
            else { return }
            let parent = Words.directory(of: directory)
            let new = (parent.isEmpty ? "" : parent + "/") + "List \(words.make())"
            try renameList(directory, to: new, machine)
            // A user creates a list with the old name, often at once, on this or another machine.
            guard kind == .remakeList else { return }
            let other = random.chance(50) ? machine : random.pick(machines) ?? machine
            let path = "\(directory)/\(title(&random)).md"
            let pause = Duration.milliseconds([0, 1, 20, 300, 2000][random.below(5)])
            scheduler.after(pause) { [unowned self, random] in
                var random = random
                try? other.byUser { disk in
                    guard (try? disk.status(path)) == nil else { return }
                    try disk.makeDirectories(directory)
                    try create(path, other, &random)
                }
            }
        case .removeList:
            guard let directory = random.pick(machine.directories), isIdle(directory, machine) else { return }
            try removeList(directory, machine)
        case .passName, .passNamesUnseen, .putBack, .bringBack, .leave, .makeTwin, .copyAway, .exchange, .cycle,
            .saveUnseen:
            try encounter(kind, machine, paths, &random)
        case .attach, .replaceAttachment, .renameAttachment, .detach:
            try touchAttachments(kind, machine, paths, &random)
        case .recur: try recur(paths, machine, &random)
        default: break
        }
    }

    /// Renames the directory of a list, in which no file is being saved.
    func renameList(_ directory: String, to new: String, _ machine: SimulatedMachine) throws {
        let files = machine.files
        let within = machine.directories.filter { $0.hasPrefix(directory + "/") }
        let attachments = machine.exactFiles(.attachment).filter { $0.key.string.hasPrefix(directory + "/") }
        try machine.disk.rename(directory, to: new, .exclusive)
        for (path, bytes) in attachments where files[path.taskFileOfAttachments.string] == nil {
            words.leaveBehind(bytes)
        }
        words.rename(directory, to: new)
        words.changeDirectories(directory, new)
        for old in within { words.changeDirectories(old, new + old.dropFirst(directory.count)) }
        for path in files.keys.sorted() where path.hasPrefix(directory + "/") && !machine.busy.contains(path) {
            words.leaveAttachments(of: files[path] ?? [])
            machine.noteRename(new + path.dropFirst(directory.count))
        }
        tell(machine, "renames the list '\(directory)' to '\(new)'")
    }

    /// Renames a file. Returns whether the new name was free.
    func rename(
        _ path: String, _ machine: SimulatedMachine, _ random: inout SeededRandom
    ) throws -> Bool {
        let directory = Words.directory(of: path)
        let new = (directory.isEmpty ? "" : directory + "/") + title(&random) + ".md"
        guard machine.files[new] == nil, !machine.busy.contains(new) else { return false }
        try machine.disk.rename(path, to: new, .exclusive)
        words.rename(path, to: new)
        words.leaveAttachments(of: machine.files[new] ?? [])
        machine.noteRename(new)
        tell(machine, "renames '\(path)' to '\(new)'")
        return true
    }

    func delete(_ path: String, _ machine: SimulatedMachine, withOthers: Bool = false) throws {
        guard let bytes = machine.files[path] else { return }
        try machine.disk.remove(path)
        words.delete(bytes)
        // A file that a power cut has emptied may be any of those.
        if Words.found(in: bytes, "b").isEmpty { words.delete(machine.emptied) }
        words.rename(path, to: "")
        machine.noteDeletion(of: path, Words.found(in: bytes, "b"), mayBeHeld: withOthers)
        tell(machine, "deletes '\(path)'\(withOthers ? " with many others" : "")")
    }

    func removeList(_ directory: String, _ machine: SimulatedMachine) throws {
        // Remove all files, including two whose names differ only in Unicode normalization.
        for (path, bytes) in machine.exactFiles(.taskFile) where path.string.hasPrefix(directory + "/") {
            words.delete(bytes)
            words.rename(path.string, to: "")
        }
        for (path, bytes) in machine.exactFiles(.attachment) where path.string.hasPrefix(directory + "/") {
            words.replace(bytes, with: [])
        }
        for path in machine.directories where path == directory || path.hasPrefix(directory + "/") {
            words.rename(path, to: "")
            words.changeDirectories(path)
        }
        // With the link in the place of a list the tasks beneath it go too.
        for blocked in blockedLists where blocked.machine === machine && blocked.directory.string.hasPrefix(directory) {
            remove(blocked)
        }
        try machine.disk.removeTree(directory)
        tell(machine, "removes the list '\(directory)' and all in it")
    }

    func create(_ path: String, _ machine: SimulatedMachine, _ random: inout SeededRandom) throws {
        var draft = Draft([])
        draft.body = ["born \(words.makeBirth())"]
        for _ in 0..<random.below(4) { _ = draft.edit(&random, words.make()) }
        try machine.disk.write(path, draft.bytes)
        machine.noteNew(path)
        words.replace([], with: draft.bytes)
        words.place(draft.bytes, at: path)
        succeed(draft.bytes, at: path, machine)
        words.rename("", to: path)
        tell(machine, "makes '\(path)': \(Words.short(draft.bytes))")
    }

    /// Records that a user creates a task, or a copy of one, at a path where others were deleted.
    func succeed(_ content: [UInt8], at path: String, _ machine: SimulatedMachine) {
        words.succeed(content, after: machine.marksJustDeleted(at: path))
        completions.succeed(Words.found(in: content, "b"), after: machine.marksDeleted(at: path))
    }

    func isIdle(_ directory: String, _ machine: SimulatedMachine) -> Bool {
        !machine.busy.contains { $0.hasPrefix(directory + "/") }
    }

    func title(_ random: inout SeededRandom) -> String {
        if random.chance(12) {
            return random.pick(["Same", "same", "Caf\u{E9}", "Cafe\u{301}", "Call: \"Anna\"", "Same 2"]) ?? "Same"
        }
        return "Task \(words.make())"
    }

    private func place(_ title: String, _ machine: SimulatedMachine, _ random: inout SeededRandom) -> String {
        if random.chance(60) { return title + ".md" }
        let directory =
            (random.chance(70) ? random.pick(machine.directories) : nil)
            ?? (isNested ? ["Work/Sub/Deep", "Work/Sub"] : ["Work", "Home"])[random.below(2)]
        return directory + "/" + title + ".md"
    }

    // MARK: At the command line

    private func command(_ kind: Action.Kind, _ machine: SimulatedMachine, _ random: SeededRandom) {
        machine.perform { [self] sync in
            var random = random
            switch kind {
            case .addByCommand:
                let (title, birth) = ("Task \(words.make())", words.makeBirth())
                var edit = TaskEdit()
                edit.title = title
                edit.notes = "born \(birth)\n"
                if random.chance(30) { edit.listName = ["Work", "Home"][random.below(2)] }
                // Record this before the task exists: the process may die, and another user may use
                // the file, before the command has ended.
                let path = (edit.listName.map { $0 + "/" } ?? "") + title
                if edit.listName != nil { words.command(path) }
                words.place(Array("born \(birth)\n".utf8), at: path)
                _ = try await sync.add([edit]).first?.get()
                words.rename("", to: title)
                tell(machine, "adds '\(title)' by command")
            case .tagByCommand:
                let ids = await sync.catalog.living.map(\.id).sorted()
                guard let id = random.pick(ids) else { return }
                let word = words.make()
                var edit = TaskEdit()
                edit.addTags = [word]
                if random.chance(30) { edit.isCompleted = random.chance(50) }
                if random.chance(15) {
                    edit.listName = ["", "Work", "Home"][random.below(3)]
                    let path = await sync.path(ofTask: id) ?? ""
                    words.command(path)
                    words.place(Array((try await sync.detail(id).item.notes).utf8), at: path)
                }
                try await self.edit(id, edit, sync)
                words.rename("", to: word)
                // While syncing is paused, a machine still shows deleted tasks.
                if await sync.catalog[id]?.deletion != nil || machine.removed.contains(id) {
                    words.rename(word, to: "")
                }
                tell(machine, "adds the tag \(word) to \(id) by command")
            case .removeByCommand:
                let ids = await sync.catalog.living.map(\.id).sorted()
                guard let id = random.pick(ids), let item = try? await sync.detail(id).item else { return }
                let path = await sync.path(ofTask: id)
                if let path, machine.busy.contains(path) { return }
                machine.leaveAlone(path)
                defer { machine.leaveAlone(nil) }
                // Include the user's latest save, which the command reads first. The file's name
                // contains more than the title if the front matter has a title.
                words.delete(Array("\(item) \(path ?? "")".utf8) + (path.flatMap { machine.files[$0] } ?? []))
                tell(machine, "removes \(id) '\(item.title)' by command")
                machine.removed.insert(id)
                try await sync.remove([id])
                // Include what has arrived by the command's turn, like what arrived just before it
                // was given.
                if let item = try? await sync.detail(id).item { words.delete(Array("\(item)".utf8)) }
            case .restoreByCommand:
                guard let id = random.pick(await sync.catalog.trashed.map(\.id).sorted()) else { return }
                machine.removed.remove(id)
                try await sync.restore([id])
                tell(machine, "restores \(id)")
            case .decideDeletes:
                let waiting = await sync.heldDeletes
                let held = waiting.map(\.entry.id)
                guard !held.isEmpty else { return }
                let approves = random.chance(50)
                tell(machine, "\(approves ? "approves" : "takes back") \(held.count) held deletes")
                if approves {
                    for id in waiting.filter({ !$0.isRevert }).map(\.entry.id) {
                        let path = await sync.path(ofTask: id) ?? ""
                        words.delete(Array("\(try await sync.detail(id).item) \(path)".utf8))
                    }
                    try await sync.approveDeletes(held)
                } else {
                    try await sync.restoreDeletes(held)
                }
            case .pause:
                let isPaused = await sync.isPaused
                tell(machine, isPaused ? "goes on syncing" : "pauses")
                await sync.setPaused(!isPaused)
            case .rescan: try await sync.rescanNow()
            default: break
            }
        }
    }

    // MARK: Events of machines, the network and the remote

    private func happen(_ kind: Action.Kind, _ machine: SimulatedMachine, _ random: inout SeededRandom) {
        switch kind {
        case .kill:
            guard machine.isRunning else { return }
            machine.callsToLive = random.below(40)
            tell(machine, "will die after \(machine.callsToLive ?? 0) calls")
        case .killLater:
            guard machine.isRunning else { return }
            scheduler.after(random.milliseconds(1...3000)) { [unowned self] in
                guard machine.isRunning else { return }
                tell(machine, "dies")
                machine.kill()
                scheduler.after(.milliseconds(500)) { machine.start() }
            }
        case .losePower:
            guard machine.isRunning else { return }
            tell(machine, "loses power")
            leavesEmptyFiles = true
            // What is beneath a mount may be lost as well.
            for covered in coveredLists where covered.machine === machine { uncover(machine, covered.directory) }
            // A save that Ferry has not seen is not Ferry's to keep.
            let (attached, tasks) = (machine.files(.attachment), machine.files)
            let lost = machine.losePower { words(of: $0) }
            let left = machine.files(.attachment)
            for (path, bytes) in attached where left[path] != bytes {
                guard let path = try? TaskPath(path) else { continue }
                let task = tasks[path.taskFileOfAttachments.string]
                words.detach(from: task ?? [], named: path.name)
                // The task's file may be back from before its deletion, and empty.
                if task == nil { words.leaveBehind(bytes) }
            }
            // A file that was emptied gets back its earlier content.
            words.forget(lost, left: machine.words().union(machine.notedWords(ofEmptied: true)))
            // A file that was just moved back is out of the tree again.
            for (path, bytes) in machine.byUser({ $0.contents() }) where path.string.hasPrefix(".aside/") {
                words.delete(bytes ?? [])
                words.rename(path.string, to: "")
            }
            // An editor that removes its file first loses it if it cannot continue.
            words.delete(machine.taken)
            scheduler.after(random.milliseconds(100...5000)) { machine.start() }
        case .stopAndStart:
            guard machine.isRunning else { return }
            tell(machine, "is off for a while")
            machine.kill()
            scheduler.after(random.milliseconds(100...60_000)) { machine.start() }
        case .skewClock:
            let years = random.pick([-56, 44, 0, 1, -1]) ?? 0
            machine.clockSkew = Int64(years) * 31_557_600_000
            tell(machine, "has its clock off by \(years) years")
        case .fillDisk:
            tell(machine, "has a full disk")
            machine.disk.setCapacity(machine.disk.usedBytes + random.below(100))
            scheduler.after(random.milliseconds(10...20_000)) { machine.disk.setCapacity(.max) }
        case .fillState:
            tell(machine, "has no room for its state file")
            machine.setStateFull(true)
            scheduler.after(random.milliseconds(10...20_000)) { machine.setStateFull(false) }
        case .forbid:
            guard let directory = random.pick(machine.directories) else { return }
            tell(machine, "cannot read '\(directory)'")
            machine.forbid(directory)
            scheduler.after(random.milliseconds(10...20_000)) { machine.permit(directory) }
        case .limitWatches:
            tell(machine, "has few watches")
            machine.disk.setWatchLimit(random.below(3))
            scheduler.after(random.milliseconds(10...40_000)) { machine.disk.setWatchLimit(.max) }
        case .dieWriting:
            let others = machines.filter { $0 !== machine }
            guard machine.isRunning, let other = random.pick(others) else { return }
            tell(machine, "will die writing a file")
            machine.onPlacing = { [unowned self, random] in
                var random = random
                machine.onPlacing = nil
                machine.callsToLive = 1 + random.below(6)
                // Its disk becomes available some time later, while users of other machines
                // continue to edit.
                scheduler.after(.milliseconds(400)) {
                    guard !machine.isRunning else { return }
                    machine.disk.setRootMissing(true)
                    self.scheduler.after(random.milliseconds(200...4000)) { machine.disk.setRootMissing(false) }
                }
                scheduler.after(random.milliseconds(1...3000)) {
                    try? other.byUser { _ in try self.touchFiles(.editAgain, other, nil, &random) }
                }
            }
        case .denyExchange:
            tell(machine, "has a file system that cannot exchange names")
            machine.lacksRenameFlags = true
            scheduler.after(random.milliseconds(10...60_000)) { machine.lacksRenameFlags = false }
        case .signOut:
            tell(machine, "is signed out")
            machine.isSignedOut = true
            scheduler.after(random.milliseconds(10...30_000)) { [unowned self] in
                tell(machine, "is signed in")
                machine.signIn()
            }
        case .refuse:
            let code = random.pick([RemoteError.Code.permission, .invalid, .tooLarge]) ?? .permission
            let number = random.below(3)
            tell(machine, "has writes refused: \(code)")
            machine.refuses = { ($0.name.path.utf8.reduce(0) { $0 + Int($1) }) % 3 == number ? code : nil }
            scheduler.after(random.milliseconds(10...20_000)) { machine.refuses = { _ in nil } }
        case .restoreServer: restoreServer(machine, &random)
        case .loseRoot:
            tell(machine, "has its directory unmounted")
            machine.disk.setRootMissing(true)
            scheduler.after(random.milliseconds(10...20_000)) { machine.disk.setRootMissing(false) }
        case .overflow:
            tell(machine, "has a short queue of events")
            machine.disk.setQueueLimit(1 + random.below(4))
            scheduler.after(random.milliseconds(10...5000)) { machine.disk.setQueueLimit(16_384) }
        case .cut, .silence:
            machine.link = kind == .cut ? .cut : .silent
            tell(machine, "has its network \(machine.link.rawValue)")
            scheduler.after(random.milliseconds(10...60_000)) { [unowned self] in mend(machine) }
        case .mend: mend(machine)
        case .lose:
            machine.lossRate = random.below(30)
            tell(machine, "loses \(machine.lossRate) % of its messages")
        default: break
        }
    }

    private func mend(_ machine: SimulatedMachine) {
        guard machine.link != .good else { return }
        tell(machine, "has its network back")
        machine.link = .good
        machine.networkChanged()
    }
}
