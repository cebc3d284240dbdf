/// Arithmetic for numbers from untrusted sources: documents, manifests, headers, server responses,
/// state files.
///
/// The operators `+`, `-` and `*` end the program if the result overflows. These functions return
/// the nearest representable value instead. `Tests/untrusted_numbers.py` finds files that must use
/// them or state why they need not.
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
    /// Returns the share of `total` as a percentage from 0 to 100; 100 if `total` is 0.
    package func percentage(of total: Self) -> Int {
        guard total > 0, self < total else { return 100 }
        return self <= 0 ? 0 : Int(Double(self) / Double(total) * 100)
    }
}

extension FixedWidthInteger {
    /// Creates the nearest integer, rounded toward zero; 0 for NaN.
    package init(saturating value: Double) {
        if let exact = Self(exactly: value.rounded(.towardZero)) {
            self = exact
        } else {
            self = value.isNaN ? 0 : value < 0 ? .min : .max
        }
    }
}
