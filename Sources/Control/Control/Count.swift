/// A number with a noun in the singular or plural: `1 task`, `2 tasks`.
package struct Count: Sendable, CustomStringConvertible {
    package let description: String

    /// Creates a count with a noun that has an irregular plural.
    package init(_ number: Int, _ one: String, _ many: String) {
        description = "\(number) \(number == 1 ? one : many)"
    }

    /// Creates a count with a noun whose plural ends in "s".
    package init(_ number: Int, _ noun: String) { self.init(number, noun, noun + "s") }
}
