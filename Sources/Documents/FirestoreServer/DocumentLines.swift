package import DocumentModel
package import DocumentStore
package import FirestoreProtocol
import JSON
package import SystemIO

/// Documents as lines of text, each a document in the REST form, which any tool can read.
package struct DocumentLines {
    private let database: DatabaseName

    package init(database: DatabaseName) { self.database = database }

    /// The reason why lines cannot be read: the line, and what to do.
    package struct FormatError: Error, CustomStringConvertible {
        package let description: String
        package let cause: (any Error)?

        init(_ description: String, cause: (any Error)? = nil) {
            self.description = description
            self.cause = cause
        }
    }

    /// The maximum length of a line in bytes: that of a document of 1 MiB whose escapes take up to
    /// six bytes per byte.
    private static let lineLimit = 8 << 20
    private static let bufferSize = 1 << 20
    private static let batch = 400

    /// Writes all documents of a database file as of one point in time. A server may run on the
    /// file.
    ///
    /// - Returns: The number of documents, and the paths of damaged documents, which are left out.
    package func write(
        documentsOf path: String, to output: borrowing FileDescriptor
    ) throws -> (count: Int, damaged: [String]) {
        try write(to: output) { try DocumentDatabaseFile(database, path: path).forEachDocument($0) }
    }

    /// Writes the documents with which `source` calls its argument.
    ///
    /// - Parameter source: Returns the paths of damaged documents.
    /// - Returns: The number of documents, and those paths.
    package func write(
        to output: borrowing FileDescriptor, from source: ((EncodedDocument) throws -> Void) throws -> [String]
    ) throws -> (count: Int, damaged: [String]) {
        var count = 0
        var buffer: [UInt8] = []
        let damaged = try source { document in
            buffer += RESTWriter.write(try document.decoded())
            buffer.append(UInt8(ascii: "\n"))
            count += 1
            if buffer.count >= Self.bufferSize {
                try output.write(buffer)
                buffer.removeAll(keepingCapacity: true)
            }
        }
        try output.write(buffer)
        return (count, damaged)
    }

    /// Stores the documents of a file, replacing those with the same names. If any line is
    /// malformed, nothing is stored.
    ///
    /// - Throws: `FormatError` for a line that is not a document of the database.
    package func read(_ path: String, into store: any DocumentStore) async throws -> Int {
        _ = try forEachDocument(in: path, from: 0, limit: .max) { _ in }
        var count = 0
        var position: Int64 = 0
        while true {
            var writes: [Write] = []
            position = try forEachDocument(in: path, from: position, limit: Self.batch) { document in
                writes.append(Write(.update(document.name, fields: document.fields)))
            }
            guard !writes.isEmpty else { return count }
            _ = try await store.commit(writes)
            count += writes.count
        }
    }

    /// Calls `body` with up to `limit` documents from a position in the file, and returns the
    /// position after them.
    private func forEachDocument(
        in path: String, from start: Int64, limit: Int, _ body: (Document) throws -> Void
    ) throws -> Int64 {
        let file = try FileDescriptor(path: path, .read)
        var (position, line, count) = (start, [UInt8](), 0)
        func finish() throws {
            defer { line = [] }
            guard !line.allSatisfy({ $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\r") }) else { return }
            do {
                try body(try document(line))
            } catch {
                throw FormatError(
                    "\(path), the line that ends at byte \(position), is not a document: \(error)", cause: error)
            }
            count += 1
        }
        while count < limit {
            let bytes = try file.read(Self.bufferSize, at: position)
            if bytes.isEmpty {
                try finish()
                return position
            }
            for byte in bytes {
                position += 1
                guard byte == UInt8(ascii: "\n") else {
                    line.append(byte)
                    continue
                }
                try finish()
                if count >= limit { return position }
            }
            guard line.count <= Self.lineLimit else {
                throw FormatError("\(path) has a line of more than \(Self.lineLimit) bytes.")
            }
        }
        return position
    }

    private func document(_ line: [UInt8]) throws -> Document {
        let document = try RESTReader.document(try JSON(parsing: line, depth: RESTReader.maximumDepth))
        guard document.name.database == database else {
            throw FormatError(
                "\(document.name) is not of \(database). Name its project with --project, or change the line.")
        }
        return document
    }
}
