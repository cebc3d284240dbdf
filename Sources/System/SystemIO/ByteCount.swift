/// Numbers of bytes for people.
package enum ByteCount {
    /// Returns a number of bytes in binary units with one decimal, rounded down: `1.5 GiB`.
    package static func text(_ bytes: Int64) -> String {
        let units = ["KiB", "MiB", "GiB", "TiB", "PiB"]
        guard bytes >= 1024 else { return "\(bytes) B" }
        var (tenths, unit) = (bytes / 1024 * 10 + bytes % 1024 * 10 / 1024, 0)
        while tenths >= 10_240, unit < units.count - 1 { (tenths, unit) = (tenths / 1024, unit + 1) }
        return "\(tenths / 10).\(tenths % 10) \(units[unit])"
    }
}
