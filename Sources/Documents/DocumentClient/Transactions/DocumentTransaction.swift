public import DocumentModel
import FirestoreProtocol
import Synchronization
import SystemIO

/// Reads and writes that take effect together, based on the remote's newest versions. Requires a
/// connection.
///
/// The documents that were read must not have changed when the writes are committed; otherwise the
/// whole closure runs again.
public final class DocumentTransaction: Sendable {
    private struct State {
        var versions: [DocumentName: Timestamp?] = [:]
        var writes: [Write] = []

        /// Records the version of a document that was read.
        mutating func note(_ document: Document?, _ name: DocumentName) throws {
            if let known = versions[name], known != document?.updateTime {
                throw RemoteError(.precondition, "The document \(name.path) changed between two reads.")
            }
            versions.updateValue(document?.updateTime, forKey: name)
        }
    }

    private let remote: any RemoteDocuments
    private let state = Mutex(State())

    init(remote: any RemoteDocuments) { self.remote = remote }

    /// Returns the remote's document; nil if it does not exist. All reads must precede the first
    /// write.
    public func document(_ name: DocumentName) async throws -> Document? {
        guard state.withLock({ $0.writes.isEmpty }) else { throw Self.readAfterWrite }
        let document = try await remote.documents([name]).found.first.map { try Document($0) }
        try state.withLock { try $0.note(document, name) }
        return document
    }

    private static let readAfterWrite = DocumentClientError(
        .invalid, "A transaction reads all its documents before its first write.")

    /// Returns the remote's results of a query. All reads must precede the first write.
    ///
    /// The commit fails if one of the results has changed since. A document that has become a result
    /// meanwhile is not noticed.
    public func documents(_ query: Query) async throws -> [Document] {
        guard state.withLock({ $0.writes.isEmpty }) else { throw Self.readAfterWrite }
        let documents = try await remote.results(of: query).found.map { try Document($0) }
        try state.withLock { state in for document in documents { try state.note(document, document.name) } }
        return documents
    }

    /// Replaces the content of the document, and creates it if it does not exist.
    public func set(_ name: DocumentName, _ fields: [String: Value], transforms: [FieldTransform] = []) {
        add(.update(name, fields: fields), mask: nil, transforms: transforms, otherwise: nil)
    }

    /// Changes fields of an existing document. A nil value removes the field.
    public func update(_ name: DocumentName, _ changes: [FieldPath: Value?], transforms: [FieldTransform] = []) {
        let mutation = Mutation.update(name, changes, transforms: transforms)
        add(
            .update(name, fields: mutation.fields), mask: mutation.mask, transforms: transforms,
            otherwise: .exists(true))
    }

    /// Deletes the document.
    public func delete(_ name: DocumentName) { add(.delete(name), mask: nil, transforms: [], otherwise: nil) }

    /// Applies mutations in order.
    package func apply(_ mutations: [Mutation]) {
        for mutation in mutations {
            switch mutation.kind {
            case .create, .set: set(mutation.name, mutation.fields, transforms: mutation.transforms)
            case .merge, .update:
                add(
                    .update(mutation.name, fields: mutation.fields), mask: mutation.mask,
                    transforms: mutation.transforms, otherwise: mutation.kind == .update ? .exists(true) : nil)
            case .delete: delete(mutation.name)
            }
        }
    }

    /// Adds a write.
    ///
    /// - Parameter otherwise: the precondition for a document that was not read.
    private func add(
        _ operation: Write.Operation, mask: [FieldPath]?, transforms: [FieldTransform], otherwise: Precondition?
    ) {
        state.withLock { state in
            let write = Write(operation, mask: mask, transforms: transforms)
            var precondition = otherwise
            // The first write of a document checks its version; later writes build on it.
            if state.writes.contains(where: { $0.name == write.name }) {
                precondition = nil
            } else if let version = state.versions[write.name] {
                precondition = version.map { .updateTime($0) } ?? .exists(false)
            }
            state.writes.append(Write(operation, mask: mask, transforms: transforms, precondition: precondition))
        }
    }

    /// Commits all writes, and a check of each document that was only read.
    func commit() async throws {
        let writes = state.withLock { state in
            let written = Set(state.writes.map(\.name))
            let checks = state.versions.filter { !written.contains($0.key) }.sorted { $0.key.path < $1.key.path }
            return state.writes
                + checks.map {
                    Write(.verify($0.key), precondition: $0.value.map { .updateTime($0) } ?? .exists(false))
                }
        }
        if !writes.isEmpty { _ = try await remote.commit(writes) }
    }
}

extension DocumentDatabase {
    /// Runs `body` until its writes could be committed on the versions that it read, at most `attempts` times.
    ///
    /// The writes are sent directly to the remote, not through the journal, and become visible here
    /// when the remote reports them.
    ///
    /// - Throws: the error of `body`; `DocumentClientError` with `contention` after the last
    ///   attempt; `RemoteError`. After a transient one it is unknown whether the writes took
    ///   effect.
    public nonisolated func runTransaction<Result: Sendable>(
        attempts: Int = 5, _ body: @Sendable (DocumentTransaction) async throws -> Result
    ) async throws -> Result {
        try await DocumentTransaction.run(on: remote, environment, attempts: attempts, body)
    }
}

extension DocumentTransaction {
    fileprivate static func run<Result: Sendable>(
        on remote: any RemoteDocuments, _ environment: Environment, attempts: Int,
        _ body: @Sendable (DocumentTransaction) async throws -> Result
    ) async throws -> Result {
        var delay = Backoff.firestore
        for _ in 0..<max(1, attempts) {
            let transaction = DocumentTransaction(remote: remote)
            do {
                let result = try await body(transaction)
                try await transaction.commit()
                return result
            } catch let error as RemoteError where error.code == .precondition {
                try await environment.sleep(for: delay.next(random: environment.fraction) / 10)
            }
        }
        throw DocumentClientError(
            .contention, "The transaction lost against other writers \(attempts) times. Try again later.")
    }
}
