import DocumentModel
import DocumentStore
import FirestoreProtocol

extension DocumentStore {
    /// Reads at the moment that a request asks for, once the rules have allowed the read.
    ///
    /// - Parameters:
    ///   - authorize: Throws unless the caller may read now and, if a past moment is given, as of
    ///     it. Nothing is locked and no transaction is begun before it has returned.
    ///   - body: Reads, and checks the results where they decide. In a read-write transaction that
    ///     began earlier, a refusal rolls it back, which frees what it locked after the first check.
    /// - Returns: The result, and the id of the transaction that was begun for the read; empty for
    ///   none. A transaction that was begun for a read that fails ends with it, because the client
    ///   never learns its id.
    func reading<Result>(
        _ selector: ReadConsistency?, by caller: Caller,
        authorizing authorize: (_ past: Timestamp?) async throws -> Void,
        _ body: (ReadMoment) async throws -> Result
    ) async throws -> (result: Result, transaction: [UInt8]) {
        switch selector {
        case nil:
            try await authorize(nil)
            return (try await body(.strong), [])
        case .readTime(let time)?:
            try await authorize(time)
            return (try await body(.at(time)), [])
        case .transaction(let bytes)?:
            let id = TransactionID(bytes: bytes, account: caller.account)
            try await authorize(try await readTime(of: id))
            do { return (try await body(.transaction(id)), []) } catch {
                if error as? DocumentStoreError == .permissionDenied { try? await rollback(id) }
                throw error
            }
        case .newTransaction(let options)?:
            // A transaction holds memory, so an unknown caller cannot begin one.
            guard caller != .nobody else { throw DocumentStoreError.unauthenticated }
            var past: Timestamp?
            if case .readOnly(let time?) = options { past = time }
            try await authorize(past)
            let id = try await beginTransaction(
                StoreTransactionOptions(options, by: caller), for: caller.account)
            do { return (try await body(.transaction(id)), id.bytes) } catch {
                try? await rollback(id)
                throw error
            }
        }
    }
}

extension StoreTransactionOptions {
    init(_ options: FirestoreProtocol.TransactionOptions?, by caller: Caller) {
        switch options {
        case .readOnly(let time)?: self = .readOnly(at: time)
        case .readWrite(let retrying, _)?:
            self = .readWrite(
                retry: retrying.isEmpty ? nil : TransactionID(bytes: retrying, account: caller.account))
        case nil: self = .readWrite(retry: nil)
        }
    }
}
