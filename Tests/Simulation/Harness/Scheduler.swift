import CSwiftRuntime
import Glibc
package import SystemIO

/// Runs Swift tasks and actors on one thread, in an order drawn from a seed, with a clock that
/// advances only here.
///
/// Swift's runtime passes every job of a task without an executor of its own to a hook. This type
/// sets the hook for the thread that called `run`, and actors get an executor from `environment`.
/// Jobs, timers and due actions of users compete for the next step, so that any interaction of two
/// of them occurs for some seed.
///
/// `@unchecked Sendable`: everything runs on the thread that called `run`.
package final class Scheduler: @unchecked Sendable {
    private struct Job {
        let job: UnownedJob
        /// The executor, or nil for a task without one.
        let executor: Executor?
    }

    private enum Alarm {
        case sleeper(UnsafeContinuation<Void, any Error>)
        case action(() -> Void)
    }

    nonisolated(unsafe) private static var running: Scheduler?

    private var ready: [Job] = []
    private var alarms: [Int: Alarm] = [:]
    private var timetable = Timetable()
    private var lastAlarm = 0
    private var time = Duration.zero
    private let thread = pthread_self()
    package var random: SeededRandom
    package private(set) var jobCount = 0

    package init(seed: UInt64) { random = SeededRandom(seed) }

    package var now: Duration { time }

    /// Returns the environment of a machine, whose clock may show any time.
    package func environment(wallClock: @escaping @Sendable () -> Int64) -> Environment {
        Environment(
            now: { self.time }, sleepUntil: { try await self.sleep(until: $0) }, wallClock: wallClock,
            random: { self.random.next() }, executor: { Executor(self) })
    }

    // MARK: Time

    package func sleep(until deadline: Duration) async throws {
        lastAlarm += 1
        let id = lastAlarm
        try await withTaskCancellationHandler {
            try await withUnsafeThrowingContinuation { (continuation: UnsafeContinuation<Void, any Error>) in
                if Task.isCancelled { return continuation.resume(throwing: CancellationError()) }
                alarms[id] = .sleeper(continuation)
                timetable.insert(deadline, id)
            }
        } onCancel: {
            guard case .sleeper(let continuation)? = alarms.removeValue(forKey: id) else { return }
            continuation.resume(throwing: CancellationError())
        }
    }

    package func sleep(for duration: Duration) async throws { try await sleep(until: time + duration) }

    /// Calls `action` at a time, between two jobs.
    @discardableResult package func at(_ deadline: Duration, _ action: @escaping () -> Void) -> Int {
        lastAlarm += 1
        alarms[lastAlarm] = .action(action)
        timetable.insert(deadline, lastAlarm)
        return lastAlarm
    }

    package func after(_ duration: Duration, _ action: @escaping () -> Void) { at(time + duration, action) }

    package func cancel(_ alarm: Int) { alarms[alarm] = nil }

    // MARK: Running

    /// Runs everything that is due until `deadline`.
    package func run(until deadline: Duration) {
        takingOver {
            while step(until: deadline) {}
            time = max(time, deadline)
        }
    }

    /// Runs until `body` has a result; fails with `Stalled` if nothing is left to do before that.
    package func run<Result: Sendable>(_ body: @escaping @Sendable () async throws -> Result)
        -> Swift.Result<
            Result, any Error
        >
    {
        takingOver {
            let box = Box<Swift.Result<Result, any Error>>()
            Task { box.value = await outcome(of: body) }
            while box.value == nil, step(until: .seconds(1 << 40)) {}
            return box.value ?? .failure(Stalled())
        }
    }

    /// An error: nothing is left to do, but there is no result.
    package struct Stalled: Error {}

    /// Runs `body` with the jobs of this thread scheduled here. Objects that are released inside
    /// must not schedule jobs elsewhere.
    package func takingOver<Result>(_ body: () -> Result) -> Result {
        let before = Self.running
        Self.running = self
        Hook.install
        defer { Self.running = before }
        return body()
    }

    /// Runs one job, timer or action. Returns false if there is none before `deadline`.
    private func step(until deadline: Duration) -> Bool {
        while let first = timetable.first, alarms[first.id] == nil { timetable.removeFirst() }
        if let first = timetable.first, first.time <= (ready.isEmpty ? deadline : time),
            ready.isEmpty || random.chance(30)
        {
            timetable.removeFirst()
            time = max(time, first.time)
            switch alarms.removeValue(forKey: first.id) {
            case .sleeper(let continuation): continuation.resume()
            case .action(let action): action()
            case nil: break
            }
            return true
        }
        guard !ready.isEmpty else { return false }
        var place = ready.count == 1 ? 0 : Int.random(in: 0..<ready.count, using: &random)
        if let executor = ready[place].executor {
            // The jobs of an executor run in the order in which they were enqueued, as on a thread.
            place = ready.firstIndex { $0.executor === executor } ?? place
        }
        let job = ready.remove(at: place)
        jobCount += 1
        time += .microseconds(Int(random.next() % 100))
        if let executor = job.executor {
            job.job.runSynchronously(on: executor.asUnownedSerialExecutor())
        } else {
            job.job.runSynchronously(on: Hook.anywhere)
        }
        return true
    }

    // MARK: Executors

    /// The executor of an actor, which runs one job at a time, in order.
    package final class Executor: SerialExecutor {
        private let scheduler: Scheduler

        init(_ scheduler: Scheduler) { self.scheduler = scheduler }

        package func enqueue(_ job: consuming ExecutorJob) {
            scheduler.ready.append(Job(job: UnownedJob(job), executor: self))
        }

        /// Does nothing, because there is one thread, which runs one job at a time.
        package func checkIsolated() {}
    }

    /// The runtime's hook for jobs that may run anywhere.
    private enum Hook {
        typealias Original = @convention(thin) (UnownedJob) -> Void
        typealias Enqueue = @convention(thin) (UnownedJob, Original) -> Void

        /// The runtime's executor for tasks without one.
        static let anywhere = unsafeBitCast((UInt(0), UInt(0)), to: UnownedSerialExecutor.self)

        static let install: Void = {
            ferry_enqueue_hook().withMemoryRebound(to: Enqueue?.self, capacity: 1) { hook in
                hook.pointee = { job, original in
                    guard let scheduler = Scheduler.running, pthread_equal(scheduler.thread, pthread_self()) != 0 else {
                        return original(job)
                    }
                    scheduler.ready.append(Job(job: job, executor: nil))
                }
            }
        }()
    }

    private final class Box<Value>: @unchecked Sendable {
        var value: Value?
    }
}

private func outcome<Value>(of body: () async throws -> Value) async -> Result<Value, any Error> {
    do { return .success(try await body()) } catch { return .failure(error) }
}

/// A binary heap of alarms by time, and by creation for the same time.
struct Timetable {
    private var heap: [(time: Duration, id: Int)] = []

    var first: (time: Duration, id: Int)? { heap.first }

    mutating func insert(_ time: Duration, _ id: Int) {
        heap.append((time, id))
        var child = heap.count - 1
        while child > 0, heap[child] < heap[(child - 1) / 2] {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    mutating func removeFirst() {
        guard let last = heap.popLast(), !heap.isEmpty else { return }
        heap[0] = last
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count && heap[child] < heap[least] {
                least = child
            }
            if least == parent { return }
            heap.swapAt(parent, least)
            parent = least
        }
    }
}

/// SplitMix64, with which a run can be repeated from its seed.
package struct SeededRandom: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(_ seed: UInt64) {
        // Mix the seed first; otherwise the streams of consecutive seeds would be the same, shifted
        // by one.
        state = seed
        state = next()
    }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    package mutating func chance(_ percent: Int) -> Bool { next() % 100 < UInt64(percent) }

    package mutating func below(_ limit: Int) -> Int { limit <= 1 ? 0 : Int(next() % UInt64(limit)) }

    package mutating func pick<Element>(_ elements: [Element]) -> Element? {
        elements.isEmpty ? nil : elements[below(elements.count)]
    }

    package mutating func milliseconds(_ range: ClosedRange<Int>) -> Duration {
        .milliseconds(range.lowerBound + below(range.count))
    }
}
