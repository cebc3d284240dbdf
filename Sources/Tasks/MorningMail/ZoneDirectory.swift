package import CivilTime
import SystemIO

/// The time zones of this machine by name.
package struct ZoneDirectory: Sendable {
    private let path: String

    /// The largest file of a zone has 4 KiB.
    private static let sizeLimit = 64 << 10

    package init(path: String = "/usr/share/zoneinfo") { self.path = path }

    /// Returns the zone with a name such as `Europe/Berlin`; nil if there is none.
    package func zone(_ name: String) -> ZoneOffsets? {
        let parts = name.split(separator: "/", omittingEmptySubsequences: false)
        let isName =
            name.utf8.count <= 64
            && parts.allSatisfy { part in
                part.utf8.first.map { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 & 0xDF } ?? false
                    && part.utf8.allSatisfy { byte in
                        UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte & 0xDF || "0123456789+-_".utf8.contains(byte)
                    }
            }
        guard isName, let bytes = try? FileSystem.readIfPresent("\(path)/\(name)", limit: Self.sizeLimit) else {
            return nil
        }
        return ZoneFile(bytes).map { ZoneOffsets($0) }
    }
}
