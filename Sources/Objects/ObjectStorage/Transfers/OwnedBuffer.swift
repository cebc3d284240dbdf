import Synchronization

/// An object on its way into or out of a task. What a task captures or returns lives until the task
/// ends, which may be too late to reuse its memory. The receiver takes the object out of this box
/// and then holds the only reference to it.
final class OwnedBuffer: Sendable {
    private let object: Mutex<[UInt8]>

    init(_ object: [UInt8]) { self.object = Mutex(object) }

    /// Returns the object; an empty array at the second call.
    func take() -> [UInt8] {
        object.withLock { object in
            defer { object = [] }
            return object
        }
    }
}
