import Synchronization

/// A queue that sends requests in groups. A request that arrives alone is sent at once; requests
/// that arrive while `width` groups are in flight wait and form the next group.
final class RequestBatcher<Request: Sendable, Answer: Sendable>: Sendable {
    /// Sends a group of requests. Returns the results in the order of the requests.
    typealias Send = @Sendable ([Request]) async -> [Result<Answer, any Error>]

    private struct Waiting {
        let id: Int
        let request: Request
        let done: CheckedContinuation<Answer, any Error>
    }

    /// A group of requests in flight.
    private struct Group {
        /// The members in the order of their requests. The continuation is nil if the request was
        /// cancelled.
        var members: [(id: Int, done: CheckedContinuation<Answer, any Error>?)]
        var task: Task<Void, Never>?

        var isWanted: Bool { members.contains { $0.done != nil } }
    }

    private struct State {
        var waiting: [Waiting] = []
        var groups: [Int: Group] = [:]
        var nextID = 0
        /// The requests that were cancelled before they were enqueued.
        var cancelled: Set<Int> = []

        mutating func makeID() -> Int {
            defer { nextID += 1 }
            return nextID
        }
    }

    /// The maximum number of groups in flight: while one is transferred, the next is prepared.
    private let width = 2
    private let byteLimit: Int
    private let byteCount: @Sendable (Request) -> Int
    private let state = Mutex(State())

    /// Creates a queue.
    ///
    /// - Parameters:
    ///   - byteLimit: The maximum sum of the byte counts of a group with more than one request.
    ///   - byteCount: Returns the size of a request.
    init(byteLimit: Int, byteCount: @escaping @Sendable (Request) -> Int) {
        self.byteLimit = byteLimit
        self.byteCount = byteCount
    }

    /// The number of requests that are not sent yet.
    var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Sends a request with the next group and returns its result. A cancelled request throws at
    /// once; its group continues for the other members, if there are any.
    ///
    /// - Parameter send: Sends a group. It must be the same in each call.
    func run(_ request: Request, by send: @escaping Send) async throws -> Answer {
        let id = state.withLock { $0.makeID() }
        // A cancellation that comes too late leaves an entry.
        defer { _ = state.withLock { $0.cancelled.remove(id) } }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { done in
                let isCancelled = state.withLock { state in
                    if state.cancelled.remove(id) != nil { return true }
                    state.waiting.append(Waiting(id: id, request: request, done: done))
                    return false
                }
                if isCancelled { done.resume(throwing: CancellationError()) } else { sendNext(by: send) }
            }
        } onCancel: {
            cancel(id)
        }
    }

    private func sendNext(by send: @escaping Send) {
        while let (id, requests) = state.withLock({ takeGroup(&$0) }) {
            // The task ends with its requests; `cancel` cancels it if all of them were cancelled.
            let task = Task {
                let results = await send(requests)
                finish(id, results)
                sendNext(by: send)
            }
            let isWanted = state.withLock { state in
                state.groups[id]?.task = task
                return state.groups[id]?.isWanted ?? true
            }
            if !isWanted { task.cancel() }
        }
    }

    private func takeGroup(_ state: inout State) -> (id: Int, requests: [Request])? {
        guard !state.waiting.isEmpty, state.groups.count < width else { return nil }
        var bytes = 0
        let count = state.waiting.prefix {
            bytes += byteCount($0.request)
            return bytes <= byteLimit
        }.count
        let members = state.waiting.prefix(max(1, count))
        state.waiting.removeFirst(members.count)
        let id = state.makeID()
        state.groups[id] = Group(members: members.map { ($0.id, $0.done) }, task: nil)
        return (id, members.map(\.request))
    }

    private func finish(_ id: Int, _ results: [Result<Answer, any Error>]) {
        guard let group = state.withLock({ $0.groups.removeValue(forKey: id) }) else { return }
        for (member, result) in zip(group.members, results) { member.done?.resume(with: result) }
    }

    private func cancel(_ id: Int) {
        typealias Found = (done: CheckedContinuation<Answer, any Error>?, task: Task<Void, Never>?)
        let (done, task) = state.withLock { state -> Found in
            if let index = state.waiting.firstIndex(where: { $0.id == id }) {
                return (state.waiting.remove(at: index).done, nil)
            }
            for (group, value) in state.groups {
                guard let index = value.members.firstIndex(where: { $0.id == id }) else { continue }
                let done = value.members[index].done
                state.groups[group]?.members[index].done = nil
                let isWanted = state.groups[group]?.isWanted ?? true
                return (done, isWanted ? nil : value.task)
            }
            state.cancelled.insert(id)
            return (nil, nil)
        }
        done?.resume(throwing: CancellationError())
        task?.cancel()
    }
}
