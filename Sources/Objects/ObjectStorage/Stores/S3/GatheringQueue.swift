import Synchronization

/// Gathers requests that come at the same time, so that they travel together: one that meets no others goes at once; what comes while
/// `width` groups are under way waits for the next.
final class GatheringQueue<Request: Sendable, Answer: Sendable>: Sendable {
    /// Sends a group, and answers each of its requests, in their order.
    typealias Send = @Sendable ([Request]) async -> [Result<Answer, any Error>]

    private struct Waiting {
        let id: Int
        let request: Request
        let done: CheckedContinuation<Answer, any Error>
    }

    /// Requests under way together.
    private struct Group {
        /// In their order; nil for those that were cancelled.
        var members: [(id: Int, done: CheckedContinuation<Answer, any Error>?)]
        var task: Task<Void, Never>?

        var isWanted: Bool { members.contains { $0.done != nil } }
    }

    private struct State {
        var waiting: [Waiting] = []
        var groups: [Int: Group] = [:]
        var nextID = 0
        /// Cancelled before they came to wait.
        var cancelled: Set<Int> = []

        mutating func makeID() -> Int {
            defer { nextID += 1 }
            return nextID
        }
    }

    /// Groups under way at once: while one travels, the next is made.
    private let width = 2
    private let byteLimit: Int
    private let byteCount: @Sendable (Request) -> Int
    private let state = Mutex(State())

    /// - Parameters:
    ///   - byteLimit: of a group, where it has more than one request.
    ///   - byteCount: what a request counts for.
    init(byteLimit: Int, byteCount: @escaping @Sendable (Request) -> Int) {
        self.byteLimit = byteLimit
        self.byteCount = byteCount
    }

    /// Requests that travel with the next groups.
    var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Returns the answer to a request, or throws why there is none. One that is cancelled throws at once; its group goes on for the
    /// others, if there are any.
    ///
    /// - Parameter send: the same at each call.
    func run(_ request: Request, by send: @escaping Send) async throws -> Answer {
        let id = state.withLock { $0.makeID() }
        // A cancellation that comes late leaves a mark that nobody will look for.
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
            // Ends with the request, which `cancel` ends where nobody waits for it any more.
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
