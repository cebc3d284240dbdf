import DocumentModel
import FirestoreProtocol

/// The bytes that identify a query's target, in this and later runs of the program.
enum TargetKey {
    static func bytes(of query: Query) -> [UInt8] { RunQueryRequest(query: query).encoded() }
}
