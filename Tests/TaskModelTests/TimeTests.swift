import DocumentModel
import TaskModel
import Testing

@Suite struct TimeTests {
    @Test func `every day from year 1 to 9999 has one number and comes back`() throws {
        var next = try #require(CivilDate(year: 1, month: 1, day: 1)).daysSinceEpoch
        for year in stride(from: 1, through: 9999, by: 7) {
            let first = try #require(CivilDate(year: year, month: 1, day: 1))
            #expect(first.daysSinceEpoch >= next)
            next = first.daysSinceEpoch
            for day in 0..<400 {
                guard let date = CivilDate(daysSinceEpoch: next + day) else { continue }
                #expect(date.daysSinceEpoch == next + day)
            }
        }
        #expect(CivilDate(daysSinceEpoch: 2_932_896)?.description == "9999-12-31")
        #expect(CivilDate(daysSinceEpoch: 2_932_897) == nil)
        #expect(CivilDate(daysSinceEpoch: -719_163) == nil)
        #expect(CivilDate(year: 1970, month: 1, day: 1)?.daysSinceEpoch == 0)
        #expect(CivilDate(year: 2000, month: 2, day: 29)?.daysSinceEpoch == 11_016)
    }

    @Test(arguments: [
        (2026, 2, 29), (2026, 13, 1), (2026, 0, 1), (2026, 4, 31), (1900, 2, 29), (0, 1, 1), (2026, 8, 220),
    ])
    func `days that do not exist are refused`(year: Int, month: Int, day: Int) {
        #expect(CivilDate(year: year, month: month, day: day) == nil)
    }

    @Test(
        arguments: [
            ("1970-01-01T00:00:00Z", 0), ("2026-11-30T17:00:00+01:00", 1_796_054_400_000_000),
            ("1969-12-31T23:59:59.999999Z", -1), ("2026-11-30T16:00:00.25Z", 1_796_054_400_250_000),
            ("2026-11-30t16:00Z", 1_796_054_400_000_000), ("0001-01-01T00:00:00Z", -62_135_596_800_000_000),
            ("2026-11-30 10:30:00.1234567-0530", 1_796_054_400_123_456),
        ] as [(String, Int64)])
    func `instants are read to the microsecond`(text: String, microseconds: Int64) {
        #expect(Timestamp(rfc3339: text)?.microseconds == microseconds)
    }

    @Test(arguments: [
        "", "2026-11-30", "2026-11-30T17:00", "2026-11-30T24:00Z", "2026-11-30T17:60Z", "2026-11-30T17:00:60Z",
        "2026-11-30T17:00:00.Z", "2026-11-30T17:00Zx", "2026-11-30T17:00+24:00", "2026-1-30T17:00Z",
        "+026-11-30T17:00Z",
        "0001-01-01T00:00+01:00", "9999-12-31T23:59-01:00", "٢٠٢٦-11-30T17:00Z", "2026-11-30X17:00Z",
    ])
    func `text that is not an instant is rejected`(text: String) {
        #expect(Timestamp(rfc3339: text) == nil)
    }

    @Test(arguments: 0..<4 as Range<UInt64>)
    func `times come back from their text`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<2000 {
            let time = Timestamp(
                microseconds: .random(in: -62_135_596_800_000_000...253_402_300_799_999_999, using: &random))
            #expect(Timestamp(rfc3339: time.rfc3339) == time, "seed \(seed): \(time.microseconds)")
        }
        #expect(Timestamp(microseconds: .max).rfc3339 == "9999-12-31T23:59:59.999999Z")
        #expect(Timestamp(microseconds: .min).rfc3339 == "0001-01-01T00:00:00Z")
    }

    @Test(arguments: [
        ("2025-12-31", Due.Kind.date, "2025-12-31T00:00:00Z"), ("2025-12-31T17:00", .localTime, "2025-12-31T17:00:00Z"),
        ("2025-12-31 17:00:30", .localTime, "2025-12-31T17:00:30Z"),
        ("2026-11-30T17:00+01:00", .instant, "2026-11-30T16:00:00Z"),
        ("2026-11-30T16:00Z", .instant, "2026-11-30T16:00:00Z"),
    ])
    func `a due is a date, a local time or an instant`(text: String, kind: Due.Kind, stored: String) throws {
        let due = try #require(Due(parsing: text))
        #expect(due.kind == kind)
        #expect(due.text == text)
        #expect(due.timestamp.rfc3339 == stored)
        #expect(due.hasTime == (kind != .date))
    }

    @Test(arguments: ["soon", "2026-08-220", "2026-13-01", "tomorrow 2026-01-01", "2026", " 2026-01-01", "12:30"])
    func `other words are not a due time`(text: String) {
        #expect(Due(parsing: text) == nil)
    }

    @Test func `a stored due is written in UTC`() {
        let time = Timestamp(microseconds: 1_796_054_400_000_000)
        #expect(Due(timestamp: time, hasTime: true).text == "2026-11-30T16:00Z")
        #expect(Due(timestamp: time, hasTime: false).text == "2026-11-30")
        #expect(Due(timestamp: Timestamp(microseconds: 1), hasTime: true).text == "1970-01-01T00:00:00.000001Z")
        #expect(Due(timestamp: Timestamp(microseconds: .max), hasTime: true).text == "9999-12-31T23:59:59.999999Z")
    }
}
