import Synchronization

/// A callback that can be set after the objects on both of its ends are created.
final class ProgressRelay: Sendable {
    private let target = Mutex<(@Sendable () -> Void)?>(nil)

    func set(_ body: @escaping @Sendable () -> Void) { target.withLock { $0 = body } }

    func call() { target.withLock { $0 }?() }
}
