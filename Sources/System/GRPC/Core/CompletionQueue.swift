import CGRPC
import Glibc
import Synchronization

/// A queue of the core and the threads that poll it: the threads do the network's reading and resume whoever waits.
///
/// The queue is shut down when the last reference goes. Everything that can start an operation on it must hold one,
/// because the core aborts the process when an operation is started on a queue that is shut down.
///
/// Sendable because the queue pointer is constant and the core's functions on it may be called from any thread.
final class CompletionQueue: @unchecked Sendable {
    let queue: OpaquePointer

    /// - Parameter readsNetwork: false for a queue that only hands out what threads of other queues have read.
    init(threads: Int, readsNetwork: Bool = true) {
        Core.start()
        if readsNetwork {
            queue = grpc_completion_queue_create_for_next(nil)
        } else {
            var attributes = grpc_completion_queue_attributes()
            attributes.version = GRPC_CQ_CURRENT_VERSION
            attributes.cq_completion_type = GRPC_CQ_NEXT
            attributes.cq_polling_type = GRPC_CQ_NON_POLLING
            queue = grpc_completion_queue_create(
                grpc_completion_queue_factory_lookup(&attributes), &attributes, nil)
        }
        let poller = Poller(queue: queue, threads: max(threads, 1))
        for _ in 0..<max(threads, 1) { poller.startThread() }
    }

    deinit { grpc_completion_queue_shutdown(queue) }

    /// The queue that all channels of the process share.
    static func shared() -> CompletionQueue {
        current.withLock { current in
            if let queue = current.value { return queue }
            let queue = CompletionQueue(threads: 1)
            current.value = queue
            return queue
        }
    }

    private struct Weak { weak var value: CompletionQueue? }

    private static let current = Mutex(Weak())
}

/// The threads of one queue. They hold the pointer and not the `CompletionQueue`, so that its last reference may go on
/// a polling thread; whichever thread ends last destroys the queue.
private final class Poller: @unchecked Sendable {
    // Sendable because the pointer is constant and the count is atomic.
    private let queue: OpaquePointer
    private let running: Atomic<Int>

    init(queue: OpaquePointer, threads: Int) {
        self.queue = queue
        running = Atomic(threads)
    }

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
        if running.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 {
            grpc_completion_queue_destroy(queue)
        }
    }
}
