import DocumentModel
import FerryKitTestSupport
import Foundation
import Testing

@testable import DocumentClient

/// Several replicas and a remote, with all kinds of failures between them, generated from a seed.
final class Simulation {
    var random: SeededRandom
    let remote = MemoryRemote()
    let replicas: [SimulatedReplica]
    /// The values that a user wrote, and those that a user replaced or deleted while they were
    /// visible.
    var written: Set<String> = []
    var replaced: Set<String> = []
    var incremented: Int64 = 0
    var story: [String] = []
    private var valueCount = 0
    private let signs: Bool
    private let ids = ["a", "b", "c", "d"]

    init(seed: UInt64, replicas count: Int, signs: Bool) throws {
        random = SeededRandom(seed)
        self.signs = signs
        replicas = try (0..<count).map { try SimulatedReplica(id: "r\($0)", signs: signs) }
        if signs { _ = try remote.commit([Write(.update(try name("tasks/counter"), fields: ["n": .integer(0)]))]) }
    }

    func run(steps: Int) throws {
        for _ in 0..<steps {
            guard let actor = replicas.randomElement(using: &random) else { return }
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<25: try edit(actor)
            case 25..<60: try actor.stepSending(remote, &random, faults: true)
            case 60..<93: try actor.stepListening(remote, &random, faults: true)
            case 93..<95:
                story.append("\(actor.id) crashes")
                try actor.crash()
            case 95..<98: actor.deliverLate(remote, &random)
            case 98: remote.forgetHistory()
            default:
                let task = try name("tasks/\(ids[0])")
                let poisoned = random.chance(50)
                remote.refuses = { poisoned && $0.name == task ? .permission : nil }
            }
        }
        remote.refuses = { _ in nil }
        for _ in 0..<3 {
            for replica in replicas {
                try replica.settle(remote)
                for parked in try replica.replica.reader.pending(parkedOnly: true) {
                    try replica.replica.file.unpark(parked.id)
                }
                try replica.settle(remote)
            }
        }
    }

    private func newValue(_ actor: SimulatedReplica) -> Value {
        valueCount += 1
        let value = "\(actor.id)-\(valueCount)"
        written.insert(value)
        return .string(value)
    }

    private func edit(_ actor: SimulatedReplica) throws {
        let replica = actor.replica
        if signs, random.chance(20) {
            let counter = try name("tasks/counter")
            guard try replica.snapshot(counter).exists else { return }
            incremented += 1
            story.append("\(actor.id) counts")
            try replica.append([
                .update(counter, [:], transforms: [FieldTransform(try path("n"), .increment(.integer(1)))])
            ])
            return
        }
        let task = try name("tasks/\(ids[Int.random(in: 0..<ids.count, using: &random)])")
        let seen = try replica.snapshot(task)
        let field = ["x", "y", "m.p", "m.q"][Int.random(in: 0..<4, using: &random)]
        switch Int.random(in: 0..<10, using: &random) {
        case 0 where seen.exists:
            story.append("\(actor.id) deletes \(task.id)")
            for value in strings(.map(seen.fields)) { replaced.insert(value) }
            try replica.append([.delete(task)])
        case 1 where seen.exists:
            for value in strings(.map(seen.fields)) { replaced.insert(value) }
            let value = newValue(actor)
            story.append("\(actor.id) sets \(task.id) to x=\(value)")
            try replica.append([.set(task, ["x": value])])
        case 2:
            let other = try name("tasks/\(ids[Int.random(in: 0..<ids.count, using: &random)])")
            guard other != task, try replica.snapshot(other).exists, seen.exists else { return }
            story.append("\(actor.id) changes \(task.id) and \(other.id) as one")
            try replica.append(
                [
                    try change(task, field, seen, actor), try change(other, "y", replica.snapshot(other), actor),
                ], asOne: true)
        default:
            let mutation = try change(task, field, seen, actor)
            story.append("\(actor.id) \(seen.exists ? "updates" : "creates") \(task.id) \(field)")
            try replica.append([mutation])
        }
    }

    private func change(
        _ task: DocumentName, _ field: String, _ seen: DocumentSnapshot, _ actor: SimulatedReplica
    ) throws -> Mutation {
        let value = newValue(actor)
        let time = FieldTransform(try path("updated"), .serverTimestamp)
        guard seen.exists else {
            var fields: [String: Value] = [:]
            fields.setValue(value, at: try path(field).segments[...])
            return .create(task, fields, transforms: [time])
        }
        if let old = seen[try path(field)] { for value in strings(old) { replaced.insert(value) } }
        // A path below a field that is not a map replaces the field.
        if field.hasPrefix("m."), let whole = seen["m"], whole.mapValue == nil {
            for value in strings(whole) { replaced.insert(value) }
        }
        return .update(task, [try path(field): value], transforms: [time])
    }

    func strings(_ value: Value) -> [String] {
        switch value {
        case .string(let text): [text]
        case .map(let map): map.values.flatMap(strings)
        case .array(let array): array.flatMap(strings)
        default: []
        }
    }

    /// Returns a description of each violated law.
    func violations() throws -> [String] {
        var violations: [String] = []
        for replica in replicas {
            if replica.replica.journal.count > 0 { violations.append("\(replica.id) keeps mutations") }
            let results = try replica.replica.reader.results(of: QueryPlan(tasksQuery))
            let wanted = remote.matching(RemoteTarget(id: 1, query: tasksQuery))
            for (name, fields) in Dictionary(uniqueKeysWithValues: wanted.map { ($0.name, $0.fields) }) {
                let found = try replica.replica.snapshot(name)
                if found.fields != fields || !found.exists {
                    violations.append("\(replica.id) has \(name.id) as \(found.fields), the remote as \(fields)")
                }
            }
            if results.count != wanted.count {
                violations.append("\(replica.id) has \(results.map(\.name.id)), the remote \(wanted.map(\.name.id))")
            }
        }
        var kept = replaced
        for document in remote.documents.values { kept.formUnion(strings(.map(document.fields))) }
        for lost in written.subtracting(kept).sorted() { violations.append("\(lost) is lost") }
        if signs {
            let counter = remote.documents[try name("tasks/counter")]?.fields["n"]
            if counter != .integer(incremented) {
                violations.append(
                    "counted \(incremented) times, but the counter is \(counter.map { "\($0)" } ?? "gone")")
            }
        }
        return violations
    }
}

@Suite struct SimulationTests {
    /// The seeds; `FERRY_SEEDS=from-to` overrides them.
    static let seeds: ClosedRange<UInt64> = {
        let bounds = (ProcessInfo.processInfo.environment["FERRY_SEEDS"] ?? "").split(separator: "-").compactMap {
            UInt64($0)
        }
        return bounds.count == 2 && bounds[0] <= bounds[1] ? bounds[0]...bounds[1] : 1...25
    }()

    @Test(arguments: [false, true]) func `replicas agree and lose nothing with random faults`(signs: Bool) throws {
        for seed in Self.seeds {
            let simulation = try Simulation(seed: seed, replicas: 2 + Int(seed % 2), signs: signs)
            do {
                try simulation.run(steps: 300)
            } catch {
                Issue.record("seed \(seed): \(error)\n\(simulation.story.joined(separator: "\n"))")
                return
            }
            let violations = try simulation.violations()
            if !violations.isEmpty {
                let story = simulation.story.joined(separator: "\n")
                Issue.record("seed \(seed): \(violations.joined(separator: "; "))\n\(story)")
                return
            }
        }
    }
}
