import Foundation
import Testing

@testable import CivilTime

/// Serialized, because the C library's time zone belongs to the process.
@Suite(.serialized) struct ZoneFileTests {
    /// The C library reads the same files.
    @Test func `all zones of this machine have the offsets of the C library`() throws {
        let root = "/usr/share/zoneinfo"
        let names = try #require(FileManager.default.enumerator(atPath: root)).compactMap { $0 as? String }
        let before = ProcessInfo.processInfo.environment["TZ"]
        defer {
            if let before { setenv("TZ", before, 1) } else { unsetenv("TZ") }
            tzset()
        }
        var count = 0
        for name in names where !name.hasPrefix("right/") {
            guard let data = FileManager.default.contents(atPath: "\(root)/\(name)"),
                data.starts(with: Array("TZif".utf8))
            else { continue }
            let zone = try #require(ZoneFile([UInt8](data)), "\(name)")
            setenv("TZ", ":\(name)", 1)
            tzset()
            count += 1
            // Each 12 hours and 13 minutes from 2024 to 2040, when rules follow the table, and far away.
            for time in Array(stride(from: 1_704_067_200, to: 2_208_988_800, by: 43_980)) + [
                -3_000_000_000, 0, 16_725_225_600,
            ] {
                var (seconds, parts) = (time_t(time), tm())
                localtime_r(&seconds, &parts)
                guard zone.offset(at: Int64(time)) == Int64(parts.tm_gmtoff) else {
                    Issue.record("\(name) at \(time): \(zone.offset(at: Int64(time))), not \(parts.tm_gmtoff)")
                    break
                }
            }
        }
        #expect(count > 300)
    }

    @Test(arguments: [
        ("CET-1CEST,M3.5.0,M10.5.0/3", [7200, 3600]), ("EST5EDT,M3.2.0,M11.1.0", [-14_400, -18_000]),
        ("<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", [37_800, 39_600]), ("<-03>3", [-10_800, -10_800]),
        ("IST-2IDT,M3.4.4/26,M10.5.0", [10_800, 7200]), ("AAA0BBB,J60/0,J365/23", [3600, 3600]),
    ])
    func `a rule decides in July and in December`(text: String, offsets: [Int64]) throws {
        let rule = try #require(ZoneRule(text))
        let times = ["2050-07-01T12:00:00Z", "2050-12-15T12:00:00Z"].compactMap { UTCTime(rfc3339: $0)?.seconds }
        #expect(times.map(rule.offset) == offsets)
    }

    @Test func `what is no zone is refused`() throws {
        let bytes = [UInt8](try #require(FileManager.default.contents(atPath: "/usr/share/zoneinfo/Europe/Berlin")))
        #expect(ZoneFile([]) == nil && ZoneFile(Array(repeating: 0xFF, count: 4096)) == nil)
        for count in stride(from: 0, to: bytes.count - 20, by: 7) {
            #expect(ZoneFile(Array(bytes.prefix(count))) == nil)
        }
        // Each damage of a byte gives a zone or none.
        for index in bytes.indices {
            var damaged = bytes
            damaged[index] ^= 0xFF
            for time in [Int64.min, -1, 2_000_000_000, .max] { _ = ZoneFile(damaged)?.offset(at: time) }
        }
        for text in [
            "", "C", "CET", "CET-1CEST", "CET-1CEST,M3.5.0", "CET-1CEST,M13.5.0,M1.1.1", "CET-1CEST,M3.5.0,M10.5.0/3x",
            "CET-999",
        ] {
            #expect(ZoneRule(text) == nil, "\(text)")
        }
    }
}
