import DocumentModel
import Reconciliation
import TaskModel

/// A server and a few machines, whose users and networks do what a seed says.
///
/// A machine can be cut off between any two operations, and hears of documents one by one and late.
package struct ModelWorld {
    /// The kind of trouble of a world, besides what happens in all of them.
    package enum Trouble: CaseIterable, Sendable {
        case none
        /// A second user is invited to lists of the first.
        case sharing
        /// Many files are created, removed, or put back to earlier versions at once.
        case masses
        /// The tasks directory is unmounted at times.
        case unmounts
        /// Directories cannot be read at times.
        case unreadableDirectories
        /// The server refuses some values.
        case refusals
    }

    package let trouble: Trouble
    private var server = ModelServer(RemoteTree())
    private var replicas: [ModelReplica]
    private var generator: SeededGenerator
    private var number = 100
    /// The values that users saved, and have not replaced or removed knowingly.
    private var saved = Set<String>()
    /// The number of plans that were made.
    package private(set) var plans = 0
    /// The steps so far, for the report of a failure.
    package private(set) var log: [String] = []
    /// The laws that a plan broke on the way.
    private var broken: [String] = []
    /// The contents that files had before they were saved last.
    private var former: [NodeID: Contents] = [:]

    private init(seed: UInt64) {
        generator = SeededGenerator(seed: seed)
        replicas = Array(repeating: ModelReplica(Trees()), count: 2 + generator.below(2))
        trouble = generator.chance(40) ? .none : generator.pick(Trouble.allCases)
        server.refusesPriorities = trouble == .refusals
        if trouble == .sharing { replicas[1].user = 1 }
    }

    /// Plays a world of some steps, lets it come to rest, and returns the laws that are broken.
    package static func play(seed: UInt64, steps: Int, plans: inout Int) -> [String] {
        var world = ModelWorld(seed: seed)
        for _ in 0..<steps { world.step() }
        for index in world.replicas.indices {
            world.replicas[index].setAway(false)
            world.replicas[index].permit()
        }
        var isAtRest = world.settle()
        if world.trouble == .refusals {
            world.broken += world.withheldTooMuch()
            world.mendRefused()
            isAtRest = world.settle() && isAtRest
        }
        plans += world.plans
        let broken =
            world.broken + (isAtRest ? [] : ["the machines do not come to rest"]) + world.unequal() + world.lost()
        return broken.isEmpty ? [] : broken + world.log
    }

    // MARK: Steps

    private mutating func step() {
        let index = generator.below(replicas.count)
        if trouble != .none, generator.chance(12) { return makeTrouble(on: index) }
        switch generator.below(100) {
        case 0..<50: if replicas[index].isMounted { act(on: index) }
        case 50..<65: replicas[index].listen(server)
        case 65..<75:
            if let id = server.documents.keys.sorted().randomElement(using: &generator) {
                replicas[index].listen(server, to: id)
            }
        case 75..<88: turn(index)
        default: turn(index, limit: generator.below(4))
        }
    }

    private mutating func turn(_ index: Int, limit: Int = .max) {
        let plan = Planner.plan(replicas[index].trees, replicas[index].conditions)
        plans += 1
        check(plan, on: index)
        if !plan.operations.isEmpty {
            log.append("\(index) performs \(plan.operations.prefix(limit).map { "\($0.node): \($0.action)" })")
        }
        _ = replicas[index].perform(plan.operations, on: &server, limit: limit)
    }

    /// Nothing is done while the directory is away, or to files and documents of which nothing is known.
    private mutating func check(_ plan: Plan, on index: Int) {
        if !replicas[index].isMounted, !plan.operations.isEmpty {
            broken.append("\(index) acts while its directory is away: \(plan.operations)")
        }
        for operation in plan.operations {
            if case .unreachable = replicas[index].trees.local[operation.node] {
                broken.append("\(index) acts on a file that it cannot read: \(operation)")
            }
        }
    }

    /// Lets every machine hear everything and do what it plans, until none plans anything.
    private mutating func settle() -> Bool {
        for _ in 0..<20 {
            var isAtRest = true
            for index in replicas.indices {
                replicas[index].listen(server)
                decide(on: index)
                let plan = Planner.plan(replicas[index].trees, replicas[index].conditions)
                plans += 1
                if plan.operations.isEmpty { continue }
                isAtRest = false
                log.append("\(index) settles \(plan.operations.map { "\($0.node): \($0.action)" })")
                _ = replicas[index].perform(plan.operations, on: &server)
            }
            if isAtRest { return true }
        }
        return false
    }

    // MARK: Trouble

    private mutating func makeTrouble(on index: Int) {
        switch trouble {
        case .none: break
        case .sharing: share()
        case .masses:
            guard generator.chance(60) else { return decide(on: index) }
            changeMany(on: index)
        case .unmounts:
            let isAway = replicas[index].isMounted
            log.append("the directory of \(index) is \(isAway ? "unmounted" : "mounted")")
            replicas[index].setAway(isAway)
        case .unreadableDirectories:
            replicas[index].permit()
            let lists = replicas[index].trees.local.ids.filter { $0.kind == .list }.sorted()
            guard generator.chance(70), let list = lists.randomElement(using: &generator) else { return }
            log.append("\(index) can no longer read \(list)")
            replicas[index].forbid(list)
        case .refusals: act(on: index)
        }
    }

    private mutating func share() {
        let lists = server.documents.keys.filter { $0.kind == .list && server.isOwner(0, of: $0) }.sorted()
        guard let list = lists.randomElement(using: &generator) else { return }
        let access = generator.pick([Access.member, .member, .member, .readOnly, .invited])
        log.append("\(list) is shared: \(access)")
        server.share(list, with: 1, access)
    }

    private mutating func changeMany(on index: Int) {
        let tasks = replicas[index].trees.local.ids.filter { $0.kind == .task }.sorted()
        switch generator.below(3) {
        case 0:
            for number in 0..<14 {
                let location = Location(nil, FileName("Many \(number).md"))
                guard replicas[index].isVacant(location) else { continue }
                save(.task(TaskID("T\(fresh())")), location, SampleContents(fresh()).contents(of: .task), on: index)
            }
        case 1: for id in tasks { remove(id, on: index) }
        default:
            for id in tasks {
                guard let contents = former[id], var file = replicas[index].trees.local[id].file,
                    file.contents != contents
                else { continue }
                save(id, file.location, contents, on: index)
                file = replicas[index].trees.local[id].file ?? file
                file.isFormerVersion = true
                replicas[index].trees.local[id] = .present(file)
            }
        }
    }

    /// Decides about the changes that a machine holds for review.
    private mutating func decide(on index: Int) {
        for (id, change) in replicas[index].conditions.held.sorted(by: { $0.key < $1.key })
        where replicas[index].conditions.decisions[id] == nil {
            let decision = generator.pick([Decision.approve, .restore])
            log.append("\(index): \(decision) the \(change) of \(id)")
            if decision == .restore, let file = replicas[index].trees.local[id].file {
                saved.subtract(file.contents.savedValues)
            }
            replicas[index].conditions.decisions[id] = decision
        }
    }

    /// Only refused values may be kept from a document.
    private func withheldTooMuch() -> [String] {
        replicas.flatMap { replica in
            replica.conditions.rejections.keys.sorted().compactMap { id -> String? in
                guard var mine = replica.trees.local[id].file?.contents.fields,
                    var theirs = server[id].node?.state.contents.fields
                else { return nil }
                (mine["priority"], theirs["priority"]) = (nil, nil)
                return mine == theirs ? nil : "more than a refused value stays away from the document of \(id)"
            }
        }
    }

    /// The users replace the values that the server refused.
    private mutating func mendRefused() {
        for index in replicas.indices {
            for id in replicas[index].trees.local.ids.sorted() where id.kind == .task {
                guard let file = replicas[index].trees.local[id].file,
                    var fields = Optional(file.contents.fields), let priority = fields["priority"]?.integerValue,
                    priority % 5 == 0
                else { continue }
                var number = fresh()
                while number % 5 == 0 { number = fresh() }
                fields["priority"] = .integer(Int64(number))
                save(id, file.location, SampleContents.contents(with: fields), on: index)
            }
        }
    }

    // MARK: Users

    private mutating func act(on index: Int) {
        let files = replicas[index].trees.local.ids.sorted()
        let tasks = files.filter { $0.kind == .task }
        let lists = files.filter { $0.kind == .list }
        let attachments = files.filter { $0.kind == .attachment }
        switch generator.below(100) {
        case 0..<22:
            let directory = lists.randomElement(using: &generator).flatMap { generator.chance(60) ? $0 : nil }
            create(.task(TaskID("T\(fresh())")), in: directory, on: index)
        case 22..<30: create(.list(ListID("L\(fresh())")), in: nil, on: index)
        case 30..<38:
            guard case .task(let task)? = tasks.randomElement(using: &generator) else { return }
            create(.attachment(AttachmentID("F\(fresh())"), of: task), in: .task(task), on: index)
        case 38..<62:
            guard let id = (tasks + attachments).randomElement(using: &generator) else { return }
            edit(id, on: index)
        case 62..<80:
            guard let id = files.randomElement(using: &generator) else { return }
            move(id, lists, on: index)
        case 80..<95:
            guard let id = (tasks + attachments).randomElement(using: &generator) else { return }
            remove(id, on: index)
        default:
            guard let id = lists.randomElement(using: &generator) else { return }
            remove(id, on: index)
        }
    }

    private mutating func fresh() -> Int {
        number += 1
        return number
    }

    private mutating func freeLocation(_ kind: NodeKind, _ directory: NodeID?, on index: Int) -> Location? {
        let name = generator.pick(["A", "B", "C", "A (2)", "a", "e\u{301}", "\u{E9}"])
        let location = Location(directory, FileName(name + (kind == .task ? ".md" : "")))
        let trees = replicas[index].trees
        return trees.local.ids.contains { trees.local[$0].file?.location == location } ? nil : location
    }

    private mutating func create(_ id: NodeID, in directory: NodeID?, on index: Int) {
        guard let location = freeLocation(id.kind, directory, on: index) else { return }
        let contents = SampleContents(id.kind == .list ? 0 : fresh()).contents(of: id.kind)
        save(id, location, contents, on: index)
    }

    private mutating func save(_ id: NodeID, _ location: Location, _ contents: Contents, on index: Int) {
        log.append("\(index) saves \(id) as \(location) with \(contents.savedValues.sorted())")
        let (old, new) = (replicas[index].trees.local[id].file?.contents.savedValues ?? [], contents.savedValues)
        if let contents = replicas[index].trees.local[id].file?.contents { former[id] = contents }
        saved.subtract(old.subtracting(new))
        if id.kind != .list { saved.formUnion(new.subtracting(old)) }
        let stamp = replicas[index].newStamp()
        replicas[index].trees.local[id] = .present(LocalFile(location: location, stamp: stamp, contents: contents))
    }

    private mutating func edit(_ id: NodeID, on index: Int) {
        guard let file = replicas[index].trees.local[id].file else { return }
        guard id.kind == .task else {
            return save(id, file.location, SampleContents(fresh()).contents(of: id.kind), on: index)
        }
        var fields = file.contents.fields
        switch generator.below(3) {
        case 0: fields["priority"] = .integer(Int64(fresh()))
        case 1: fields["notes"] = .string((fields["notes"]?.stringValue ?? "") + "n\(fresh())\n")
        default: fields["tags"] = .array((fields["tags"]?.arrayValue ?? []) + [.string("t\(fresh())")])
        }
        save(id, file.location, SampleContents.contents(with: fields), on: index)
    }

    private mutating func move(_ id: NodeID, _ lists: [NodeID], on index: Int) {
        guard var file = replicas[index].trees.local[id].file else { return }
        var directory = file.location.directory
        if id.kind == .task, generator.chance(50) { directory = lists.randomElement(using: &generator) }
        guard let location = freeLocation(id.kind, directory, on: index) else { return }
        log.append("\(index) moves \(id) to \(location)")
        file.location = location
        replicas[index].trees.local[id] = .present(file)
    }

    /// Removes a file or a directory with all that is in it.
    private mutating func remove(_ id: NodeID, on index: Int) {
        guard let file = replicas[index].trees.local[id].file else { return }
        log.append("\(index) removes \(id)")
        // A value that is in no document yet is gone with its file, as its user wants.
        let known = replicas[index].trees.synced[id]?.state.contents.savedValues ?? []
        saved.subtract(file.contents.savedValues.subtracting(known))
        replicas[index].trees.local[id] = .absent
        let beneath = replicas[index].trees.local.ids.filter {
            replicas[index].trees.local[$0].file?.location.directory == id
        }
        for child in beneath.sorted() { remove(child, on: index) }
    }

    // MARK: Laws

    /// The nodes whose changes a user has no right to send. They stay on the machine of that user.
    private var unpermitted: Set<NodeID> {
        guard trouble == .sharing else { return [] }
        return replicas.reduce(into: []) { found, replica in
            for (id, reason) in Planner.plan(replica.trees, replica.conditions).reasons {
                switch reason {
                case .notPermitted, .rejected, .invited: found.insert(id)
                default: break
                }
            }
        }
    }

    /// Whether every machine has the files that the documents describe, under the same names.
    private func unequal() -> [String] {
        let exempt = unpermitted
        func files(_ replica: ModelReplica) -> [String] {
            replica.trees.local.ids.sorted().compactMap { id in
                if exempt.contains(id) { return nil }
                return replica.trees.local[id].file.map {
                    "\(id) \($0.location) \(id.kind == .list ? [] : $0.contents.savedValues.sorted())"
                }
            }
        }
        let all = replicas.map(files)
        var broken: [String] = []
        // Users who do not see the same documents have other names for some.
        for (index, other) in all.enumerated() where replicas[index].user == replicas[0].user && other != all[0] {
            broken.append("machines 0 and \(index) differ: \(Set(all[0]).symmetricDifference(other).sorted())")
        }
        for (id, document) in server.documents.sorted(by: { $0.key < $1.key }) {
            guard let state = document.node?.state, !exempt.contains(id) else { continue }
            guard server.document(id, for: 0).node != nil else { continue }
            if case .attachment(_, let task) = id, server[.task(task)].node == nil { continue }
            let file = replicas[0].trees.local[id].file
            if file == nil || id.kind != .list && file?.contents != state.contents {
                broken.append("the file of \(id) is not what its document says")
            }
        }
        return broken
    }

    private func lost() -> [String] {
        saved.filter { value in
            !server.holds(value)
                && !replicas.contains { replica in
                    replica.trash.contains(value)
                        || unpermitted.contains {
                            replica.trees.local[$0].file?.contents.savedValues.contains(value) == true
                        }
                }
        }.sorted().map { "'\($0)' is lost" }
    }
}
