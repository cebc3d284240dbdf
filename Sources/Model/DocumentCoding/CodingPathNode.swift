/// The place of a value in a model, from the innermost key outward.
///
/// A coder makes one for each container; the array that `Codable` asks for is made for errors only.
final class CodingPathNode: Sendable {
    private let parent: CodingPathNode?
    private let key: any CodingKey

    init(_ key: any CodingKey, in parent: CodingPathNode?) {
        self.parent = parent
        self.key = key
    }

    var keys: [any CodingKey] {
        var keys: [any CodingKey] = []
        var node: CodingPathNode? = self
        while let current = node {
            keys.append(current.key)
            node = current.parent
        }
        return keys.reversed()
    }
}

/// A key without a type of its own.
struct PlainKey: CodingKey {
    let stringValue: String
    let intValue: Int?

    init(stringValue: String) {
        self.stringValue = stringValue
        intValue = nil
    }

    init(intValue: Int) {
        stringValue = "\(intValue)"
        self.intValue = intValue
    }
}

extension [any CodingKey] {
    /// The path as it is written in code: `detail.due`, `tags[2]`.
    package var propertyPath: String {
        reduce(into: "") { text, key in
            if let index = key.intValue {
                text += "[\(index)]"
            } else {
                text += text.isEmpty ? key.stringValue : ".\(key.stringValue)"
            }
        }
    }
}
