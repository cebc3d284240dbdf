/// Applies field transforms in the order of a write.
enum TransformApplication {
    /// Applies `transforms` to `fields`.
    ///
    /// - Returns: One result per transform: the new value, or null for array transforms.
    static func apply(
        _ transforms: [FieldTransform], to fields: inout [String: Value], at commitTime: Timestamp
    ) throws(WriteError) -> [Value] {
        try DocumentLimits.check(transformCount: transforms.count)
        var results: [Value] = []
        for transform in transforms {
            let path = transform.path
            try DocumentLimits.checkWritable(path)
            let old = fields.value(at: path.segments[...])
            let new: Value
            var result: Value?
            switch transform.operation {
            case .serverTimestamp: new = .timestamp(commitTime)
            case .increment(let operand): new = sum(old, try number(operand))
            case .maximum(let operand): new = extreme(old, try number(operand), wants: 1)
            case .minimum(let operand): new = extreme(old, try number(operand), wants: -1)
            case .appendMissingElements(let elements):
                new = .array(union(old?.arrayValue ?? [], elements))
                result = .null
            case .removeAllFromArray(let elements):
                let kept = (old?.arrayValue ?? []).filter { value in !elements.contains { $0.isEqual(to: value) } }
                new = .array(kept)
                result = .null
            }
            fields.setValue(new, at: path.segments[...])
            results.append(result ?? new)
        }
        return results
    }

    private static func number(_ operand: Value) throws(WriteError) -> Value {
        switch operand {
        case .integer, .double: return operand
        default: throw WriteError(.invalidArgument, "Input must be int64 or double.")
        }
    }

    private static func sum(_ old: Value?, _ operand: Value) -> Value {
        switch (old, operand) {
        case (.integer(let a)?, .integer(let b)):
            let (sum, overflow) = a.addingReportingOverflow(b)
            return .integer(overflow ? (b > 0 ? .max : .min) : sum)
        case (.integer(let a)?, .double(let b)): return .double(Double(a) + b)
        case (.double(let a)?, .integer(let b)): return .double(a + Double(b))
        case (.double(let a)?, .double(let b)): return .double(a + b)
        default: return operand
        }
    }

    /// Returns the greater (sign 1) or lesser (sign −1) of two values; the old one if they are
    /// equal, and NaN if either is NaN.
    private static func extreme(_ old: Value?, _ operand: Value, wants sign: Int) -> Value {
        guard let old, old.typeClass == .number || old.typeClass == .nan else { return operand }
        if old.isNaN || operand.isNaN { return .double(.nan) }
        return Value.compare(operand, old).signum() == sign ? operand : old
    }

    private static func union(_ old: [Value], _ elements: [Value]) -> [Value] {
        var union = old
        for element in elements where !union.contains(where: { $0.isEqual(to: element) }) { union.append(element) }
        return union
    }
}
