/// The rate of the last few seconds: an average whose weights halve every two seconds. Pure.
struct RateMeter: Sendable {
    private static let halfLife = 2.0

    private var last: (time: Duration, bytes: Int64)?
    /// The rate in bytes per second; nil before two measurements.
    private(set) var rate: Double?

    /// Adds a measurement: the total number of bytes at a time.
    mutating func add(_ bytes: Int64, at time: Duration) {
        guard let previous = last else {
            last = (time, bytes)
            return
        }
        let seconds = (time - previous.time) / .seconds(1)
        guard seconds >= 0.05 else { return }
        let current = Double(max(0, bytes - previous.bytes)) / seconds
        let weight = 1 - pow2(-seconds / Self.halfLife)
        rate = rate.map { $0 + weight * (current - $0) } ?? current
        last = (time, bytes)
    }

    /// Forgets all measurements, because a pause must not count as a low rate.
    mutating func restart() {
        last = nil
        rate = nil
    }

    /// Returns 2 to the power of a number from -∞ to 0, accurate enough for a weight.
    private func pow2(_ exponent: Double) -> Double {
        let whole = exponent.rounded(.up)
        guard whole > -60 else { return 0 }
        let rest = (exponent - whole) * 0.693_147_180_559_945
        let series = 1 + rest * (1 + rest / 2 * (1 + rest / 3 * (1 + rest / 4)))
        return Double(sign: .plus, exponent: Int(whole), significand: series)
    }
}
