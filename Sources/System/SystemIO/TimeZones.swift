package import CivilTime
import Synchronization

/// The zones of the tz database of this machine by name.
package final class TimeZones: Sendable {
    private let directory: String
    /// The zones that were read. Their number is limited by that of the database.
    private let known = Mutex(Known())

    private struct Known {
        var zones: [String: ZoneOffsets] = [:]
        /// Names that are none, which come from tasks, also from those of other users.
        var others: Set<String> = []
    }

    private static let otherLimit = 1000

    /// Creates the zones of a directory.
    package init(directory: String = ProcessEnvironment["TZDIR"] ?? "/usr/share/zoneinfo") {
        self.directory = directory
    }

    /// Returns the zone of a name such as `Europe/Berlin`; nil if this machine does not have it.
    ///
    /// A file is read once, so a change of the database counts from the next start on.
    package subscript(name: String) -> ZoneOffsets? {
        known.withLock { known in
            if let zone = known.zones[name] { return zone }
            guard Self.isUsable(name), !known.others.contains(name) else { return nil }
            guard let zone = read(name) else {
                if known.others.count >= Self.otherLimit { known.others = [] }
                known.others.insert(name)
                return nil
            }
            known.zones[name] = zone
            return zone
        }
    }

    private func read(_ name: String) -> ZoneOffsets? {
        guard let bytes = try? FileSystem.readIfPresent("\(directory)/\(name)", limit: 1 << 20),
            let data = TimeZoneData(bytes)
        else { return nil }
        return ZoneOffsets { data.offset(at: $0) }
    }

    /// Whether a name can be one of the database's, and leads to no other directory.
    private static func isUsable(_ name: String) -> Bool {
        let parts = name.split(separator: "/", omittingEmptySubsequences: false)
        return name.utf8.count <= 64
            && parts.allSatisfy { part in
                part.first?.isLetter == true
                    && part.unicodeScalars.allSatisfy {
                        $0.isASCII && ($0.properties.isAlphabetic || "0123456789_+-".unicodeScalars.contains($0))
                    }
            }
    }
}
