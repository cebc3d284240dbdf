/// Limits on the size of a YAML text. Aliases are refused, so a tree is never larger than its text.
package struct YAMLLimits: Sendable {
    /// The maximum nesting depth of collections.
    package var depth: Int
    /// The maximum number of scalars and collections in total.
    package var nodes: Int
    package var bytes: Int

    package init(depth: Int = 64, nodes: Int = 20_000, bytes: Int = 1 << 20) {
        self.depth = depth
        self.nodes = nodes
        self.bytes = bytes
    }
}
