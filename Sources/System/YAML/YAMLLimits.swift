/// Bounds on what a YAML text may hold. Aliases are refused altogether, so a tree is never larger than its text.
package struct YAMLLimits: Sendable {
    /// Collections inside one another.
    package var depth: Int
    /// Scalars and collections in total.
    package var nodes: Int
    package var bytes: Int

    package init(depth: Int = 64, nodes: Int = 20_000, bytes: Int = 1 << 20) {
        self.depth = depth
        self.nodes = nodes
        self.bytes = bytes
    }
}
