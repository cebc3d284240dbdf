import HTTPMessages
import Synchronization
import SystemIO

/// The connections of a server, on all of its threads, which share its limits.
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

    /// Asks for a place for a new connection. May end another connection.
    ///
    /// - Parameter site: see `ConnectionLimiter.open`.
    /// - Returns: the new connection's id, for `add` or `remove`; nil if there is no place for it.
    func admit(_ site: IPAddress?) -> UInt64? {
        let (id, victim) = state.withLock { state -> (UInt64?, Connection?) in
            state.last += 1
            let id = state.last
            let connections = state.connections
            let admission = state.limiter.open(id, site) { other in
                // One that is not here yet begins at this moment.
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
        // Outside of the lock, as it may be the last reference.
        _ = state.withLock { state in
            state.limiter.close(id)
            return state.connections.removeValue(forKey: id)
        }
    }

    subscript(id: UInt64) -> Connection? { state.withLock { $0.connections[id] } }
}

/// What the threads of a server have in common.
struct ServerSettings: Sendable {
    let limits: HTTPServerLimits
    let proxies: TrustedProxies
    let isSecure: Bool
    let onError: @Sendable (any Error) -> Void
    let handler: @Sendable (HTTPServerRequest) async throws -> HTTPResponse

    /// Between two looks at how fast a client sends or reads.
    var paceInterval: Duration { limits.pace.grace / 4 }
}
