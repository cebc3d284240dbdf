/// Arithmetic for numbers that come from elsewhere: documents, manifests, headers, answers of a server, state files.
///
/// `+`, `-` and `*` end the program where the result does not fit. These give the nearest value that does.
/// `Tests/untrusted_numbers.py` finds the files that must use them, or say why they need not.
extension FixedWidthInteger {
    package func saturatingAdded(to other: Self) -> Self {
        let (sum, overflows) = addingReportingOverflow(other)
        return overflows ? (other < 0 ? .min : .max) : sum
    }

    package func saturatingSubtracted(by other: Self) -> Self {
        let (difference, overflows) = subtractingReportingOverflow(other)
        return overflows ? (other < 0 ? .max : .min) : difference
    }

    package func saturatingMultiplied(by other: Self) -> Self {
        let (product, overflows) = multipliedReportingOverflow(by: other)
        return overflows ? ((self < 0) == (other < 0) ? .max : .min) : product
    }
}

extension BinaryInteger {
    /// How much of `total` this is, from 0 to 100; 100 for nothing of nothing.
    package func percentage(of total: Self) -> Int {
        guard total > 0, self < total else { return 100 }
        return self <= 0 ? 0 : Int(Double(self) / Double(total) * 100)
    }
}

extension FixedWidthInteger {
    /// The nearest integer, rounded towards zero; 0 for what is no number.
    package init(saturating value: Double) {
        if let exact = Self(exactly: value.rounded(.towardZero)) {
            self = exact
        } else {
            self = value.isNaN ? 0 : value < 0 ? .min : .max
        }
    }
}
