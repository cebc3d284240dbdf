import CivilTime
import Control
import SystemIO
import TaskModel

/// The findings of `ferry doctor` about a server. Pure.
enum ServerChecks {
    /// The versions of both ends: neighbors understand each other, and a server is upgraded first.
    static func version(of server: String?, here: String) -> HealthCheck {
        guard let server, let theirs = Version(server), let ours = Version(here) else {
            return HealthCheck("server-version", .ok, "The server does not tell its version.")
        }
        guard theirs != ours else {
            return HealthCheck("server-version", .ok, "ferry-server has the same version, \(server).")
        }
        guard theirs.isNeighbor(of: ours) else {
            return HealthCheck(
                "server-version", .attention, "ferry-server is \(server), and ferryd here is \(here).",
                remedy: theirs < ours ? "Upgrade the server." : "Upgrade ferry on this machine.")
        }
        return HealthCheck(
            "server-version", .ok, "ferry-server is \(server), ferryd here is \(here); these work together.")
    }

    /// Checks the remaining validity of a certificate.
    ///
    /// - Parameters:
    ///   - expiry: as OpenSSL prints it, `Nov 28 09:00:00 2027 GMT`.
    ///   - now: seconds since 1970.
    static func certificate(of place: String, expiry: String?, now: Int64) -> HealthCheck? {
        guard let expiry, let seconds = time(expiry) else { return nil }
        let days = seconds.saturatingSubtracted(by: now) / 86_400
        guard seconds > now else {
            return HealthCheck(
                "tls", .failed, "The certificate of \(place) was valid until \(expiry).",
                remedy: "Renew it on the server, and restart what serves it.")
        }
        guard days >= 14 else {
            return HealthCheck(
                "tls", .attention, "The certificate of \(place) is valid for \(Count(Int(days), "day", "days")) only.",
                remedy: "Renew it on the server, and restart what serves it.")
        }
        return HealthCheck("tls", .ok, "The certificate of \(place) is valid for \(days) days, and for that name.")
    }

    /// Checks the account's usage of its quota.
    static func quota(_ usage: AccountUsageSummary) -> HealthCheck {
        func isNearlyFull(_ used: Int64, _ limit: Int64) -> Bool { limit > 0 && used / 9 >= limit / 10 }
        func percent(_ used: Int64, _ limit: Int64) -> Int64 { limit < 100 ? 0 : used / (limit / 100) }
        let text =
            "The account uses \(percent(usage.objectBytes, usage.objectBytesLimit)) % of its room for attachments, and "
            + "\(usage.documents) of \(usage.documentsLimit) documents."
        let isTight =
            isNearlyFull(usage.objectBytes, usage.objectBytesLimit)
            || isNearlyFull(usage.documents, usage.documentsLimit)
        return HealthCheck(
            "quota", isTight ? .attention : .ok, text,
            remedy: isTight ? "Remove what is not needed, or ask whoever runs the server for more." : nil)
    }

    /// `MAJOR.MINOR` of a version.
    private struct Version: Comparable {
        var major: Int
        var minor: Int

        init?(_ text: String) {
            let parts = text.split(separator: ".").map { Int($0) }
            guard parts.count >= 2, let major = parts[0], let minor = parts[1], major >= 0, minor >= 0,
                minor < Int.max
            else { return nil }
            (self.major, self.minor) = (major, minor)
        }

        static func < (one: Version, other: Version) -> Bool { (one.major, one.minor) < (other.major, other.minor) }

        func isNeighbor(of other: Version) -> Bool {
            major == other.major && (minor == other.minor + 1 || other.minor == minor + 1)
        }
    }

    /// Seconds since 1970 of a time as OpenSSL prints it.
    private static func time(_ text: String) -> Int64? {
        let parts = text.split(separator: " ")
        guard parts.count == 5, parts[4] == "GMT" else { return nil }
        return UTCTime(imfFixdate: "Day, \(parts[1]) \(parts[0]) \(parts[3]) \(parts[2]) GMT")?.seconds
    }
}
