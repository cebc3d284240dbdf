import Synchronization

/// Lets an object be told of progress that it is itself made with.
final class ProgressRelay: Sendable {
    private let target = Mutex<(@Sendable () -> Void)?>(nil)

    func set(_ body: @escaping @Sendable () -> Void) { target.withLock { $0 = body } }

    func call() { target.withLock { $0 }?() }
}
