import DocumentClient
import DocumentModel
import FirestoreProtocol
import SQLite
import SystemIO

/// A program that uses the library, on one of the machines and with its fate. It counts, adds to a
/// set and removes from it.
///
/// Its documents have no signatures like those of the bridge, so the origin of a change is
/// determined by its receipt or, in a document that no other machine writes, by its effect.
///
/// `@unchecked Sendable`: the scheduler runs one job at a time.
final class SimulatedProgram: @unchecked Sendable {
    static let query = Query(parent: ParentName(Simulation.database), collectionID: "counters")

    let document: DocumentName
    private let path: String
    /// A connection that keeps the in-memory state file while no process has it open.
    private let file: SQLiteDatabase
    private let receipt: CommitReceipt?
    private var running: (client: DocumentDatabase, remote: SimulatedRemote)?
    /// The number of requested counts, and of those that were confirmed as saved.
    private(set) var (wanted, counted) = (0, 0)
    /// The elements that were confirmed as added, those confirmed as removed again, and those whose
    /// removal was requested, even if the process died first.
    private(set) var (added, taken, wantedGone) = (Set<String>(), Set<String>(), Set<String>())

    /// Creates a program.
    ///
    /// - Parameter hasReceipt: Whether it shares its document with the programs of other machines.
    init(on machine: String, statePath: String, hasReceipt: Bool) throws {
        path = "\(statePath)-program"
        var configuration = SQLiteConfiguration()
        configuration.fileSystem = "memdb"
        file = try SQLiteDatabase(path: path, configuration: configuration)
        func name(_ collection: String, _ id: String) throws -> DocumentName {
            try DocumentName(database: Simulation.database, collection: collection, id: id)
        }
        document = try name("counters", hasReceipt ? "everybody" : machine)
        receipt = hasReceipt ? CommitReceipt(document: try name("receipts", machine)) : nil
    }

    var client: DocumentDatabase? { running?.client }

    func start(_ remote: SimulatedRemote, _ environment: Environment) throws -> DocumentDatabase {
        var options = ClientOptions()
        options.receipt = receipt
        options.environment = environment
        options.fileSystem = "memdb"
        let client = try DocumentDatabase(path: path, database: Simulation.database, remote: remote, options: options)
        running = (client, remote)
        return client
    }

    func tell(_ tell: (SimulatedRemote) -> Void) { running.map { tell($0.remote) } }

    func kill() {
        guard let (client, remote) = running else { return }
        running = nil
        remote.hangUp()
        client.assumeIsolated { $0.close() }
    }

    /// Counts, and adds or removes an element. Only elements that were confirmed are removed.
    func count(_ word: String, _ random: inout SeededRandom) async throws {
        guard let client else { return }
        let view = try await client.document(document)
        let there = (view.fields["words"]?.arrayValue ?? []).compactMap(\.stringValue)
        if random.chance(30), !view.hasPendingWrites, let old = random.pick(there.sorted()) {
            wantedGone.insert(old)
            let removal = FieldTransform(FieldPath(key: "words"), .removeAllFromArray([.string(old)]))
            try await client.merge(document, [:], transforms: [removal])
            taken.insert(old)
        } else {
            wanted += 1
            try await client.merge(
                document, [:],
                transforms: [
                    FieldTransform(FieldPath(key: "count"), .increment(.integer(1))),
                    FieldTransform(FieldPath(key: "words"), .appendMissingElements([.string(word)])),
                ])
            counted += 1
            added.insert(word)
        }
    }
}

extension Simulation {
    /// Checks that each change of a document took effect once: the counts add up, and no removed
    /// element is back.
    func checkCounts(_ documents: [String: Document]) {
        for (path, programs) in Dictionary(grouping: machines.compactMap(\.program), by: \.document.path)
            .sorted(by: { $0.key < $1.key })
        {
            let fields = documents[path]?.fields ?? [:]
            let count = Int(fields["count"]?.integerValue ?? 0)
            let words = Set((fields["words"]?.arrayValue ?? []).compactMap(\.stringValue))
            let (least, most) = (programs.reduce(0) { $0 + $1.counted }, programs.reduce(0) { $0 + $1.wanted })
            if !(least...most).contains(count) { break_("\(path) says \(count), counted were \(least) to \(most)") }
            let taken = programs.reduce(into: Set<String>()) { $0.formUnion($1.taken) }
            let gone = programs.reduce(into: Set<String>()) { $0.formUnion($1.wantedGone) }
            let added = programs.reduce(into: Set<String>()) { $0.formUnion($1.added) }
            for word in words.intersection(taken).sorted() { break_("\(word), which was taken away, is in \(path)") }
            for word in added.subtracting(gone).subtracting(words).sorted() { break_("\(word) is not in \(path)") }
        }
    }
}
