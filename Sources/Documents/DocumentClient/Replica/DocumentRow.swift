import DocumentModel
import FirestoreProtocol
import SQLite

/// A row of `client_document`: the remote's version of a document, still encoded.
struct DocumentRow {
    enum State: Int64 {
        /// Never read, so it may or may not exist.
        case unknown = 0
        /// Does not exist as of `version`.
        case missing = 1
        case exists = 2
        /// Existed in `version`, but no target has it any more, so nothing is known of it since.
        case outside = 3

        /// What a row says that was damaged: it is read again, and unknown until then.
        static let damaged: Int64 = 4
    }

    var id: Int64
    var state: State
    /// Whether the row was damaged, and the remote's version is still to be read again. The state is `unknown` then.
    var isDamaged: Bool
    var fields: [UInt8]
    var created: Timestamp
    var version: Timestamp
    var sequence: Int64

    /// - Parameter keys: the fields to decode; nil: all.
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

    /// The columns in the order that `init` reads.
    static let columns = "id, sequence, sum, \(summed)"

    /// The columns that the checksum covers. Numbers of changes are not among them: they are changed without a look at the rest.
    static let summed = "collection, name, state, fields, created, version"

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

/// What the remote is now known to have at a path.
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

/// The two parts of a document's path that the table keeps apart, so that a collection can be read as a range.
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
