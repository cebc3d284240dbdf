import Synchronization

/// An object on its way into a task or out of it. What a task captures or answers stays until its end, which may come after the
/// object's next use; so it gets this, and who takes the object is the only one that has it.
final class Handover: Sendable {
    private let object: Mutex<[UInt8]>

    init(_ object: [UInt8]) { self.object = Mutex(object) }

    /// The object; nothing the second time.
    func take() -> [UInt8] {
        object.withLock { object in
            defer { object = [] }
            return object
        }
    }
}
