import SystemIO
import TaskFolder

/// Links and plain files in the places of lists.
extension Simulation {
    /// A list that was moved out of the tree, with a link or a plain file in its place.
    struct BlockedList {
        let machine: SimulatedMachine
        let directory: TaskPath
        /// The place of the list meanwhile.
        let aside: String
        /// The inode of what is in its place, which a rename of a directory above moves too.
        let blocker: UInt64
        let isLink: Bool
        /// Whether the blocker stays until the list is put back, and tells that nothing has been deleted.
        let isKept: Bool
        let files: [TaskPath: [UInt8]]
        let attachments: [[UInt8]]
        let lists: [String]
        let powerCuts: Int
    }

    /// Moves a list out of the tree for a while, and puts a link or a plain file in its place.
    func blockList(_ directory: String, _ machine: SimulatedMachine, _ random: inout SeededRandom) throws {
        let disk = machine.disk
        let aside = ".aside/\(words.make())"
        let within = machine.exactFiles(.taskFile).filter { $0.key.string.hasPrefix(directory + "/") }
        let attachments = machine.exactFiles(.attachment).filter { $0.key.string.hasPrefix(directory + "/") }
        let lists = machine.directories.filter { $0 == directory || $0.hasPrefix(directory + "/") }
        // A file that Ferry could not look at after its move has left the tree as far as it can tell.
        guard !within.keys.contains(where: { machine.hasJustMoved($0.string) }) else { return }
        try disk.makeDirectories(".aside")
        try disk.rename(directory, to: aside, .exclusive)
        let isLink = random.chance(60)
        let delay = random.milliseconds(100...15_000)
        let isKept = isLink && random.chance(70)
        if isLink { try disk.makeLink(directory) } else { try disk.write(directory, []) }
        // A plain file says nothing of where the list is, nor does the absence of a link.
        for (path, bytes) in within {
            words.leaveAttachments(of: bytes)
            guard !isKept else { continue }
            words.delete(bytes)
            words.rename(path.string, to: "")
        }
        if !isKept {
            words.changeDirectories(directory)
            for blocked in blockedLists where blocked.machine === machine {
                if blocked.directory.string.hasPrefix(directory + "/") { remove(blocked) }
            }
        }
        tell(machine, "puts a \(isLink ? "link" : "file") in the place of the list '\(directory)'")
        let blocked = BlockedList(
            machine: machine, directory: try TaskPath(directory), aside: aside,
            blocker: try disk.status(directory).inode, isLink: isLink, isKept: isKept, files: within,
            attachments: Array(attachments.values), lists: lists, powerCuts: machine.powerCuts)
        blockedLists.append(blocked)
        if isLink, !isKept {
            scheduler.after(random.milliseconds(0...15_000)) { [unowned self] in
                machine.byUser { disk in
                    guard let blocker = blocker(of: blocked, disk) else { return }
                    tell(machine, "removes the link in the place of the list '\(blocker)'")
                    try? disk.remove(blocker.string)
                    removedBlockers.insert(aside)
                }
            }
        }
        scheduler.after(delay) { [unowned self] in putBack(blocked) }
    }

    /// Returns where a blocker is now, perhaps after a rename of a directory above.
    private func blocker(of blocked: BlockedList, _ disk: MemoryDisk) -> TaskPath? {
        // The inode of one that was removed may be another file's by now.
        guard !removedBlockers.contains(blocked.aside), (try? disk.status(blocked.aside)) != nil else { return nil }
        return disk.contents().keys.first { path in
            guard let status = try? disk.status(path.string), status.inode == blocked.blocker else { return false }
            return status.kind == (blocked.isLink ? .link : .file) && !path.name.hasSuffix(".md")
        }
    }

    /// Records that users removed a list that is aside.
    func remove(_ blocked: BlockedList) {
        for (path, bytes) in blocked.files {
            words.delete(bytes)
            words.rename(path.string, to: "")
        }
        for list in blocked.lists { words.rename(list, to: "") }
        for bytes in blocked.attachments { words.replace(bytes, with: []) }
    }

    /// Mounts an empty file system over a list for a while.
    func coverList(_ directory: String, _ machine: SimulatedMachine, _ random: inout SeededRandom) throws {
        let within = machine.exactFiles(.taskFile).filter { $0.key.string.hasPrefix(directory + "/") }
        // A file that Ferry could not look at after its move has left the tree as far as it can tell.
        guard !within.keys.contains(where: { machine.hasJustMoved($0.string) }) else { return }
        let inode = try machine.disk.mount(over: directory)
        for bytes in within.values { words.leaveAttachments(of: bytes) }
        tell(machine, "mounts something over the list '\(directory)'")
        coveredLists.append((machine, inode))
        scheduler.after(random.milliseconds(100...20_000)) { [unowned self] in uncover(machine, inode) }
    }

    func uncover(_ machine: SimulatedMachine, _ directory: UInt64) {
        machine.byUser { disk in
            guard disk.unmount(directory), let path = disk.path(of: directory) else { return }
            for (file, bytes) in machine.exactFiles(.taskFile) where file.string.hasPrefix(path + "/") {
                words.place(bytes, at: file.string)
                machine.noteRename(file.string)
            }
            tell(machine, "unmounts what is mounted over the list '\(path)'")
        }
    }

    /// Puts all lists back that are still aside, or aside again after a power cut.
    func putBlockedListsBack() {
        for covered in coveredLists { uncover(covered.machine, covered.directory) }
        // Outer lists first: the place of another one may be in them.
        for _ in blockedLists {
            for blocked in blockedLists { putBack(blocked) }
        }
    }

    /// Puts a list back, unless its machine has no directory at present, or the place is itself in a
    /// list that is aside.
    private func putBack(_ blocked: BlockedList) {
        let (machine, old, aside) = (blocked.machine, blocked.directory, blocked.aside)
        machine.byUser { disk in
            guard (try? disk.status(aside)) != nil else { return }
            let blocker = blocker(of: blocked, disk)
            let directory = blocker ?? old
            guard !directory.string.hasPrefix(".aside/") else { return }
            do throws(SystemError) {
                _ = try disk.status(directory.string)
            } catch {
                guard error.code == .notFound else { return }
            }
            if blocker != nil { try? disk.remove(directory.string) }
            try? disk.setMode(aside, 0o755)
            // The place may be taken by a list of that name, or the power cut brought it back.
            guard (try? disk.rename(aside, to: directory.string, .exclusive)) != nil else {
                try? disk.removeTree(aside)
                remove(blocked)
                words.changeDirectories(directory.string)
                return
            }
            if machine.powerCuts != blocked.powerCuts { words.changeDirectories(directory.string) }
            let others = machines.filter { $0 !== machine }.flatMap(\.files.values)
            let there = others.reduce(into: Set<String>()) { $0.formUnion(Words.found(in: $1, "b")) }
            for (path, bytes) in blocked.files {
                let path = path.moved(from: old, to: directory).string
                words.place(bytes, at: path)
                machine.noteRename(path)
                if !blocked.isKept, !there.isDisjoint(with: Words.found(in: bytes, "b")) { words.copy(bytes) }
            }
            tell(machine, "puts the list '\(directory)' back")
        }
    }
}
