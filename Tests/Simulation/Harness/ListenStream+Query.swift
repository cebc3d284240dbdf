import DocumentModel
import DocumentStore

extension ListenStream {
    /// Apart from the file that knows the wire's messages, which has a `ListenTarget` too.
    func add(query: Query, id: Int32, token: [UInt8]) async {
        await add(ListenTarget(id: id, selection: .query(query), resumption: token.isEmpty ? nil : .token(token)))
    }
}
