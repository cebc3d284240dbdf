import Glibc
import Synchronization
import SystemIO
import Testing

@testable import SystemService

@Suite(.timeLimit(.minutes(1)), .serialized)
struct ServiceGroupTests {
    struct Failure: Error {}

    /// The events in order, which a test can wait for.
    final class Diary: Sendable {
        private let entries = Mutex<[String]>([])
        private let stream: AsyncStream<String>
        private let post: AsyncStream<String>.Continuation

        init() { (stream, post) = AsyncStream<String>.makeStream() }

        func note(_ entry: String) {
            entries.withLock { $0.append(entry) }
            post.yield(entry)
        }

        func wait(for entry: String) async {
            for await next in stream where next == entry { return }
        }

        var all: [String] { entries.withLock { $0 } }
    }

    struct Recorded: Service {
        var name: String
        var diary: Diary
        var body: @Sendable () async throws -> Void = { await GracefulStop.wait() }

        func run() async throws {
            diary.note("\(name) started")
            defer { diary.note("\(name) ended") }
            try await body()
        }
    }

    let diary = Diary()

    private func member(
        _ name: String, limit: Duration = .seconds(30), mayFinish: Bool = false,
        _ body: @escaping @Sendable () async throws -> Void = { await GracefulStop.wait() }
    ) -> ServiceGroup.Member {
        .init(
            name, Recorded(name: name, diary: diary, body: body), stopLimit: limit, mayFinish: mayFinish)
    }

    @Test func `a signal stops the services in reverse order`() async throws {
        let group = ServiceGroup([member("a"), member("b"), member("c")])
        let signals = try SignalEvents([.terminate])
        async let run: Void = group.run(signals: signals)
        for _ in 0..<1 { await diary.wait(for: "c started") }
        kill(getpid(), SIGTERM)
        try await run
        #expect(diary.all.suffix(3) == ["c ended", "b ended", "a ended"])
    }

    @Test func `the failure of one stops the others and is thrown with its name`() async throws {
        let group = ServiceGroup([member("a"), member("b") { throw Failure() }])
        let error = await #expect(throws: ServiceGroupError.self) { try await group.run(signals: nil) }
        #expect(error?.service == "b" && error?.cause is Failure)
        #expect(diary.all.last == "a ended")
    }

    @Test func `a service that returns too early is a failure unless it may`() async throws {
        let group = ServiceGroup([member("a"), member("b") {}])
        let error = await #expect(throws: ServiceGroupError.self) { try await group.run(signals: nil) }
        #expect(error?.service == "b" && error?.cause == nil)
        try await ServiceGroup([member("c", mayFinish: true) {}]).run(signals: nil)
    }

    @Test func `cancelling the group is a graceful stop of its services`() async throws {
        let group = ServiceGroup([
            member("a") { [diary] in
                await GracefulStop.wait()
                diary.note("cancelled: \(Task.isCancelled)")
            }
        ])
        let run = Task { try await group.run(signals: nil) }
        await diary.wait(for: "a started")
        run.cancel()
        try await run.value
        #expect(diary.all == ["a started", "cancelled: false", "a ended"])
    }

    @Test(arguments: [Duration.zero, .milliseconds(1)])
    func `a service that does not heed the stop is cancelled at its limit`(limit: Duration) async throws {
        let group = ServiceGroup([
            member("a"), member("b", limit: limit) { try await Task.sleep(for: .seconds(1000)) },
        ])
        let run = Task { try await group.run(signals: nil) }
        await diary.wait(for: "b started")
        run.cancel()
        try await run.value
        #expect(diary.all.suffix(2) == ["b ended", "a ended"])
    }

    @Test func `a service that ignores its cancellation is named`() async throws {
        let (released, release) = AsyncStream<Never>.makeStream()
        let diary = diary
        let stuck = member("a", limit: .zero) {
            // Detached, so that the cancellation does not reach it.
            await Task.detached { for await _ in released {} }.value
        }
        let group = ServiceGroup([stuck], cancelLimit: .milliseconds(1)) { name in
            diary.note("stuck \(name)")
            release.finish()
        }
        let run = Task { try await group.run(signals: nil) }
        await diary.wait(for: "a started")
        run.cancel()
        try await run.value
        #expect(diary.all == ["a started", "stuck a", "a ended"])
    }

    @Test func `a stop that takes too long names the services that are still running`() async throws {
        let (released, release) = AsyncStream<Never>.makeStream()
        let diary = diary
        let activity = Activity(now: { .zero })
        let part = activity.begin("the disk")
        var stuck = member("a", limit: .milliseconds(1)) {
            await Task.detached { for await _ in released {} }.value
        }
        stuck.waitsFor = { activity.summary }
        let logger = Logger(label: "test", level: .debug) { diary.note($0.line) }
        let group = ServiceGroup([stuck], logger: logger, cancelLimit: .milliseconds(1)) { _ in release.finish() }
        let run = Task { try await group.run(signals: nil) }
        await diary.wait(for: "a started")
        run.cancel()
        try await run.value
        #expect(diary.all.filter { $0.contains("the disk (0 s)") }.count == 2)
        activity.end(part)
        #expect(activity.summary == nil)
    }

    @Test func `a second signal does not wait for the services`() async throws {
        let diary = diary
        let slow = member("slow") {
            await GracefulStop.wait()
            diary.note("asked")
            try await Task.sleep(for: .seconds(1000))
        }
        let signals = try SignalEvents([.interrupt])
        async let run: Void = ServiceGroup([slow]).run(signals: signals)
        await diary.wait(for: "slow started")
        kill(getpid(), SIGINT)
        await diary.wait(for: "asked")
        kill(getpid(), SIGINT)
        try await run
    }

    @Test func `a hangup reloads and notifies the supervisor`() async throws {
        let told = SupervisorTests.Sent()
        let diary = diary
        let group = ServiceGroup([member("a")], supervisor: told.supervisor(), onReload: { diary.note("reloaded") })
        let signals = try SignalEvents([.hangup, .terminate])
        async let run: Void = group.run(signals: signals)
        await diary.wait(for: "a started")
        kill(getpid(), SIGHUP)
        await diary.wait(for: "reloaded")
        kill(getpid(), SIGTERM)
        try await run
        let fields = told.messages.withLock { $0 }.flatMap { $0.split(separator: "\n") }
        #expect(fields.filter { !$0.hasPrefix("MONOTONIC") } == ["RELOADING=1", "READY=1", "STOPPING=1"])
    }
}
