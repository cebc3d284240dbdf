import DocumentClient
import DocumentModel
import TaskFolder

/// Reports changes of lists, machines and invitations that the server refuses. Those of tasks are
/// reported with the tasks.
extension TaskSync {
    private static let toldRefusals = 20

    /// Returns a problem for each document of which the server refuses a change.
    package func refusals() async throws -> [SyncProblem] {
        var told: [String: SyncProblem] = [:]
        for pending in try await client.pendingMutations(limit: 1000, parkedOnly: true) {
            let name = pending.mutation.name
            guard told.count < Self.toldRefusals, told[name.path] == nil, let reason = pending.parkedReason else {
                continue
            }
            let what: String
            switch name.collectionPath {
            case "tasks": continue
            case "lists": what = "the list"
            case "devices": what = "the entry of a machine"
            case ListInvitation.collection: what = "an invitation"
            case ListInvitation.blocks: what = "a block"
            default: what = "a document"
            }
            let title =
                name.collectionPath == "lists"
                ? catalog.listNames[name.list] ?? lists.path(name.list)?.string
                    ?? pending.mutation.fields["name"]?.stringValue : nil
            told[name.path] = SyncProblem(
                code: "refused", subject: title ?? name.path,
                message: "The server refuses a change of \(what): \(reason). It is kept on this machine.",
                hint: "Sign in to the right account: ferry login URL; if it is, ask the server's administrator.")
        }
        return told.sorted { $0.key < $1.key }.map(\.value)
    }
}
