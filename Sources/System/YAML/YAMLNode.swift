/// A node of a YAML tree, with the range of bytes from which it was parsed.
///
/// Comments are not part of the tree. They stay in the source, outside every span that does not
/// enclose them.
package struct YAMLNode: Sendable, Hashable {
    package enum Content: Sendable, Hashable {
        case scalar(YAMLScalar)
        case sequence([YAMLNode], YAMLCollectionStyle)
        /// Pairs in source order; no two keys are equal scalars.
        case mapping([YAMLPair], YAMLCollectionStyle)
    }

    package var content: Content
    /// The byte range of the node, including its tag and anchor.
    ///
    /// A block collection ends where its last child ends. A block scalar ends before its last line
    /// break (and, unless it keeps them with `+`, before the blank lines after it). An absent value
    /// has an empty span at the position where it would be.
    package var span: Range<Int>
    /// The explicit tag, such as `tag:yaml.org,2002:str`.
    package var tag: String?
    package var hasAnchor: Bool
    /// The byte range of the node to which this reference (`*name`) refers, and whose content it has;
    /// nil if this is no reference.
    package var target: Range<Int>?

    package init(_ content: Content, span: Range<Int>, tag: String? = nil, hasAnchor: Bool = false) {
        self.content = content
        self.span = span
        self.tag = tag
        self.hasAnchor = hasAnchor
    }

    package var scalar: YAMLScalar? { if case .scalar(let scalar) = content { scalar } else { nil } }
    package var sequence: [YAMLNode]? { if case .sequence(let nodes, _) = content { nodes } else { nil } }
    package var mapping: [YAMLPair]? { if case .mapping(let pairs, _) = content { pairs } else { nil } }

    /// Whether the value is missing, as in `key:`.
    package var isAbsent: Bool { span.isEmpty }

    /// Whether this is a reference, or contains one, to a node outside of a range of bytes.
    package func refers(outOf range: Range<Int>) -> Bool {
        if let target { return !(range.lowerBound <= target.lowerBound && target.upperBound <= range.upperBound) }
        switch content {
        case .scalar: return false
        case .sequence(let nodes, _): return nodes.contains { $0.refers(outOf: range) }
        case .mapping(let pairs, _):
            return pairs.contains { $0.key.refers(outOf: range) || $0.value.refers(outOf: range) }
        }
    }
}

/// One `key: value` of a mapping.
package struct YAMLPair: Sendable, Hashable {
    package var key: YAMLNode
    package var value: YAMLNode

    package init(key: YAMLNode, value: YAMLNode) {
        self.key = key
        self.value = value
    }
}

/// A scalar's text, unescaped and unfolded, and the style in which it was written.
package struct YAMLScalar: Sendable, Hashable {
    package enum Style: Sendable, Hashable {
        case plain
        case singleQuoted
        case doubleQuoted
        case literal
        case folded
    }

    package var text: String
    package var style: Style

    package init(_ text: String, _ style: Style) {
        self.text = text
        self.style = style
    }
}

package enum YAMLCollectionStyle: Sendable, Hashable {
    /// Entries on lines of their own, structured by indentation.
    case block
    /// Entries in brackets or braces, separated by commas.
    case flow
}
