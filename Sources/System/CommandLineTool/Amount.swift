/// Numbers with units, in the form in which options and settings take them.
package enum Amount {
    /// Returns a number of bytes: a whole number, with `K`, `M`, `G` or `T` for powers of 1024. Returns nil for
    /// anything else, and for more than 2^60.
    package static func bytes(_ text: String) -> Int64? {
        let units: [Character: Int64] = ["K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40]
        return number(text, units: units, upTo: 1 << 60)
    }

    /// Returns a number of seconds: a whole number with `m`, `h`, `d` or `w`. Returns nil for anything else, for 0,
    /// and for more than ten years.
    package static func seconds(_ text: String) -> Int64? {
        guard text.last?.isLetter == true else { return nil }
        let seconds = number(text, units: ["m": 60, "h": 3600, "d": 86_400, "w": 604_800], upTo: 315_360_000)
        return seconds == 0 ? nil : seconds
    }

    /// Returns a whole number up to 10^15; nil for anything else.
    package static func count(_ text: String) -> Int64? { number(text, units: [:], upTo: 1_000_000_000_000_000) }

    private static func number(_ text: String, units: [Character: Int64], upTo limit: Int64) -> Int64? {
        let unit = text.last.flatMap { units[$0] }
        let digits = unit == nil ? text[...] : text.dropLast()
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int64(digits)
        else { return nil }
        let (value, overflows) = number.multipliedReportingOverflow(by: unit ?? 1)
        return overflows || value > limit ? nil : value
    }
}
