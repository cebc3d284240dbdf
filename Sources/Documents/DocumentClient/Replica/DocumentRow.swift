import DocumentModel
import FirestoreProtocol
import SQLite

/// A row of `client_document`: the remote's version of a document, still encoded.
struct DocumentRow {
    enum State: Int64 {
        /// Never read, so the document may or may not exist.
        case unknown = 0
        /// The document does not exist as of `version`.
        case missing = 1
        case exists = 2
        /// The document existed in `version`, but no target contains it any more, so its present
        /// state is unknown.
        case outside = 3

        /// The stored state of a row that was damaged. It is read again, and its state is `unknown`
        /// until then.
        static let damaged: Int64 = 4
    }

    var id: Int64
    var state: State
    /// Whether the row was damaged and the remote's version has not been read again. The state is
    /// then `unknown`.
    var isDamaged: Bool
    var fields: [UInt8]
    var created: Timestamp
    var version: Timestamp
    var sequence: Int64

    /// Returns the decoded base.
    ///
    /// - Parameter keys: the fields to decode; nil for all.
    /// - Throws: `SQLiteError` with `.damagedRow`.
    func base(only keys: Set<String>? = nil) throws -> Base {
        switch state {
        case .unknown: return .unknown
        case .missing: return .missing
        case .exists, .outside:
            let encoded = EncodedFields(bytes: fields)
            do {
                let fields = if let keys { try encoded.decoded(only: keys) } else { try encoded.decoded() }
                return .exists(fields: fields, updateTime: version)
            } catch {
                throw SQLiteError(code: .damagedRow, message: "A stored document cannot be decoded (\(error)).")
            }
        }
    }

    /// The columns in the order in which `init` reads them.
    static let columns = "id, sequence, sum, \(summed)"

    /// The columns covered by the checksum. Sequence numbers are not covered, because they change
    /// without the rest being read.
    static let summed = "collection, name, state, fields, created, version"

    /// Reads a row.
    ///
    /// - Throws: `SQLiteError` with `.damagedRow`; see `Replica.repair`.
    init(_ row: SQLiteStatement) throws {
        try row.checkIntact(3..<9, sum: 2)
        id = row.int64(0)
        sequence = row.int64(1)
        isDamaged = row.int64(5) == State.damaged
        state = State(rawValue: row.int64(5)) ?? .unknown
        fields = row.bytes(6)
        created = Timestamp(microseconds: row.int64(7))
        version = Timestamp(microseconds: row.int64(8))
    }
}

/// The remote's state of a document, as just received.
enum RemoteState {
    case missing(Timestamp)
    case exists(EncodedDocument)

    var version: Timestamp {
        switch self {
        case .missing(let time): time
        case .exists(let document): document.updateTime
        }
    }

    func base() throws -> Base {
        switch self {
        case .missing: .missing
        case .exists(let document): .exists(fields: try document.fields.decoded(), updateTime: document.updateTime)
        }
    }
}

/// The two parts of a document's path, stored separately so that a collection can be read as a
/// range.
struct PathParts {
    let collection: String
    let name: String

    init(_ path: String) {
        if let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) {
            collection = String(path[..<slash])
            name = String(path[path.utf8.index(after: slash)...])
        } else {
            collection = ""
            name = path
        }
    }
}
