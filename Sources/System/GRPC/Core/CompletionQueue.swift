import CGRPC
import Glibc
import Synchronization

/// A queue of the core and the thread that polls it: the thread does the network's reading and resumes whoever waits.
///
/// The queue is shut down when the last reference goes. Everything that can start an operation on it must hold one,
/// because the core aborts the process when an operation is started on a queue that is shut down.
///
/// Sendable because the queue pointer is constant and the core's functions on it may be called from any thread.
final class CompletionQueue: @unchecked Sendable {
    let queue: OpaquePointer

    private init() {
        Core.start()
        queue = grpc_completion_queue_create_for_next(nil)
        Poller(queue: queue).startThread()
    }

    deinit { grpc_completion_queue_shutdown(queue) }

    /// The queue that all channels of the process share.
    static func shared() -> CompletionQueue {
        current.withLock { current in
            if let queue = current.value { return queue }
            let queue = CompletionQueue()
            current.value = queue
            return queue
        }
    }

    private struct Weak { weak var value: CompletionQueue? }

    private static let current = Mutex(Weak())
}

/// The thread of a queue. It holds the pointer and not the `CompletionQueue`, so that its last reference may go on the
/// polling thread, and destroys the queue when it ends.
private final class Poller: @unchecked Sendable {
    // Sendable because the pointer is constant.
    private let queue: OpaquePointer

    init(queue: OpaquePointer) { self.queue = queue }

    func startThread() {
        var thread = pthread_t()
        let poller = Unmanaged.passRetained(self)
        let error = pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                Unmanaged<Poller>.fromOpaque(argument).takeRetainedValue().run()
                return nil
            }, poller.toOpaque())
        // A process that may not start threads cannot run Swift's own either.
        precondition(error == 0, "cannot start a polling thread: error \(error)")
        pthread_detach(thread)
    }

    private func run() {
        cgrpc_name_this_thread("grpc-poll")
        let forever = gpr_inf_future(GPR_CLOCK_REALTIME)
        while true {
            let event = grpc_completion_queue_next(queue, forever, nil)
            if event.type == GRPC_OP_COMPLETE {
                CompletionTarget.complete(event.tag, success: event.success != 0)
            } else if event.type == GRPC_QUEUE_SHUTDOWN {
                break
            }
        }
        grpc_completion_queue_destroy(queue)
    }
}
