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
    }

    var id: Int64
    var state: State
    var fields: [UInt8]
    var created: Timestamp
    var version: Timestamp
    var sequence: Int64

    /// - Parameter keys: the fields to decode; nil: all.
    func base(only keys: Set<String>? = nil) throws -> Base {
        switch state {
        case .unknown: return .unknown
        case .missing: return .missing
        case .exists, .outside:
            let encoded = EncodedFields(bytes: fields)
            let fields = if let keys { try encoded.decoded(only: keys) } else { try encoded.decoded() }
            return .exists(fields: fields, updateTime: version)
        }
    }

    /// The columns in the order that `init` reads.
    static let columns = "id, state, fields, created, version, sequence"

    init(_ row: SQLiteStatement) {
        id = row.int64(0)
        state = State(rawValue: row.int64(1)) ?? .unknown
        fields = row.bytes(2)
        created = Timestamp(microseconds: row.int64(3))
        version = Timestamp(microseconds: row.int64(4))
        sequence = row.int64(5)
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
