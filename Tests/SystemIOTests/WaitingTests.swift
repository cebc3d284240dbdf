import Glibc
import SystemIO
import SystemTestKit
import Testing

@Suite(.timeLimit(.minutes(1)))
struct WaitingTests {
    let temporary: TemporaryDirectory
    var root: Directory { temporary.directory }

    init() throws { temporary = try TemporaryDirectory() }

    @Test func `a rename is two events with one cookie`() async throws {
        let inotify = try Inotify()
        let watch = try inotify.watch(root, for: [.created, .movedFrom, .movedTo, .closedAfterWriting, .deleted])
        #expect(try inotify.read().isEmpty)
        try root.open("a", [.write, .create]).close()
        try root.rename("a", to: "b")
        try root.makeDirectory("sub")
        let events = try await events(of: inotify)
        #expect(events.map(\.mask) == [.created, .closedAfterWriting, .movedFrom, .movedTo, [.created, .directory]])
        #expect(events.map(\.name) == ["a", "a", "a", "b", "sub"])
        #expect(events.allSatisfy { $0.watch == watch && !$0.isInvalidName })
        #expect(events[2].cookie != 0 && events[2].cookie == events[3].cookie)
    }

    @Test func `a waiting reader wakes up for an event`() async throws {
        let inotify = try Inotify()
        _ = try inotify.watch(root, for: [.created])
        async let next = events(of: inotify)
        try root.makeDirectory("later")
        #expect(try await next.map(\.name) == ["later"])
    }

    @Test func `a cancelled wait ends`() async throws {
        let inotify = try Inotify()
        let waiting = Task { try await events(of: inotify) }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { _ = try await waiting.value }
        _ = try inotify.watch(root, for: [.created])
        try root.makeDirectory("a")
        #expect(try await events(of: inotify).count == 1)
    }

    @Test func `a name that is not text is returned escaped`() async throws {
        let inotify = try Inotify()
        _ = try inotify.watch(root, for: [.created])
        let name: [CChar] = [0x61, -2, 0]
        #expect(mkdirat(root.descriptor.rawValue, name, 0o700) == 0)
        let event = try #require(try await events(of: inotify).first)
        #expect(event.name == "a\\xfe" && event.isInvalidName)
    }

    @Test func `too many unread changes are reported as an overflow`() async throws {
        let root = try TemporaryDirectory(isLarge: true)
        let inotify = try Inotify()
        _ = try inotify.watch(root.directory, for: [.created, .deleted])
        let limit = Int(
            String(decoding: try FileSystem.read("/proc/sys/fs/inotify/max_queued_events"), as: UTF8.self).dropLast())
        for _ in 0...((limit ?? 16384) / 2) {
            try root.directory.makeDirectory("x")
            try root.directory.removeDirectory("x")
        }
        var last: InotifyEvent?
        while let event = try inotify.read().last { last = event }
        #expect(last == InotifyEvent(watch: -1, mask: .overflow))
    }

    @Test func `signals arrive as values`() async throws {
        let signals = try SignalEvents([.user1, .user2])
        let iterator = signals.makeAsyncIterator()
        kill(getpid(), SIGUSR1)
        #expect(try await iterator.next() == .user1)
        async let next = iterator.next()
        kill(getpid(), SIGUSR2)
        #expect(try await next == .user2)
    }
}

private func events(of inotify: Inotify) async throws -> [InotifyEvent] {
    try await inotify.wait()
    return try inotify.read()
}
