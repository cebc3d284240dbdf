import SystemIO
import TaskFolder

/// The actions of users in the directories of attachments.
extension Simulation {
    func touchAttachments(
        _ kind: Action.Kind, _ machine: SimulatedMachine, _ tasks: [String], _ random: inout SeededRandom
    ) throws {
        let disk = machine.disk
        let files = machine.files(.attachment)
        let paths = files.keys.filter { !machine.busy.contains($0) }.sorted()
        switch kind {
        case .attach:
            guard let task = random.pick(tasks) else { return }
            try attach(to: task, machine, &random)
        case .replaceAttachment:
            guard let path = random.pick(paths) else { return }
            noteDetached(path, machine)
            try write(content(&random), to: path, in: machine, &random)
            tell(machine, "replaces the attachment '\(path)'")
        case .renameAttachment:
            guard let path = random.pick(paths), let end = path.lastIndex(of: "/") else { return }
            let new = path[..<end] + "/other \(random.below(100)).txt"
            guard files[String(new)] == nil else { return }
            noteDetached(path, machine)
            noteDetached(String(new), machine)
            try disk.rename(path, to: String(new), .exclusive)
            tell(machine, "renames the attachment '\(path)' to '\(new)'")
        case .detach:
            guard let path = random.pick(paths), let bytes = files[path] else { return }
            noteDetached(path, machine)
            try disk.remove(path)
            words.replace(bytes, with: [])
            tell(machine, "removes the attachment '\(path)'")
        default: break
        }
    }

    func attach(to task: String, _ machine: SimulatedMachine, _ random: inout SeededRandom) throws {
        let directory = task.dropLast(3) + ".files"
        let name = random.pick(["note.txt", "photo.jpg", "data", "file \(random.below(100)).txt"]) ?? "data"
        let path = "\(directory)/\(name)"
        guard machine.files(.attachment)[path] == nil, !machine.busy.contains(path) else { return }
        try machine.disk.makeDirectories(String(directory))
        let content = content(&random)
        try write(content, to: path, in: machine, &random)
        words.attach(content, to: machine.files[task] ?? [], named: name)
        tell(machine, "attaches '\(path)'")
    }

    private func noteDetached(_ path: String, _ machine: SimulatedMachine) {
        guard let path = try? TaskPath(path) else { return }
        words.detach(from: machine.files[path.taskFileOfAttachments.string] ?? [], named: path.name)
    }

    /// Returns random content, usually small, and sometimes of several chunks.
    private func content(_ random: inout SeededRandom) -> [UInt8] {
        let word = Array("\(words.make())\n".utf8)
        let count = random.chance(3) ? 600_000 + random.below(400_000) : random.below(3000)
        return word + (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next() >> 3) | 0x80 }
    }

    /// Writes a file at once, or in two parts with a pause in between.
    private func write(
        _ bytes: [UInt8], to path: String, in machine: SimulatedMachine, _ random: inout SeededRandom
    ) throws {
        let old = machine.files(.attachment)[path] ?? []
        words.attach(bytes)
        if random.chance(70) {
            try machine.disk.write(path, bytes)
            return words.replace(old, with: bytes)
        }
        try machine.disk.write(path, Array(bytes.prefix(bytes.count / 2)), closing: false)
        words.replace(old, with: [])
        machine.busy.insert(path)
        scheduler.after(random.milliseconds(1...900)) { [unowned self] in
            machine.busy.remove(path)
            // A machine that is never heard of again has only the first part.
            guard present.contains(where: { $0 === machine }) else { return }
            do {
                try machine.byUser { disk in
                    // The program keeps the file open even if its name changes; in this simulation
                    // it then gives up.
                    guard try disk.read(path, limit: .max).bytes == Array(bytes.prefix(bytes.count / 2)) else { return }
                    try disk.write(path, bytes)
                    words.replace([], with: bytes)
                }
            } catch {
                tell(machine, "cannot write '\(path)': \(error)")
            }
        }
    }
}
