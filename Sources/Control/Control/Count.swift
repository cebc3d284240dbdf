/// A number with its noun: `1 task`, `2 tasks`.
package struct Count: Sendable, CustomStringConvertible {
    package let description: String

    package init(_ number: Int, _ one: String, _ many: String) {
        description = "\(number) \(number == 1 ? one : many)"
    }

    /// A noun with a regular plural.
    package init(_ number: Int, _ noun: String) { self.init(number, noun, noun + "s") }
}
