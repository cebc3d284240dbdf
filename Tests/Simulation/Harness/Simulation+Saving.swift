import SystemIO
import TaskFolder

/// The ways in which editors save.
extension Simulation {
    /// Saves like one of the editors, at once or in steps between which other actions may occur.
    func save(
        _ path: String, _ old: [UInt8], _ new: [UInt8], _ machine: SimulatedMachine, _ random: inout SeededRandom
    ) throws {
        let disk = machine.disk
        // If both the name and the inode of a file have changed since Ferry saw it, its task cannot
        // be determined.
        let habits = MemoryDisk.SaveHabit.allCases
        let habit = machine.hasSeen(path) ? habits[random.below(habits.count)] : .inPlace
        if habit != .inPlace, habit != .truncatingFirst { machine.noteRename(path) }
        if habit == .backupDance || habit == .deleteAndCreate { machine.remade.insert(path) }
        if random.chance(50) {
            try disk.save(path, new, habit: habit)
            edited(path, old, new, machine)
            return
        }
        var steps: [(MemoryDisk) throws -> Void]
        let content = { (disk: MemoryDisk, path: String) in (try? disk.read(path, limit: .max).bytes) ?? [] }
        // Editors check whether the file is still the one that they read, and do not save
        // otherwise.
        let check = { (disk: MemoryDisk, expected: [UInt8]) in
            guard content(disk, path) == expected else { throw SystemError(.busy, operation: "save", path: path) }
        }
        let write = { [unowned self] (disk: MemoryDisk) in
            try disk.write(path, new)
            edited(path, old, new, machine)
        }
        // If the name was taken meanwhile, the user chooses another one.
        let writeNew = { [unowned self] (disk: MemoryDisk) in
            // Ferry may have read the previous version since this started.
            machine.remade.insert(path)
            if (try? disk.status(path)) == nil { return try write(disk) }
            let other = path.dropLast(3) + " mine.md"
            try disk.write(String(other), new)
            words.copy(new)
            words.place(new, at: path)
            words.replace(old, with: new)
            completions.edit(old, to: new, at: path)
            words.rename("", to: String(other))
        }
        switch habit {
        case .inPlace:
            steps = [
                { try check($0, old) },
                { disk in
                    try check(disk, old); try write(disk)
                },
            ]
        case .renamingOver:
            steps = [
                { try $0.write(path + ".swp", new) },
                { [unowned self] disk in
                    do { try check(disk, old) } catch { return try disk.remove(path + ".swp") }
                    try disk.rename(path + ".swp", to: path, .replacing)
                    edited(path, old, new, machine)
                },
            ]
        case .backupDance:
            steps = [
                { disk in
                    try check(disk, old); try disk.rename(path, to: path + "~", .replacing)
                }, writeNew,
                { try $0.remove(path + "~") },
            ]
        case .deleteAndCreate:
            steps = [
                { disk in
                    try check(disk, old); try disk.remove(path)
                }, writeNew,
            ]
        case .truncatingFirst:
            var file: UInt64?
            steps = [
                { disk in
                    try check(disk, old); try disk.write(path, [])
                    file = try disk.status(path).inode
                },
                { disk in
                    // A file that was renamed meanwhile stays empty.
                    guard try disk.status(path).inode == file else {
                        throw SystemError(.busy, operation: "save", path: path)
                    }
                    try check(disk, []); try write(disk)
                },
            ]
        }
        machine.busy.insert(path)
        go(through: steps[...], of: path, machine, random) { [unowned self] in
            // An editor that saves in this way and cannot continue loses the file.
            guard habit != .inPlace, habit != .renamingOver else { return }
            words.delete(old)
            words.rename(path, to: "")
        }
    }

    func edited(_ path: String, _ old: [UInt8], _ new: [UInt8], _ machine: SimulatedMachine) {
        let gone = words.edit(old, to: new)
        words.place(new, at: path)
        completions.edit(old, to: new, at: path)
        guard !gone.isEmpty else { return }
        machine.noteRemoval(gone.subtracting(machine.notedWords()))
    }

    /// Runs one step after the other, up to the first that fails.
    private func go(
        through steps: ArraySlice<(MemoryDisk) throws -> Void>, of path: String, _ machine: SimulatedMachine,
        _ random: SeededRandom, onFailure: @escaping () -> Void
    ) {
        guard let step = steps.first else {
            machine.busy.remove(path)
            return
        }
        var random = random
        let powerCuts = machine.powerCuts
        scheduler.after(random.milliseconds(0...15)) { [unowned self] in
            // The power cut also ended the editor.
            guard machine.powerCuts == powerCuts else {
                machine.busy.remove(path)
                tell(machine, "has not saved '\(path)' when the power went")
                return onFailure()
            }
            do {
                try machine.byUser { try step($0) }
                go(through: steps.dropFirst(), of: path, machine, random, onFailure: onFailure)
            } catch {
                machine.busy.remove(path)
                leavesEmptyFiles = true
                tell(machine, "cannot save '\(path)': \(error)")
                onFailure()
            }
        }
    }
}
