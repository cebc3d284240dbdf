import CGRPC

/// Something that starts operations of the core and is told when they have ended.
///
/// A tag is the address of the target with the kind of operation in its low bits, so starting an operation allocates
/// nothing. Each tag holds the target alive until the core has handed it back.
///
/// Sendable because the class has no state of its own; each subclass says what makes it so.
class CompletionTarget: @unchecked Sendable {
    /// Which of the target's operations ended. There is at most one of each under way.
    enum Operation: UInt {
        case send = 0
        case receive
        case headers
        case status
    }

    /// Swift objects are aligned to 16 bytes, which leaves four bits of their address unused.
    private static let mask: UInt = 15

    /// Called on a polling thread, which must not be kept.
    func completed(_ operation: Operation, success: Bool) {}

    final func tag(_ operation: Operation) -> UnsafeMutableRawPointer? {
        let address = UInt(bitPattern: Unmanaged.passRetained(self).toOpaque())
        return UnsafeMutableRawPointer(bitPattern: address | operation.rawValue)
    }

    /// Gives up a tag that the core refused to take.
    static func release(_ tag: UnsafeMutableRawPointer?) {
        _ = take(tag)
    }

    /// Tells the target of a tag that came back.
    static func complete(_ tag: UnsafeMutableRawPointer?, success: Bool) {
        guard let (target, operation) = take(tag) else { return }
        target.completed(operation, success: success)
    }

    private static func take(_ tag: UnsafeMutableRawPointer?) -> (CompletionTarget, Operation)? {
        let bits = UInt(bitPattern: tag)
        guard let operation = Operation(rawValue: bits & mask),
            let object = UnsafeRawPointer(bitPattern: bits & ~mask)
        else { return nil }
        return (Unmanaged<CompletionTarget>.fromOpaque(object).takeRetainedValue(), operation)
    }

    /// Starts a batch under a tag; false if the core refused it, in which case nothing will complete.
    final func start(_ batch: inout cgrpc_batch, on call: OpaquePointer, as operation: Operation) -> grpc_call_error {
        let tag = tag(operation)
        let error = cgrpc_start(call, &batch, tag)
        if error != GRPC_CALL_OK { Self.release(tag) }
        return error
    }
}
