import DocumentModel
import FerryKitTestSupport
import FirestoreProtocol
import SQLite

@testable import DocumentClient

/// A replica and its network, controlled step by step.
final class SimulatedReplica {
    let id: String
    private let database: SQLiteDatabase
    private(set) var replica: Replica
    private(set) var session = ListenSession()
    private let receipt: CommitReceipt?
    private let policies = RebasePolicies(others: FieldwisePolicy(historyCollection: "history"))
    /// The request that waits for its response.
    private var request: Replica.Request?
    private var answer: Result<Replica.Request.Answer, RemoteError>?
    /// Requests that the replica gave up and that may still arrive.
    private(set) var late: [[Write]] = []
    private var stream: [RemoteEvent]?
    private var position = 0
    private var targets: [RemoteTarget] = []
    private var missing: [DocumentName] = []

    init(id: String, signs: Bool) throws {
        self.id = id
        database = try SQLiteDatabase(path: ":memory:")
        receipt = signs ? CommitReceipt(document: try name("devices/\(id)")) : nil
        replica = try Replica(
            database: database, databaseName: testDatabase, replicaID: id, policies: policies, receipt: receipt)
        try restartSession()
    }

    /// Crashes between two transactions and restarts: only what was in the file is left.
    func crash() throws {
        if case .commit(let writes)? = request, answer == nil { late.append(writes) }
        (request, answer, stream, missing) = (nil, nil, nil, [])
        replica = try Replica(
            database: database, databaseName: testDatabase, replicaID: id, policies: policies, receipt: receipt)
        session = ListenSession()
        try restartSession()
    }

    private func restartSession() throws {
        targets = [try replica.target(for: tasksQuery)]
        for target in targets { _ = session.add(target) }
    }

    // MARK: Sending

    /// Performs one step of the sender, with random failures.
    func stepSending(_ remote: MemoryRemote, _ random: inout SeededRandom, faults: Bool) throws {
        guard let request else {
            self.request = try replica.nextRequest()
            return
        }
        if let answer {
            (self.request, self.answer) = (nil, nil)
            if faults, random.chance(15) {
                _ = try replica.failed(RemoteError(.transient, "the answer was lost"))
            } else {
                try take(answer)
            }
            try follow(try replica.applyHeld(), remote)
            return
        }
        if faults, random.chance(15) {
            // The request is interrupted; it may arrive late or never.
            if case .commit(let writes) = request { late.append(writes) }
            self.request = nil
            _ = try replica.failed(RemoteError(.transient, "the request was lost"))
            try follow(try replica.applyHeld(), remote)
            return
        }
        answer = perform(request, on: remote)
        if faults, random.chance(5), case .commit(let writes) = request { late.append(writes) }
    }

    func deliverLate(_ remote: MemoryRemote, _ random: inout SeededRandom) {
        guard !late.isEmpty else { return }
        let writes = late.remove(at: Int.random(in: 0..<late.count, using: &random))
        _ = try? remote.commit(writes)
    }

    private func perform(_ request: Replica.Request, on remote: MemoryRemote) -> Result<
        Replica.Request.Answer, RemoteError
    > {
        do {
            switch request {
            case .commit(let writes): return .success(.commit(try remote.commit(writes)))
            case .read(let names): return .success(.read(remote.read(names)))
            }
        } catch let error as RemoteError {
            return .failure(error)
        } catch {
            return .failure(RemoteError(.transient, "\(error)"))
        }
    }

    private func take(_ answer: Result<Replica.Request.Answer, RemoteError>) throws {
        switch answer {
        case .success(.commit(let result)): try replica.committed(result)
        case .success(.read(let result)): try replica.read(result)
        case .failure(let error): _ = try replica.failed(error)
        }
    }

    // MARK: Listening

    func stepListening(_ remote: MemoryRemote, _ random: inout SeededRandom, faults: Bool) throws {
        guard stream != nil else {
            for action in session.open() {
                guard case .open(let targets) = action else { continue }
                self.targets = targets
                stream = targets.flatMap { remote.start($0) } + [remote.boundary()]
                position = remote.log.count
            }
            return
        }
        if faults, random.chance(3) {
            stream = nil
            _ = session.ended(.transient)
            return
        }
        stream?.append(contentsOf: remote.news(targets, after: position))
        position = remote.log.count
        let count = faults ? Int.random(in: 0...6, using: &random) : Int.max
        for _ in 0..<count {
            guard stream?.isEmpty == false, let event = stream?.removeFirst() else { break }
            try perform(session.received(event), remote)
        }
        if !missing.isEmpty {
            let names = missing
            missing = []
            try follow(try replica.resolveMissing(names, remote.read(names)), remote)
        }
    }

    private func perform(_ actions: [ListenSession.Action], _ remote: MemoryRemote) throws {
        for action in actions {
            switch action {
            case .apply(let boundary): try follow(try replica.receive(boundary), remote)
            case .add(let target): stream?.append(contentsOf: remote.start(target) + [remote.boundary()])
            case .remove(let id): stream?.append(.targetChange(.init(.removed, targetIDs: [id])))
            default: break
            }
        }
    }

    private func follow(_ outcome: Replica.ListenOutcome, _ remote: MemoryRemote) throws {
        if outcome.wentBack { throw RemoteError(.invalid, "the remote seems to have gone back") }
        missing += outcome.missing
        if !outcome.unreported.isEmpty {
            try follow(try replica.resolveUnreported(outcome.unreported, remote.read(outcome.unreported)), remote)
        }
        if !outcome.mismatched.isEmpty {
            try replica.forgetTokens(of: outcome.mismatched)
            try perform(session.restart(outcome.mismatched), remote)
        }
    }

    /// Runs until there is nothing left to send or to receive.
    func settle(_ remote: MemoryRemote) throws {
        var random = SeededRandom(0)
        for _ in 0..<4000 {
            let before = (remote.log.count, replica.journal.count, replica.held.count)
            try stepSending(remote, &random, faults: false)
            try stepListening(remote, &random, faults: false)
            let isQuiet =
                request == nil && replica.journal.isIdle && replica.held.isEmpty && stream?.isEmpty == true
                && missing.isEmpty
            if isQuiet, before == (remote.log.count, replica.journal.count, replica.held.count) { return }
        }
        throw RemoteError(
            .transient,
            "\(id) never comes to rest: \(try replica.reader.pending().map { "\($0.id) \($0.mutation.kind) \($0.parkedReason ?? "")" })"
        )
    }
}

extension Replica.Request {
    enum Answer {
        case commit(CommitResult)
        case read(RemoteRead)
    }
}
