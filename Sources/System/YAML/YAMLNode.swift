/// A node of a YAML tree, with the bytes it was read from.
///
/// Comments are not part of the tree; they stay where they are in the source, outside every span that does not enclose them.
package struct YAMLNode: Sendable, Hashable {
    package enum Content: Sendable, Hashable {
        case scalar(YAMLScalar)
        case sequence([YAMLNode], YAMLCollectionStyle)
        /// Pairs in source order; no two keys are equal scalars.
        case mapping([YAMLPair], YAMLCollectionStyle)
    }

    package var content: Content
    /// Offsets of the node's bytes, tag and anchor included, from its first byte to the end of its last.
    ///
    /// A block collection ends where its last child ends; a block scalar ends before its last line break (and, unless it keeps
    /// them with `+`, before the blank lines after it). An absent value has an empty span where it would stand.
    package var span: Range<Int>
    /// The explicit tag, such as `tag:yaml.org,2002:str`.
    package var tag: String?
    package var hasAnchor: Bool

    package init(_ content: Content, span: Range<Int>, tag: String? = nil, hasAnchor: Bool = false) {
        self.content = content
        self.span = span
        self.tag = tag
        self.hasAnchor = hasAnchor
    }

    package var scalar: YAMLScalar? { if case .scalar(let scalar) = content { scalar } else { nil } }
    package var sequence: [YAMLNode]? { if case .sequence(let nodes, _) = content { nodes } else { nil } }
    package var mapping: [YAMLPair]? { if case .mapping(let pairs, _) = content { pairs } else { nil } }

    /// Whether nothing is written where the value would stand (`key:`).
    package var isAbsent: Bool { span.isEmpty }
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

/// A scalar's text, unescaped and unfolded, and how it was written.
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
    /// One entry a line, by indentation.
    case block
    /// In brackets or braces.
    case flow
}
