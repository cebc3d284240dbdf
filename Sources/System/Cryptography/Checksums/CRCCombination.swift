/// Combines cyclic redundancy checks of adjacent byte ranges without reading the bytes again.
///
/// A checksum is a polynomial over GF(2) with its bits in reflected order: the highest bit is the
/// coefficient of x⁰. Appending a byte multiplies by x⁸ modulo the polynomial of the check. The
/// complements before and after cancel out.
enum CRCCombination {
    /// Returns the checksum of two adjacent ranges.
    ///
    /// - Parameter length: the length of the second range in bytes.
    static func combined<Check: FixedWidthInteger & UnsignedInteger>(
        _ first: Check, _ second: Check, length: Int64, polynomial: Check
    ) -> Check {
        product(power(8, by: UInt64(max(0, length)), polynomial), first, polynomial) ^ second
    }

    /// Returns x to the power of `exponent` times `count`.
    private static func power<Check: FixedWidthInteger & UnsignedInteger>(
        _ exponent: Int, by count: UInt64, _ polynomial: Check
    ) -> Check {
        let one = Check(1) << (Check.bitWidth - 1)
        var square = one >> exponent
        var (result, rest) = (one, count)
        while rest > 0 {
            if rest & 1 == 1 { result = product(result, square, polynomial) }
            square = product(square, square, polynomial)
            rest >>= 1
        }
        return result
    }

    private static func product<Check: FixedWidthInteger & UnsignedInteger>(
        _ left: Check, _ right: Check, _ polynomial: Check
    ) -> Check {
        var (sum, right, bit) = (0 as Check, right, Check(1) << (Check.bitWidth - 1))
        while bit != 0 {
            if left & bit != 0 { sum ^= right }
            right = right & 1 == 1 ? right >> 1 ^ polynomial : right >> 1
            bit >>= 1
        }
        return sum
    }
}
