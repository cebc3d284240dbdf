import Testing

@testable import CivilTime

@Suite("Local times of a zone")
struct ZoneOffsetsTests {
    /// Berlin's transitions of 2026, from the tz database.
    private static let spring: Int64 = 1_774_746_000  // 29 March, 01:00 UTC
    private static let autumn: Int64 = 1_792_890_000  // 25 October, 01:00 UTC
    private let berlin = ZoneOffsets { $0 >= spring && $0 < autumn ? 7200 : 3600 }

    private func local(_ text: String) throws -> Int64 { try #require(UTCTime(rfc3339: text + "Z")).seconds }

    @Test("Times before, between and after the transitions")
    func ordinary() throws {
        #expect(berlin.instant(ofLocal: try local("2026-01-15T09:00:00")) == (try local("2026-01-15T08:00:00")))
        #expect(berlin.instant(ofLocal: try local("2026-07-15T09:00:00")) == (try local("2026-07-15T07:00:00")))
        #expect(berlin.instant(ofLocal: try local("2026-03-29T01:59:59")) == Self.spring - 1)
        #expect(berlin.instant(ofLocal: try local("2026-03-29T03:00:00")) == Self.spring)
        #expect(berlin.instant(ofLocal: try local("2026-10-25T03:00:00")) == Self.autumn + 3600)
    }

    @Test("A time that is skipped moves forward, and of one that is shown twice the first counts")
    func transitions() throws {
        #expect(berlin.instant(ofLocal: try local("2026-03-29T02:30:00")) == Self.spring + 1800)
        #expect(berlin.instant(ofLocal: try local("2026-10-25T02:30:00")) == Self.autumn - 1800)
    }

    @Test("Every local minute around the transitions is reached, in order but for the gap")
    func everyMinute() {
        for transition in [Self.spring, Self.autumn] {
            var last = Int64.min
            for minute in -300...300 {
                let local = transition + 7200 + Int64(minute) * 60
                let instant = berlin.instant(ofLocal: local)
                let shown = instant + (instant >= Self.spring && instant < Self.autumn ? 7200 : 3600)
                #expect(shown == local || shown == local + 3600 && transition == Self.spring)
                if transition == Self.autumn { #expect(instant > last) }
                last = instant
            }
        }
    }

    @Test("Extreme numbers are bounded")
    func extremes() {
        #expect(ZoneOffsets { _ in 3600 }.instant(ofLocal: .min) == .min)
        #expect(ZoneOffsets { _ in -3600 }.instant(ofLocal: .max) == .max)
    }
}
