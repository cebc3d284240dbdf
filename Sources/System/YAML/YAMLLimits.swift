/// Limits on the size of a YAML text. They also hold for its tree, in which references are replaced by
/// what they refer to.
package struct YAMLLimits: Sendable {
    /// The maximum nesting depth of collections.
    package var depth: Int
    /// The maximum number of scalars and collections in total.
    package var nodes: Int
    package var bytes: Int
    /// Whether references (`*name`) are followed. Otherwise a text with one is refused.
    package var followsReferences: Bool

    package init(
        depth: Int = 64, nodes: Int = 20_000, bytes: Int = 1 << 20, followsReferences: Bool = false
    ) {
        self.followsReferences = followsReferences
        self.depth = depth
        self.nodes = nodes
        self.bytes = bytes
    }
}
