import SystemIO

/// Returns a number of bytes in binary units.
func formatted(bytes: Int64) -> String {
    let units = ["KiB", "MiB", "GiB", "TiB"]
    guard bytes >= 1024 else { return "\(bytes) B" }
    var value = Double(bytes) / 1024
    var unit = 0
    while value >= 1024, unit < units.count - 1 {
        value /= 1024
        unit += 1
    }
    return "\(oneDecimal(value)) \(units[unit])"
}

/// Returns a time span in words: `850 ms`, `3.2 s`, `4 min`, `2 h`, `3 d`.
func formatted(seconds: Double) -> String {
    switch seconds {
    case ..<1: "\(Int(saturating: seconds * 1000)) ms"
    case ..<60: "\(oneDecimal(seconds)) s"
    case ..<3600: "\(Int(saturating: seconds / 60)) min"
    case ..<86_400: "\(Int(saturating: seconds / 3600)) h"
    default: "\(Int(saturating: seconds / 86_400)) d"
    }
}

private func oneDecimal(_ value: Double) -> String {
    let tenths = Int(saturating: (value * 10).rounded())
    return "\(tenths / 10).\(tenths % 10)"
}
