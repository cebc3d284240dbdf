extension BinaryInteger {
    /// The decimal digits, with a zero in front of a single one, as in the parts of dates and times.
    package var twoDigits: String { (0...9).contains(self) ? "0\(self)" : "\(self)" }
}
