package import DocumentModel
package import Reconciliation

/// Contents made of numbers, each of which stands for a value that a user saved once.
package struct SampleContents: Hashable, Sendable {
    package var priority: Int
    package var notes: [Int]
    package var tags: [Int]

    package init(_ priority: Int, notes: [Int] = [], tags: [Int] = []) {
        self.priority = priority
        self.notes = notes
        self.tags = tags
    }

    /// Returns the contents of a node of a kind. An attachment has no fields, and a list no notes.
    package func contents(of kind: NodeKind) -> Contents {
        switch kind {
        case .attachment: Contents(digest: ContentDigest(UInt64(truncatingIfNeeded: priority) &+ 1, 7, 7, 7))
        case .task: Self.contents(with: fields)
        case .list:
            Self.contents(with: tags.isEmpty ? [:] : ["sharedWith": .array(tags.map { .string("u\($0)") })])
        }
    }

    private var fields: [String: Value] {
        var fields: [String: Value] = ["priority": .integer(Int64(priority))]
        if !notes.isEmpty { fields["notes"] = .string(notes.map { "n\($0)\n" }.joined()) }
        if !tags.isEmpty { fields["tags"] = .array(tags.map { .string("t\($0)") }) }
        return fields
    }

    /// Returns the contents that fields describe, with a digest that does not depend on their order.
    package static func contents(with fields: [String: Value]) -> Contents {
        var sum: UInt64 = 0
        for (key, value) in fields {
            var hash: UInt64 = 0xCBF2_9CE4_8422_2325
            add(key, to: &hash)
            add(value, to: &hash)
            // Mixed, so that differences in two fields do not cancel each other out.
            var generator = SeededGenerator(seed: hash)
            sum &+= generator.next()
        }
        return Contents(digest: ContentDigest(sum, 0, 0, 0), fields: fields)
    }

    private static func add(_ value: Value, to hash: inout UInt64) {
        switch value {
        case .string(let text): add(text, to: &hash)
        case .integer(let number): hash = (hash ^ UInt64(bitPattern: number)) &* 0x100_0000_01B3
        case .array(let values): for value in values { add(value, to: &hash) }
        default: add("\(value)", to: &hash)
        }
    }

    private static func add(_ text: String, to hash: inout UInt64) {
        for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    }
}

extension Contents {
    /// The values that a user saved in the contents, each as a text of its own.
    package var savedValues: Set<String> {
        guard !fields.isEmpty else { return [digest.description] }
        var values = Set<String>()
        for (key, value) in fields { values.formUnion(Self.savedValues(of: key, value)) }
        return values
    }

    static func savedValues(of key: String, _ value: Value) -> [String] {
        switch value {
        case .string(let text): text.split(separator: "\n").map { "\(key) \($0)" }
        case .array(let elements): elements.flatMap { savedValues(of: key, $0) }
        case .integer(let number): ["\(key) \(number)"]
        default: ["\(key) \(value)"]
        }
    }
}
