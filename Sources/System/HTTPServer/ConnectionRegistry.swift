import HTTPMessages
import Synchronization
import SystemIO

/// The connections of a server on all of its threads, which share the server's limits.
final class ConnectionRegistry: Sendable {
    private struct State {
        var last: UInt64 = 0
        var limiter: Connection.Limiter
        var connections: [UInt64: Connection] = [:]
    }

    private let state: Mutex<State>

    init(_ limits: HTTPServerLimits) {
        state = Mutex(
            State(limiter: .init(.init(total: max(1, limits.connections), perSite: limits.connectionsPerAddress))))
    }

    /// Reserves a place for a new connection, and may end another connection to free one.
    ///
    /// - Parameter site: The client's network; see `ConnectionLimiter.open`.
    /// - Returns: The new connection's id, to be passed to `add` or `remove`; nil if no place is
    ///   free.
    func admit(_ site: IPAddress?) -> UInt64? {
        let (id, victim) = state.withLock { state -> (UInt64?, Connection?) in
            state.last += 1
            let id = state.last
            let connections = state.connections
            let admission = state.limiter.open(id, site) { other in
                // An admitted connection that is not registered yet counts as busy from now on.
                connections[other]?.use ?? (.busy, .now)
            }
            switch admission {
            case .admitted: return (id, nil)
            case .replacing(let other): return (id, connections[other])
            case .refused: return (nil, nil)
            }
        }
        victim?.giveUp()
        return id
    }

    func add(_ connection: Connection) { state.withLock { $0.connections[connection.id] = connection } }

    func remove(_ id: UInt64) {
        // The value is released outside the lock, because this may be the last reference to it.
        _ = state.withLock { state in
            state.limiter.close(id)
            return state.connections.removeValue(forKey: id)
        }
    }

    subscript(id: UInt64) -> Connection? { state.withLock { $0.connections[id] } }
}

/// The settings that all threads of a server share.
struct ServerSettings: Sendable {
    let limits: HTTPServerLimits
    let proxies: TrustedProxies
    let isSecure: Bool
    let onError: @Sendable (any Error) -> Void
    let handler: @Sendable (HTTPServerRequest) async throws -> HTTPResponse

    /// The time between two checks of how fast a client sends or reads.
    var paceInterval: Duration { limits.pace.grace / 4 }
}
