/// Comparison of numbers by exact value, independent of their type. NaN sorts before all numbers.
package enum Number {
    package static func compare(_ left: Double, _ right: Double) -> Int {
        if left < right { return -1 }
        if left > right { return 1 }
        if left == right { return 0 }
        return left.isNaN ? (right.isNaN ? 0 : -1) : 1
    }

    /// Compares without rounding the integer to a double.
    package static func compare(_ left: Int64, _ right: Double) -> Int {
        if right.isNaN { return 1 }
        guard let whole = Int64(exactly: right.rounded(.towardZero)) else { return right > 0 ? -1 : 1 }
        if left != whole { return left < whole ? -1 : 1 }
        // The fractional part of a double of this magnitude is exact.
        return compare(0.0, right - Double(whole))
    }

    /// Returns the greatest double that is not above `integer`, and the difference, which is less
    /// than 1024.
    static func floor(_ integer: Int64) -> (double: Double, rest: UInt16) {
        var double = Double(integer)
        if compare(integer, double) < 0 { double = double.nextDown }
        guard let whole = Int64(exactly: double) else { return (double, 0) }
        return (double, UInt16(truncatingIfNeeded: integer &- whole))
    }
}
