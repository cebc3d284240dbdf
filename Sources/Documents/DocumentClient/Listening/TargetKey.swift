import DocumentModel
import FirestoreProtocol

/// The bytes by which a query's target is found again, in this and later runs of the program.
enum TargetKey {
    static func bytes(of query: Query) -> [UInt8] { RunQueryRequest(query: query).encoded() }
}
