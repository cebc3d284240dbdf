import DocumentModel
import FerryKitTestSupport
import Glibc
import SQLite

@testable import DocumentClient

let testDatabase = DatabaseName(project: "test")

func name(_ path: String) throws -> DocumentName { try DocumentName(database: testDatabase, path: path) }

func path(_ text: String) throws -> FieldPath { try FieldPath(parsing: text) }

let tasksQuery = Query(parent: ParentName(testDatabase), collectionID: "tasks")

func memoryReplica(
    policies: RebasePolicies = RebasePolicies(), receipt: CommitReceipt? = nil, id: String = "r1"
) throws -> Replica {
    try Replica(
        database: try SQLiteDatabase(path: ":memory:"), databaseName: testDatabase, replicaID: id, policies: policies,
        receipt: receipt)
}

/// Runs `body` while the clients run.
func running(_ clients: DocumentDatabase..., body: () async throws -> Void) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
        for client in clients { group.addTask { try await client.run() } }
        try await body()
        group.cancelAll()
        while let result = await group.nextResult() {
            if case .failure(let error) = result, !(error is CancellationError) { throw error }
        }
    }
}

/// A reproducible random number generator (SplitMix64).
struct SeededRandom: RandomNumberGenerator {
    var state: UInt64

    init(_ seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }
}

extension Replica {
    /// Sends until nothing is left to send. No response is lost.
    func drain(into remote: MemoryRemote) throws {
        var steps = 0
        while let request = try nextRequest() {
            steps += 1
            guard steps < 10_000 else { throw RemoteError(.transient, "the replica never comes to rest") }
            try perform(request, on: remote)
        }
    }

    func perform(_ request: Request, on remote: MemoryRemote) throws {
        do {
            switch request {
            case .commit(let writes): try committed(try remote.commit(writes))
            case .read(let names): try read(remote.read(names))
            }
        } catch let error as RemoteError {
            _ = try failed(error)
        }
    }
}
