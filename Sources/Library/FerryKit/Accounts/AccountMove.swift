import DocumentClient
import DocumentCoding
import DocumentModel

/// Moves the documents and files of an anonymous account to another one that is signed in to.
///
/// Rules of servers do not let a user give a document away. So the other account creates the document
/// again after this one has deleted it. In the order of the steps nothing is lost if the program ends
/// between two of them: the documents are in the journal of the other account before they are deleted.
/// What was not reached is moved when the call is repeated.
struct AccountMove {
    let ferry: Ferry
    let service: any AccountService

    /// The number of documents that are deleted in one commit.
    private static let commitSize = 100

    func run(from before: AccountRecord, with credential: Credential, _ moving: Moving) async throws {
        let after = try await service.prepare(credential)
        // A custom token may be for this very account.
        if after.id == before.id { return try await service.adopt(deletingCurrent: false) }
        let session = try ferry.session
        let queries = ferry.queriesOfDocuments(ofUser: before.id, in: session.database)
        var count = 0
        for query in queries { count += try await session.reader.documents(query).count }
        if case .choose(let answer) = moving, await !answer(count) {
            return try await service.adopt(deletingCurrent: false)
        }
        if session.isUploading {
            throw AccountError.refused("Files are being uploaded. Finish or cancel that before the account changes.")
        }
        try await service.copyFiles()

        // From here on nothing is written to the old account.
        ferry.detachSession()
        do {
            var found: [String: [String: Value]] = [:]
            for query in queries {
                for document in try await session.client.documents(query) {
                    found[document.name.path] = document.fields
                }
            }
            let database = session.database
            await session.close()
            let moved = MovedDocuments(found, from: before.id, to: after.id)
            let other = try await ferry.makeSession(userID: after.id, objects: nil)
            do {
                var mutations: [Mutation] = []
                for (path, fields) in moved.documents {
                    let name = try DocumentName(database: database, path: path)
                    // Those of an interrupted move are here already.
                    let isKnown = try await other.client.document(name).exists
                    mutations.append(isKnown ? .set(name, fields) : .create(name, fields))
                }
                _ = try await other.client.write(mutations)
            } catch {
                await other.close()
                throw error
            }
            await other.close()
            try await delete(try moved.deletions.map { try DocumentName(database: database, path: $0) })
            try await service.adopt(deletingCurrent: true)
        } catch {
            try? await ferry.startSession()
            throw error
        }
        try ferry.erase(userID: before.id)
    }

    private func delete(_ names: [DocumentName]) async throws {
        let connection = try await ferry.connect()
        defer { connection.close() }
        var rest = names[...]
        while !rest.isEmpty {
            _ = try await connection.documents.commit(rest.prefix(Self.commitSize).map { DatabaseWrite(.delete($0)) })
            rest = rest.dropFirst(Self.commitSize)
        }
    }
}

/// The documents of one account as those of another. Pure.
struct MovedDocuments {
    private let old: String
    private let new: String
    /// The documents to write, each after those above it.
    private(set) var documents: [(path: String, fields: [String: Value])] = []
    /// The paths of the documents to delete, each after those below it.
    private(set) var deletions: [String] = []

    /// - Parameter found: the documents by path.
    init(_ found: [String: [String: Value]], from old: String, to new: String) {
        self.old = old
        self.new = new
        let paths = found.keys.sorted { (Self.depth($0), $0) < (Self.depth($1), $1) }
        documents = paths.map { (moved(path: $0), (found[$0] ?? [:]).mapValues(moved)) }
        deletions = paths.reversed()
    }

    private static func depth(_ path: String) -> Int { path.utf8.count { $0 == UInt8(ascii: "/") } }

    /// Replaces the id of the user, ids that begin with it and a dot, and keys of the user's objects.
    private func moved(_ text: String) -> String {
        if text == old { return new }
        for separator in [".", "/"] where text.hasPrefix(old + separator) { return new + text.dropFirst(old.count) }
        return text
    }

    private func moved(path: String) -> String {
        path.split(separator: "/", omittingEmptySubsequences: false).map { moved(String($0)) }.joined(separator: "/")
    }

    private func moved(_ value: Value) -> Value {
        switch value {
        case .string(let text): .string(moved(text))
        case .reference(let name):
            (try? DocumentName(parsing: name)).map {
                .reference("\($0.database.documentsRoot)/\(moved(path: $0.path))")
            }
                ?? value
        case .array(let elements): .array(elements.map(moved))
        case .map(let fields):
            .map(Dictionary(fields.map { (moved($0.key), moved($0.value)) }) { first, _ in first })
        default: value
        }
    }
}
