import Glibc
import Testing

@testable import CivilTime

/// The zones of the tz database on this machine.
@Suite("Time zones of the tz database")
struct TimeZoneDataTests {
    private static let root = "/usr/share/zoneinfo"

    private static func bytes(_ path: String) -> [UInt8]? {
        guard let file = fopen(path, "r") else { return nil }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        let count = fread(&bytes, 1, bytes.count, file)
        return Array(bytes.prefix(count))
    }

    /// The zones by name, without the copies in `posix` and `right`.
    static let zones: [String: TimeZoneData] = {
        var found: [String: TimeZoneData] = [:]
        var folders = [""]
        while let folder = folders.popLast() {
            guard let directory = opendir(root + "/" + folder) else { continue }
            defer { closedir(directory) }
            while let entry = readdir(directory) {
                let name = withUnsafePointer(to: entry.pointee.d_name) {
                    $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
                }
                guard let first = name.first, first.isUppercase else { continue }
                let path = folder + name
                if entry.pointee.d_type == UInt8(DT_DIR) { folders.append(path + "/") }
                if let data = bytes(root + "/" + path).flatMap({ TimeZoneData($0) }) { found[path] = data }
            }
        }
        return found
    }()

    @Test("There are zones")
    func areThere() { #expect(Self.zones.count > 500) }

    /// `zdump` tells the second before each transition and the transition, each with its offset.
    @Test("All transitions of 2025 to 2030 and of 2090 are those of zdump")
    func transitions() throws {
        var seen = 0
        for years in ["2025,2031", "2090,2091"] {
            let names = Self.zones.keys.sorted()
            let pipe = try #require(popen("zdump -v -c \(years) " + names.joined(separator: " "), "r"))
            defer { pclose(pipe) }
            var line = [CChar](repeating: 0, count: 512)
            while fgets(&line, 512, pipe) != nil {
                let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
                let parts = text.split { $0 == " " || $0 == "\n" }
                guard parts.count >= 16, let offset = parts.last?.split(separator: "=").last.flatMap({ Int64($0) }),
                    let month = Self.months.firstIndex(of: String(parts[2])), let day = Int(parts[3]),
                    let year = Int(parts[5]), (2025...2090).contains(year),
                    let date = CalendarDay(year: year, month: month + 1, day: day)
                else { continue }
                let clock = parts[4].split(separator: ":").compactMap { Int64($0) }
                let time = Int64(date.daysSinceEpoch) * 86_400 + clock[0] * 3600 + clock[1] * 60 + clock[2]
                let zone = try #require(Self.zones[String(parts[0])])
                #expect(zone.offset(at: time) == offset, "\(text)")
                seen += 1
            }
        }
        #expect(seen > 3000)
    }

    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// A local time belongs to the first point in time at which clocks show it. If there is none, the
    /// offset before the gap applies.
    @Test("Every five minutes around all transitions of 2025 to 2030 have the documented point in time")
    func wallClock() {
        let start: Int64 = 1_735_689_600  // 2025-01-01
        let end: Int64 = 1_924_992_000  // 2031-01-01
        var (transitions, gaps, repeated) = (0, 0, 0)
        for (name, data) in Self.zones {
            let zone = ZoneOffsets { data.offset(at: $0) }
            var time = start
            while time < end {
                let next = time + 43_200
                defer { time = next }
                let (before, after) = (data.offset(at: time), data.offset(at: next))
                guard before != after else { continue }
                transitions += 1
                // The transition is at a full minute.
                var change = time
                while data.offset(at: change) == before { change += 60 }
                for local in stride(from: change + before - 14_400, through: change + before + 14_400, by: 300) {
                    let candidates = [local - before, local - after].sorted()
                    let shown = candidates.first { $0 + data.offset(at: $0) == local }
                    if shown == nil {
                        gaps += 1
                    } else if candidates.allSatisfy({ $0 + data.offset(at: $0) == local }) {
                        repeated += 1
                    }
                    let expected = shown ?? local - before
                    let found = zone.instant(ofLocal: local)
                    if found != expected { Issue.record("\(name): \(local) is \(found), not \(expected)") }
                }
            }
        }
        #expect(transitions > 2000 && gaps > 5000 && repeated > 5000)
    }

    @Test("Rules of all forms")
    func rules() throws {
        let leap = try #require(CalendarDay("2096-02-29"))
        func offset(_ rule: String, _ day: String, _ hour: Int64) throws -> Int64 {
            let day = try #require(CalendarDay(day))
            return try #require(TimeZoneRule(rule)).offset(at: Int64(day.daysSinceEpoch) * 86_400 + hour * 3600)
        }
        #expect(leap.isInLeapYear)
        #expect(try offset("<+0530>-5:30", "2096-02-29", 0) == 19_800)
        // J60 is 1 March in every year, and 59 is 29 February in a leap year.
        #expect(try offset("AAA0BBB,J60/0,J300/0", "2096-02-29", 23) == 0)
        #expect(try offset("AAA0BBB,J60/0,J300/0", "2096-03-01", 0) == 3600)
        #expect(try offset("AAA0BBB,59/0,300/0", "2096-02-29", 0) == 3600)
        // Dublin's summer time is its standard time.
        #expect(try offset("IST-1GMT0,M10.5.0,M3.5.0/1", "2096-01-10", 0) == 0)
        #expect(try offset("IST-1GMT0,M10.5.0,M3.5.0/1", "2096-07-10", 0) == 3600)
        // The south: summer time goes over the end of the year.
        #expect(try offset("NZST-12NZDT,M9.5.0,M4.1.0/3", "2096-12-31", 23) == 46_800)
        // Summer time all year, and times beyond a day.
        #expect(try offset("XXX3EDT4,0/0,J365/23", "2096-12-31", 23) == -14_400)
        #expect(try offset("EET-2EEST,M3.4.4/50,M10.4.4/50", "2096-07-01", 0) == 10_800)
        for wrong in [
            "", "CET", "CET-1CEST,M3.5.0", "CET-1CEST,M13.5.0,M10.5.0", "CET-1CEST,M3.6.0,M10.5.0", "CET-999",
            "CET-1x1y",
        ] {
            #expect(TimeZoneRule(wrong) == nil, "\(wrong)")
        }
    }

    @Test("Every prefix of a file, and files with each byte changed, are read or refused")
    func hostile() throws {
        let bytes = try #require(Self.bytes(Self.root + "/Europe/Berlin"))
        for count in 0..<bytes.count where count % 7 == 0 { _ = TimeZoneData(Array(bytes.prefix(count))) }
        for index in bytes.indices {
            var changed = bytes
            for value: UInt8 in [0, 0x7F, 0x80, 0xFF] {
                changed[index] = value
                if let data = TimeZoneData(changed) {
                    for time in [Int64.min, -1, 0, 1_800_000_000, .max] { _ = data.offset(at: time) }
                }
            }
        }
    }
}
