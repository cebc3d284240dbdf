import DocumentModel
import DocumentStore

extension ListenStream {
    /// Adds a query. This is in a separate file, because the messages of the wire, which the callers'
    /// files import, include another `ListenTarget`.
    func add(query: Query, id: Int32, token: [UInt8]) async {
        await add(ListenTarget(id: id, selection: .query(query), resumption: token.isEmpty ? nil : .token(token)))
    }
}
