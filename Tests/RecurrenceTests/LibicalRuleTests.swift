import CivilTime
import Foundation
import Recurrence
import Testing

/// The rules of libical's own tests with the occurrences that it expects.
@Suite("Rules of libical")
struct LibicalRuleTests {
    struct Vector: Sendable, CustomTestStringConvertible {
        let rule: String
        let start: RecurrenceMoment
        let expected: String
        let startAt: String?

        var testDescription: String { rule }
    }

    static let vectors: [Vector] = {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Vectors/libical.tsv")
        let text = (try? String(contentsOf: file, encoding: .utf8)) ?? ""
        return text.split(separator: "\n").filter { !$0.hasPrefix("#") }.compactMap { line in
            let cells = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
            guard cells.count == 4, let start = RecurrenceMoment(basic: cells[1]) else { return nil }
            let startAt = cells[3].hasPrefix("START-AT=") ? String(cells[3].dropFirst(9)) : nil
            return Vector(rule: cells[0], start: start, expected: cells[2], startAt: startAt)
        }
    }()

    /// Rules that repeat within a day, which tasks do not have.
    private static func isWithinDay(_ rule: String) -> Bool {
        ["HOURLY", "MINUTELY", "SECONDLY", "BYHOUR", "BYMINUTE", "BYSECOND"].contains { rule.contains($0) }
    }

    /// Where Ferry departs from libical, as python-dateutil does.
    private static let departures: [String: String] = [
        // RFC 5545, section 3.3.10: BYMONTHDAY expands a yearly rule, so it names days of all months. libical takes the
        // month of the start.
        "FREQ=YEARLY;BYMONTHDAY=29;COUNT=3": "20240229,20240329,20240429",
        "FREQ=YEARLY;BYMONTHDAY=-29,-1;COUNT=4": "20240201,20240229,20240303,20240331",
        // Not implemented in libical.
        "FREQ=YEARLY;BYMONTH=12;BYMONTHDAY=30;BYWEEKNO=1;UNTIL=20320101": "20241230,20251230,20301230,20311230",
        // The RFC does not say whether the days of week 1 in December belong to the interval's year or to the next one.
        "FREQ=YEARLY;BYWEEKNO=53;BYDAY=TU,SA;INTERVAL=6;UNTIL=20170101T000000Z": "20100102T000000,20160102T000000",
        "FREQ=YEARLY;BYWEEKNO=53;BYDAY=TU,SA;INTERVAL=5;UNTIL=20170101T000000Z": "20100102T000000,20151229T000000",
        "FREQ=YEARLY;BYWEEKNO=1;BYDAY=MO,TU;INTERVAL=3;UNTIL=20320101":
            "20241231,20270104,20270105,20300101,20301230,20301231",
    ]

    @Test("Each rule of days gives the expected occurrences", arguments: vectors.filter { !isWithinDay($0.rule) })
    func occurrences(_ vector: Vector) throws {
        let rule = try RecurrenceRule(parsing: vector.rule)
        var days = RecurrenceDays(rule, from: vector.start.day)
        let first = vector.startAt.flatMap { RecurrenceMoment(basic: $0) }
        let expected = (Self.departures[vector.rule] ?? vector.expected).split(separator: ",").map(String.init)
            .filter { moment in first.map { moment >= $0.basic } ?? true }
        if let first { days.skip(before: first.day) }
        let found = days.lazy.map { RecurrenceMoment($0, second: vector.start.second, isUTC: vector.start.isUTC).basic }
            .filter { moment in
                if let first, moment < first.basic { return false }
                guard let until = rule.until, until.second != nil else { return true }
                // libical compares a start without a zone with UNTIL in UTC as if it were UTC, too.
                let limit = RecurrenceMoment(until.day, second: until.second).basic
                return moment.filter { $0 != "Z" } <= limit
            }
        #expect(Array(found.prefix(expected.count + 1)) == expected)
    }

    @Test("Rules that repeat within a day are refused", arguments: vectors.filter { isWithinDay($0.rule) })
    func refused(_ vector: Vector) {
        #expect(throws: RecurrenceProblem.self) { try RecurrenceRule(parsing: vector.rule) }
    }

    @Test("All 146 rules are there")
    func count() { #expect(Self.vectors.count == 146) }
}
