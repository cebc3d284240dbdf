package import DocumentCoding
package import DocumentModel

/// A vector of numbers, such as the embedding of a text, which `Query.nearest` compares.
public struct VectorValue: Codable, Hashable, Sendable, ExpressibleByArrayLiteral {
    /// The numbers, at most 2,048.
    public var elements: [Double]

    /// Creates a vector.
    public init(_ elements: [Double]) { self.elements = elements }

    /// Creates a vector.
    public init(arrayLiteral elements: Double...) { self.elements = elements }

    /// Decodes an array of numbers.
    public init(from decoder: any Decoder) throws { elements = try [Double](from: decoder) }

    /// Encodes an array of numbers.
    public func encode(to encoder: any Encoder) throws { try elements.encode(to: encoder) }
}

extension VectorValue: ValueCodable {
    package static func decoded(from value: Value, in context: CodingContext) throws -> VectorValue {
        guard let elements = value.vectorElements else { throw ValueMismatch(expected: "a vector", found: value) }
        return VectorValue(
            try elements.map { element in
                switch element {
                case .integer(let number): Double(number)
                case .double(let number): number
                default: throw ValueMismatch(expected: "a number in a vector", found: element)
                }
            })
    }

    package func encoded(in context: CodingContext) throws -> EncodedValue {
        guard (1...DocumentLimits.maximumDimension).contains(elements.count) else {
            throw ValueMismatch("A vector has 1 to \(DocumentLimits.maximumDimension) numbers, not \(elements.count).")
        }
        return .value(.vector(elements))
    }

    package static var examples: (VectorValue, VectorValue) { ([0], [1]) }
}
