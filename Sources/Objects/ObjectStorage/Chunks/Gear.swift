/// The random words that stand for the byte values in the rolling hash.
///
/// The table is part of the format: the first 256 outputs of SplitMix64 (Steele, Lea and Flood,
/// "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014) from the seed below, which spells
/// "ferrycdc".
enum Gear {
    static let table: [UInt64] = {
        var state: UInt64 = 0x6665_7272_7963_6463
        return (0..<256).map { _ in
            state &+= 0x9E37_79B9_7F4A_7C15
            var word = state
            word = (word ^ word >> 30) &* 0xBF58_476D_1CE4_E5B9
            word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
            return word ^ word >> 31
        }
    }()
}
