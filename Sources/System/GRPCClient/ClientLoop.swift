import Synchronization
import SystemIO

/// A member of a loop, called whenever the loop checks the times of its sockets.
protocol LoopMember: AnyObject, Sendable {
    func check(at now: ContinuousClock.Instant)
}

/// The thread that reads and writes the connections of all channels of the process; it ends with the last of them.
final class ClientLoop: Sendable {
    let loop: NetworkLoop
    private let channels = Mutex<[ObjectIdentifier: WeakMember]>([:])

    private struct WeakMember { weak var object: (any LoopMember)? }
    private struct WeakLoop { weak var object: ClientLoop? }

    private init() throws(SystemError) {
        loop = try NetworkLoop()
        loop.alsoCheck { [weak self] now in self?.check(at: now) }
        try loop.start(named: "grpc-client")
    }

    deinit { loop.stop() }

    /// Returns the loop of the process, and starts it if there is none.
    static func shared() throws(SystemError) -> ClientLoop {
        try current.withLock { current throws(SystemError) in
            if let loop = current.object { return loop }
            let loop = try ClientLoop()
            current.object = loop
            return loop
        }
    }

    private static let current = Mutex(WeakLoop())

    /// Calls the channel's `check` whenever the loop calls those of its sockets.
    func add(_ channel: any LoopMember) {
        channels.withLock { $0[ObjectIdentifier(channel)] = WeakMember(object: channel) }
    }

    func remove(_ channel: ObjectIdentifier) {
        channels.withLock { _ = $0.removeValue(forKey: channel) }
    }

    private func check(at now: ContinuousClock.Instant) {
        // Outside the lock, because this may release the last reference to a channel.
        let channels = channels.withLock { $0.values.compactMap(\.object) }
        for channel in channels { channel.check(at: now) }
    }
}
