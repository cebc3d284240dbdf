import SystemIO
import TaskFolder

/// Actions that need several steps or several users. They are rare unless requested.
extension Simulation {
    func encounter(
        _ kind: Action.Kind, _ machine: SimulatedMachine, _ paths: [String], _ random: inout SeededRandom
    ) throws {
        let files = machine.files
        let known = paths.filter { machine.hasSeen($0) && !machine.isNew($0) }
        switch kind {
        case .passName:
            // Another task gets the name at once, and a user of another machine removes that task
            // as soon as it appears there.
            guard let path = random.pick(paths.filter(machine.hasSeen)), try rename(path, machine, &random) else {
                return
            }
            try create(path, machine, &random)
            let others = machines.filter { $0 !== machine }
            guard let other = random.pick(others), let mark = Words.found(in: machine.files[path] ?? [], "b").first
            else {
                return
            }
            meet(mark, at: path, other, until: scheduler.now + .seconds(5), random)
        case .passNamesUnseen:
            // While no process runs, a file takes the name of another file, which gets a new one.
            guard let path = random.pick(known), let other = random.pick(known), other != path else { return }
            if machine.isRunning {
                tell(machine, "is off for a while")
                machine.kill()
                scheduler.after(random.milliseconds(100...5000)) { machine.start() }
            }
            guard try rename(path, machine, &random) else { return }
            try machine.disk.rename(other, to: path, .exclusive)
            words.place(files[other] ?? [], at: path)
            words.leaveAttachments(of: files[other] ?? [])
            words.rename(other, to: path)
            machine.noteRename(path)
            tell(machine, "puts '\(other)' where that was")
        case .putBack:
            guard machine.isRunning, machine.onCheckingRoot == nil, let path = random.pick(known) else { return }
            try putBack(path, machine)
        case .bringBack:
            try bringBack(known, machine, &random)
        case .bringOld:
            try bringOld(known, machine, &random)
        case .leave:
            try leave(machine, &random)
        case .saveUnseen:
            guard let path = random.pick(known), let old = files[path] else { return }
            saveUnseen(path, old, machine, &random)
        case .makeTwin:
            try makeTwin(machine, &random)
        case .copyAway:
            guard let path = random.pick(known) else { return }
            try copyAway(path, machine, &random)
        case .exchange:
            guard let path = random.pick(known), let other = random.pick(known), other != path else { return }
            try machine.disk.rename(path, to: other, .exchanging)
            for (from, to) in [(path, other), (other, path)] {
                words.place(files[from] ?? [], at: to)
                words.leaveAttachments(of: files[from] ?? [])
                words.rename(from, to: to)
                machine.noteRename(to)
            }
            tell(machine, "exchanges '\(path)' and '\(other)'")
        case .cycle:
            guard let path = random.pick(known), let other = random.pick(known), other != path,
                machine.directories.isEmpty || Words.directory(of: path) == Words.directory(of: other)
            else { return }
            cycle(path, other, machine, &random)
        default: break
        }
    }

    /// Exchanges the names of two files again and again, by way of a third name, while a user of
    /// another machine edits one of them.
    private func cycle(_ path: String, _ other: String, _ machine: SimulatedMachine, _ random: inout SeededRandom) {
        let aside = "\(path.dropLast(3)) aside.md"
        let steps = [(path, aside), (other, path), (aside, other)]
        for task in [path, other] where random.chance(70) { try? attach(to: task, machine, &random) }
        let rounds = random.below(40) + 2
        machine.busy.formUnion([path, other, aside])
        let reader = random.pick(machines.filter { $0 !== machine })
        scheduler.after(random.milliseconds(0...5000)) { [unowned self, random] in
            tell(machine, "exchanges '\(path)' and '\(other)' \(rounds) times")
            let end = scheduler.now + .milliseconds(rounds * 40)
            step(steps[...], of: steps, rounds, machine, until: scheduler.now + .seconds(60))
            if let reader { editAgain(path, reader, until: end, random) }
        }
    }

    private func step(
        _ left: ArraySlice<(String, String)>, of steps: [(String, String)], _ rounds: Int,
        _ machine: SimulatedMachine, until end: Duration
    ) {
        guard let (from, to) = left.first else {
            if rounds > 1 { return step(steps[...], of: steps, rounds - 1, machine, until: end) }
            return machine.busy.subtract(steps.map(\.0))
        }
        let (powerCuts, time) = (machine.powerCuts, scheduler.now)
        machine.setNextStep { [unowned self] in
            let bytes = machine.files[from]
            let isDone = machine.byUser { (try? $0.rename(from, to: to, .exclusive)) != nil }
            guard isDone else {
                // Ferry may be about to rename one of the files. A careful user waits.
                guard bytes != nil, scheduler.now < end, machine.powerCuts == powerCuts else {
                    return machine.busy.subtract(steps.map(\.0))
                }
                return step(left, of: steps, rounds, machine, until: min(end, time + .milliseconds(300)))
            }
            words.place(bytes ?? [], at: to)
            words.rename(from, to: to)
            machine.noteRename(to)
            tell(machine, "renames '\(from)' to '\(to)' in a cycle")
            step(left.dropFirst(), of: steps, rounds, machine, until: scheduler.now + .seconds(60))
        }
        scheduler.after(.milliseconds(13)) { [number = machine.nextStep?.number] in
            if machine.nextStep?.number == number { machine.takeNextStep() }
        }
    }

    private func editAgain(_ path: String, _ machine: SimulatedMachine, until end: Duration, _ random: SeededRandom) {
        var random = random
        scheduler.after(random.milliseconds(20...200)) { [unowned self] in
            guard scheduler.now < end else { return }
            if let old = machine.files[path], !machine.busy.contains(path), !old.isEmpty {
                var draft = Draft(old)
                draft.body.insert("line \(words.make())", at: draft.body.count)
                if (try? machine.byUser({ try $0.save(path, draft.bytes, habit: .inPlace) })) != nil {
                    edited(path, old, draft.bytes, machine)
                    tell(machine, "adds a line to '\(path)'")
                }
            }
            editAgain(path, machine, until: end, random)
        }
    }

    /// Keeps a file open in an editor for a while, and then saves it without reading the changes
    /// that have arrived.
    private func saveUnseen(
        _ path: String, _ old: [UInt8], _ machine: SimulatedMachine, _ random: inout SeededRandom
    ) {
        var draft = Draft(old)
        draft.body.insert("line \(words.make())", at: draft.body.count)
        let (new, powerCuts) = (draft.bytes, machine.powerCuts)
        machine.busy.insert(path)
        tell(machine, "opens '\(path)' in an editor that does not look again")
        scheduler.after(random.milliseconds(100...20_000)) { [unowned self] in
            machine.busy.remove(path)
            let there = machine.byUser { try? $0.read(path, limit: .max).bytes } ?? []
            // The path has another task's file by now, or none.
            guard machine.powerCuts == powerCuts, Words.found(in: there, "b") == Words.found(in: old, "b"),
                (try? machine.byUser { try $0.save(path, new, habit: .inPlace) }) != nil
            else { return }
            words.unretire(Words.found(in: new, "q"))
            edited(path, old, new, machine)
            tell(machine, "saves '\(path)' as it was, with a line more")
        }
    }

    /// Creates the same note on two machines at nearly the same time, of which one may have another
    /// line already. A note that was changed before the machines sync is another task, like a copy.
    private func makeTwin(_ machine: SimulatedMachine, _ random: inout SeededRandom) throws {
        guard let other = random.pick(machines.filter { $0 !== machine }) else { return }
        let path = "\(title(&random)).md"
        guard machine.files[path] == nil, !machine.busy.contains(path) else { return }
        try create(path, machine, &random)
        guard let bytes = machine.files[path] else { return }
        let line = random.chance(50) ? Array("more \(words.make())\n".utf8) : []
        scheduler.after(random.milliseconds(0...300)) { [unowned self] in
            try? other.byUser { disk in
                guard (try? disk.status(path)) == nil, bytes.last == UInt8(ascii: "\n") else { return }
                try disk.write(path, bytes + line)
                other.noteNew(path)
                words.copy(bytes)
                words.replace([], with: bytes + line)
                words.place(bytes, at: path)
                words.rename("", to: path)
                tell(other, "makes '\(path)', too")
            }
        }
    }

    /// Moves a file by a copy and a delete.
    private func copyAway(_ path: String, _ machine: SimulatedMachine, _ random: inout SeededRandom) throws {
        guard let bytes = machine.files[path] else { return }
        let new = "\(title(&random)).md"
        guard machine.files[new] == nil, !machine.busy.contains(new) else { return }
        try machine.disk.write(new, bytes)
        machine.noteNew(new)
        words.copy(bytes)
        words.place(bytes, at: new)
        words.rename("", to: new)
        tell(machine, "copies '\(path)' to '\(new)' to remove it")
        scheduler.after(random.milliseconds(0...2000)) { [unowned self] in
            try? machine.byUser { _ in
                guard machine.files[path] == bytes, !machine.busy.contains(path) else { return }
                try delete(path, machine)
            }
        }
    }

    /// Renames or deletes the file of a task as soon as it appears.
    private func meet(
        _ mark: String, at path: String, _ machine: SimulatedMachine, until end: Duration, _ random: SeededRandom
    ) {
        guard scheduler.now < end else { return }
        scheduler.after(.milliseconds(3)) { [unowned self] in
            var random = random
            let bytes = machine.byUser { try? $0.read(path, limit: .max).bytes } ?? []
            guard Words.found(in: bytes, "b").contains(mark), !machine.busy.contains(path) else {
                return meet(mark, at: path, machine, until: end, random)
            }
            scheduler.after(random.milliseconds(0...15)) { [unowned self] in
                try? machine.byUser { _ in
                    guard machine.files[path] == bytes, !machine.busy.contains(path), machine.hasSeen(path) else {
                        return
                    }
                    if random.chance(50) { try delete(path, machine) } else { _ = try rename(path, machine, &random) }
                }
            }
        }
    }

    /// Moves a file to a directory that Ferry ignores, and returns the new path.
    private func takeAside(_ path: String, _ machine: SimulatedMachine) throws -> String {
        let place = ".aside/\(words.make()) \(path.replacing("/", with: " "))"
        try machine.disk.makeDirectories(".aside")
        try machine.disk.rename(path, to: place, .exclusive)
        return place
    }

    /// Moves a file away until it counts as deleted, and back just before Ferry's last check.
    private func putBack(_ path: String, _ machine: SimulatedMachine) throws {
        guard let bytes = machine.files[path] else { return }
        let aside = try takeAside(path, machine)
        machine.busy.insert(path)
        tell(machine, "takes '\(path)' away")
        let (time, powerCuts) = (scheduler.now, machine.powerCuts)
        var isBack = false
        func back(inTime: Bool) {
            guard !isBack else { return }
            isBack = true
            machine.onCheckingRoot = nil
            // If it is moved again at once, it is not there when Ferry checks.
            scheduler.after(.seconds(1)) { machine.busy.remove(path) }
            let wasLost = machine.powerCuts != powerCuts
            // A directory with this name may belong to another list by then.
            let isElsewhere = words.changedDirectories.contains { path.hasPrefix($0 + "/") }
            if wasLost || isElsewhere || !inTime {
                words.delete(bytes)
                words.rename(path, to: "")
            }
            guard machine.byUser({ (try? $0.rename(aside, to: path, .exclusive)) != nil }) else {
                // Its directory was renamed.
                words.delete(bytes)
                return words.rename(path, to: "")
            }
            machine.noteRename(path)
            tell(machine, "puts '\(path)' back\(inTime ? "" : ", late")")
        }
        machine.onCheckingRoot = { [unowned self] in
            if scheduler.now > time + .milliseconds(950) { back(inTime: true) }
        }
        scheduler.after(.seconds(3)) { back(inTime: false) }
    }

    /// Moves away enough files that their deletes are held, and moves them back unchanged. Meanwhile
    /// one of the tasks is renamed on another machine.
    private func bringBack(_ known: [String], _ machine: SimulatedMachine, _ random: inout SeededRandom) throws {
        guard known.count > 11 else {
            for _ in 0..<4 {
                let path = title(&random) + ".md"
                if machine.files[path] == nil, !machine.busy.contains(path) { try create(path, machine, &random) }
            }
            return
        }
        let files = machine.files.filter { known.contains($0.key) }
        var aside: [String: String] = [:]
        for (path, bytes) in files.sorted(by: { $0.key < $1.key }) {
            aside[path] = try takeAside(path, machine)
            machine.busy.insert(path)
            words.delete(bytes)
            words.leaveAttachments(of: bytes)
            words.rename(path, to: "")
        }
        let hidden = aside
        tell(machine, "takes \(files.count) files away")
        let marks = files.values.reduce(into: Set<String>()) { $0.formUnion(Words.found(in: $1, "b")) }
        let others = machines.filter { $0 !== machine }
        if let other = random.pick(others) {
            scheduler.after(random.milliseconds(1500...3000)) { [unowned self, random] in
                var random = random
                let there = other.files.keys.sorted().filter { !other.busy.contains($0) && other.hasSeen($0) }
                guard let path = random.pick(there.filter { !marks.isDisjoint(with: other.marks($0)) }) else { return }
                _ = try? other.byUser { _ in try rename(path, other, &random) }
            }
        }
        scheduler.after(random.milliseconds(3500...9000)) { [unowned self] in
            // A file whose task has a file again is a copy.
            let there = machine.files.values.reduce(into: Set<String>()) { $0.formUnion(Words.found(in: $1, "b")) }
            for (path, bytes) in files.sorted(by: { $0.key < $1.key }) {
                machine.busy.remove(path)
                machine.byUser { disk in
                    let directory = Words.directory(of: path)
                    if !directory.isEmpty { try? disk.makeDirectories(directory) }
                    guard let place = hidden[path], (try? disk.rename(place, to: path, .exclusive)) != nil else {
                        return
                    }
                    machine.noteRename(path)
                    words.place(bytes, at: path)
                    if !there.isDisjoint(with: Words.found(in: bytes, "b")) { words.copy(bytes) }
                }
            }
            tell(machine, "brings them back")
        }
    }

    /// Edits enough files for their reverts to be held, and copies an earlier backup over them.
    private func bringOld(_ known: [String], _ machine: SimulatedMachine, _ random: inout SeededRandom) throws {
        guard known.count > 11 else {
            for _ in 0..<4 {
                let path = title(&random) + ".md"
                if machine.files[path] == nil, !machine.busy.contains(path) { try create(path, machine, &random) }
            }
            return
        }
        let backup = machine.files.filter { known.contains($0.key) }
        var edits: [String: [UInt8]] = [:]
        for (path, old) in backup.sorted(by: { $0.key < $1.key }) {
            var draft = Draft(old)
            draft.body.insert("line \(words.make())", at: draft.body.count)
            try machine.disk.write(path, draft.bytes)
            edited(path, old, draft.bytes, machine)
            edits[path] = draft.bytes
        }
        tell(machine, "makes a backup of \(backup.count) files and edits all of them")
        scheduler.after(random.milliseconds(500...9000)) { [unowned self, edits] in
            machine.byUser { disk in
                for (path, old) in backup.sorted(by: { $0.key < $1.key }) {
                    guard let new = edits[path], machine.files[path] == new, !machine.busy.contains(path),
                        (try? disk.write(path, old)) != nil
                    else { continue }
                    words.replace(new, with: old)
                    words.unretire(Words.found(in: old, "q"))
                }
            }
            tell(machine, "copies the backup over them")
        }
    }

    /// Lets a machine remove a list and leave for good, while another one puts a task into that list.
    private func leave(_ machine: SimulatedMachine, _ random: inout SeededRandom) throws {
        let others = present.filter { $0 !== machine }
        guard let other = random.pick(others), let directory = random.pick(machine.directories),
            isIdle(directory, machine)
        else { return }
        try removeList(directory, machine)
        scheduler.after(random.milliseconds(900...1200)) { [unowned self, random] in
            var random = random
            let path = "\(directory)/\(title(&random)).md"
            try? other.byUser { disk in
                guard (try? disk.status(path)) == nil else { return }
                try disk.makeDirectories(directory)
                try create(path, other, &random)
            }
        }
        scheduler.after(random.milliseconds(1000...1500)) { [unowned self] in
            guard present.count > 1 else { return }
            tell(machine, "is never heard of again")
            // Its unsent changes stay on the machine, and tasks that it removed without sending
            // that stay here.
            words.unite()
            for bytes in machine.byUser({ $0.contents() }).values { words.leaveBehind(bytes ?? []) }
            machine.leave()
        }
    }
}
