import DocumentModel
import FirestoreProtocol

/// Everything that the remote reported between two consistent points of a listen stream. Applied as
/// a whole or not at all.
struct Boundary: Sendable {
    enum Item: Sendable {
        /// The members of these targets will be reported again. A member that was not reported by
        /// the time they are current has left.
        case reset(Set<Int32>)
        case changed(EncodedDocument, added: [Int32], removed: [Int32])
        case deleted(DocumentName, readTime: Timestamp?)
        case left(DocumentName, removed: [Int32])
        case current(Set<Int32>)
        case count(target: Int32, Int32)

        /// The document that the item concerns.
        var name: DocumentName? {
            switch self {
            case .changed(let document, _, _): document.name
            case .deleted(let name, _), .left(let name, _): name
            case .reset, .current, .count: nil
            }
        }
    }

    var items: [Item]
    var readTime: Timestamp
    /// The token with which these targets resume after the boundary.
    var resumeToken: [UInt8]
    var targets: Set<Int32>
    /// Whether every target has reported all its documents.
    var isComplete = false
    /// Queries whose results the remote has named, by their targets. Other local documents that match
    /// them are out of date.
    var named: [Int32: Query] = [:]

    /// The newest commit that the boundary contains.
    var newestCommit: Timestamp? {
        items.lazy.compactMap { if case .changed(let document, _, _) = $0 { document.updateTime } else { nil } }.max()
    }
}
