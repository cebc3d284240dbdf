import Glibc

/// Times as S3 writes them.
enum S3Date {
    /// Returns `2026-11-21T12:00:00.000Z`, as in XML.
    static func xml(microseconds: Int64) -> String {
        let parts = civil(microseconds)
        let milliseconds = (microseconds % 1_000_000 + 1_000_000) % 1_000_000 / 1000
        return "\(pad(parts.tm_year + 1900, 4))-\(pad(parts.tm_mon + 1))-\(pad(parts.tm_mday))T"
            + "\(pad(parts.tm_hour)):\(pad(parts.tm_min)):\(pad(parts.tm_sec)).\(pad(Int32(milliseconds), 3))Z"
    }

    /// Returns `Sat, 21 Nov 2026 12:00:00 GMT`, in header fields (RFC 9110 §5.6.7).
    static func http(microseconds: Int64) -> String {
        let parts = civil(microseconds)
        let day = days[Int(parts.tm_wday) % 7]
        let month = months[Int(parts.tm_mon) % 12]
        return "\(day), \(pad(parts.tm_mday)) \(month) \(pad(parts.tm_year + 1900, 4)) "
            + "\(pad(parts.tm_hour)):\(pad(parts.tm_min)):\(pad(parts.tm_sec)) GMT"
    }

    /// Returns the seconds since 1970 of a header field; nil for anything but the form above.
    static func seconds(http text: String) -> Int64? {
        let words = text.split(separator: " ")
        guard words.count == 6, words[5] == "GMT", let month = months.firstIndex(of: String(words[2])) else {
            return nil
        }
        let day = words[1].utf8.count == 1 ? "0\(words[1])" : String(words[1])
        let time = words[4].filter { $0 != ":" }
        return AmazonDate.seconds("\(words[3])\(pad(Int32(month) + 1))\(day)T\(time)Z")
    }

    /// Returns the seconds since 1970 of `2026-11-21T12:00:00Z`, with parts of seconds or without;
    /// nil for anything else.
    static func seconds(xml text: String) -> Int64? {
        guard text.hasSuffix("Z") else { return nil }
        let whole = text.dropLast().prefix { $0 != "." }
        return AmazonDate.seconds("\(whole.filter { $0 != "-" && $0 != ":" })Z")
    }

    private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    private static func civil(_ microseconds: Int64) -> tm {
        var seconds = time_t(microseconds / 1_000_000 - (microseconds % 1_000_000 < 0 ? 1 : 0))
        var parts = tm()
        gmtime_r(&seconds, &parts)
        return parts
    }

    private static func pad(_ number: Int32, _ width: Int = 2) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }
}
