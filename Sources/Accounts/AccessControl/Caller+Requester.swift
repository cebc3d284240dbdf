import FirestoreServer
import SecurityRules

extension Caller {
    /// The requester for whom the rules decide.
    var requester: Requester {
        switch self {
        case .administrator: .administrator
        case .user(let id, _, _, _): .user(id)
        case .nobody: .nobody
        }
    }
}
