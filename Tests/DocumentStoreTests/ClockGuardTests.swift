import DocumentModel
import FirestoreProtocol
import SQLite
import Synchronization
import Testing

@testable import DocumentStore

struct ClockGuardTests {
    private static let day = ClockGuard.day
    private static let hour = ClockGuard.confirmation
    /// The time of 28 November 2026.
    private static let now: Int64 = 1_795_824_000_000_000

    /// The time of the system's clock at an uptime, and the expected result.
    private struct Look {
        var uptime: Int64
        var wall: Int64
        var time: Int64
        var news: ClockNews?

        init(_ uptime: Int64, wall: Int64, time: Int64, _ news: ClockNews? = nil) {
            (self.uptime, self.wall, self.time, self.news) = (uptime, wall, time, news)
        }
    }

    private func expect(_ looks: [Look], newest: Int64 = now) {
        var clock = ClockGuard(wall: Self.now, uptime: 0)
        var newest = newest
        for look in looks {
            let (time, news) = clock.time(wall: look.wall, uptime: look.uptime, newest: newest)
            #expect(time == look.time && news == look.news, "at \(look.uptime)")
            newest = max(newest, time)
        }
    }

    @Test func `the clock is followed, and a suspended machine's, too`() {
        let (now, day) = (Self.now, Self.day)
        expect([
            Look(5, wall: now + 7, time: now + 7), Look(10, wall: now - 100, time: now - 100),
            Look(20, wall: now + 31 * day, time: now + 31 * day), Look(30, wall: now + 60 * day, time: now + 60 * day),
        ])
    }

    @Test func `a second in 2070 does not count`() {
        let (now, day) = (Self.now, Self.day)
        let jump = 43 * 365 * day
        expect([
            Look(10, wall: now + jump, time: now + 10, .jumped(jump - 10)),
            Look(1_000_000, wall: now + jump + 1_000_000, time: now + 1_000_000),
            Look(2_000_000, wall: now + 2_000_000, time: now + 2_000_000, .isBack),
            Look(3_000_000, wall: now + 3_000_000, time: now + 3_000_000),
        ])
    }

    @Test func `a jump that stays for an hour counts, one of years does not`() {
        let (now, day, hour) = (Self.now, Self.day, Self.hour)
        for (jump, counts) in [(100 * day, true), (2000 * day, false)] {
            expect([
                Look(0, wall: now + jump, time: now, .jumped(jump)),
                Look(hour - 1, wall: now + jump + hour - 1, time: now + hour - 1),
                Look(
                    hour, wall: now + jump + hour, time: counts ? now + jump + hour : now + hour,
                    counts ? .accepted : nil),
            ])
        }
    }

    @Test func `a clock that was behind may always advance to the commits' times`() {
        let (now, day) = (Self.now, Self.day)
        var clock = ClockGuard(wall: 5, uptime: 0)
        let (time, news) = clock.time(wall: now + day, uptime: 7, newest: now)
        #expect(time == now + day && news == nil)
    }

    @Test(
        arguments: [
            (now, 0, true), (now, now, true), (now + 366 * day, now, true), (now + 367 * day, now, false),
            (0, now, true),
            (.max, .min, true), (.max, 1, false),
        ] as [(Int64, Int64, Bool)])
    func `a start more than a year after the newest commit needs confirmation`(
        wall: Int64, newest: Int64, isPlausible: Bool
    ) {
        #expect(ClockGuard.isPlausible(wall: wall, newest: newest) == isPlausible)
    }

    private final class HandClock: Sendable {
        let wall = Mutex<Int64>(now)
        let uptime = Mutex<Int64>(0)
        let news = Mutex<[ClockNews]>([])

        func configuration(retention: Duration = .seconds(3600)) -> SQLiteDocumentStore.Configuration {
            var configuration = SQLiteDocumentStore.Configuration()
            configuration.retention = retention
            configuration.now = { self.wall.withLock { $0 } }
            configuration.uptime = { self.uptime.withLock { $0 } }
            configuration.onClockNews = { news in self.news.withLock { $0.append(news) } }
            return configuration
        }
    }

    private func name(_ id: Int) throws -> DocumentName {
        try DocumentName(database: TemporaryStore.database, path: "tasks/\(id)")
    }

    /// Changes a document, each time to a new value.
    private func commit(_ store: SQLiteDocumentStore) async throws -> Timestamp {
        let number = try await store.get(try name(1))?.fields.decoded()["n"]?.integerValue ?? 0
        return try await store.commit([Write(.update(try name(1), fields: ["n": .integer(number + 1)]))]).commitTime
    }

    @Test func `commit times do not follow a jump, and opening years later needs confirmation`() async throws {
        let temporary = try TemporaryStore()
        let clock = HandClock()
        var store = try await temporary.open(clock.configuration())
        _ = try await commit(store)
        clock.wall.withLock { $0 += 43 * 365 * Self.day }
        #expect(try await commit(store).microseconds < Self.now + Self.day)
        #expect(clock.news.withLock { $0.count } == 1)
        await store.close()
        await #expect {
            _ = try await temporary.open(clock.configuration())
        } throws: { "\($0)".contains("--accept-clock") }
        var configuration = clock.configuration()
        configuration.acceptsClock = true
        store = try await temporary.open(configuration)
        #expect(try await commit(store).microseconds > Self.now + 365 * Self.day)
        await store.close()
    }

    private func changes(_ temporary: TemporaryStore) throws -> Int {
        let sqlite = try SQLiteDatabase(path: temporary.path)
        defer { sqlite.close() }
        return try sqlite.first("SELECT count(*) FROM change") { $0.int(0) } ?? 0
    }

    /// Creates a store whose commits are in 2070, like those of an older version.
    private func jumped(_ temporary: TemporaryStore, _ clock: HandClock) async throws {
        var configuration = clock.configuration()
        configuration.uptime = nil
        let store = try await temporary.open(configuration)
        _ = try await commit(store)
        clock.wall.withLock { $0 += 43 * 365 * Self.day }
        _ = try await commit(store)
        clock.wall.withLock { $0 = Self.now + 1_000_000 }
        _ = try await store.commit([Write(.update(try name(2), fields: [:]))])
        await store.close()
    }

    @Test func `the log is pruned by the time of receipt where commits are ahead`() async throws {
        let temporary = try TemporaryStore()
        let clock = HandClock()
        try await jumped(temporary, clock)
        let store = try await temporary.open(clock.configuration())
        #expect(store.leadOfCommits.map { $0 > .seconds(42 * 365 * 86_400) } == true)
        var most = 0
        for _ in 0..<20 {
            for _ in 0..<10 { _ = try await commit(store) }
            clock.wall.withLock { $0 += 900_000_000 }
            clock.uptime.withLock { $0 += 900_000_000 }
            most = max(most, try changes(temporary))
        }
        // Commits of more than four hours that are within the retention of one.
        #expect(most > 40)
        #expect(try changes(temporary) < 80, "\(most)")
        #expect(try await store.check().contains { $0.contains("repair-clock") })
        await store.close()
    }

    @Test func `a repaired clock gives commits times before now, in their order`() async throws {
        let temporary = try TemporaryStore()
        let clock = HandClock()
        try await jumped(temporary, clock)
        let now = Self.now + 2_000_000
        let count = try temporary.file.repairClock(now: now)
        #expect(count >= 2)
        clock.wall.withLock { $0 = now }
        let store = try await temporary.open(clock.configuration())
        let documents = try await store.get([try name(1), try name(2)], at: .strong).documents
        let times = documents.compactMap { $0?.updateTime.microseconds }
        #expect(times.count == 2 && times[0] < times[1] && times[1] < now && times[0] > Self.now)
        #expect(try await commit(store).microseconds >= now)
        #expect(store.leadOfCommits == nil)
        let problems = try await store.check()
        #expect(problems.allSatisfy { $0.contains("ahead of the clock") }, "\(problems)")
        await store.close()
        #expect(try temporary.file.repairClock(now: .max / 2) == 0)
    }
}
