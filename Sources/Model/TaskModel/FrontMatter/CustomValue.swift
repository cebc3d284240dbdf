import DocumentModel
import YAML

/// Converts custom fields between YAML and `Value`.
///
/// A value is typed if Ferry would write exactly the bytes that it read; otherwise it is kept as
/// source text, in a map with the single key `$yaml`. Source text is the text after `key:`, with
/// lines ending in `\n`. It starts with a line break if the value starts on a line of its own, and
/// is indented as if the key were at column 0.
///
/// A value with a reference to another key (`*name`) is the value that this refers to, because only
/// the file has both. The file keeps the reference as long as the value is the same.
enum CustomValue {
    fileprivate static let sourceKey = "$yaml"

    /// Whether a field of this name can be a key of front matter (and of a document's map).
    static func isUsable(key: String) -> Bool {
        let mark = "__".utf8
        let isReserved = key.utf8.count >= 4 && key.utf8.starts(with: mark) && key.utf8.suffix(2).elementsEqual(mark)
        return !key.isEmpty && !isReserved && YAMLScalarWriter(.key).write(key).utf8.count <= 1000
    }

    /// - Parameter isMerged: Whether the pair comes from another part of the front matter by a merge
    ///   key.
    static func read(_ pair: YAMLPair, in bytes: [UInt8], indent: Int, isMerged: Bool = false) -> Value {
        let source = source(of: pair, in: bytes, indent: indent)
        if isMerged || pair.value.refers(outOf: pair.value.span) {
            return value(of: pair.value, ignoringProperties: true) ?? .string(source)
        }
        if let value = value(of: pair.value), CustomValueText.text(of: value).isIdentical(to: source) { return value }
        return .map([sourceKey: .string(source)])
    }

    /// Returns the text of `value` after `key:`, and the value that is read back from it. That
    /// value is nil if the key is a known one that would be understood. Types that YAML lacks are
    /// read back as others.
    ///
    /// Returns nil if the value cannot be written. Source text, which may come from another device,
    /// is used only if it is a single value.
    static func written(_ value: Value, as key: String) -> (text: String, value: Value?)? {
        guard isUsable(key: key) else { return nil }
        if let source = value.mapValue?[sourceKey]?.stringValue, value.mapValue?.count == 1,
            let content = content(source, as: key)
        {
            return (source, content.fields[key])
        }
        let text = CustomValueText.text(of: value)
        return content(text, as: key).map { (text, $0.fields[key]) }
    }

    /// Returns the content of front matter in which `text` follows `key:` and another key is on the
    /// next line; nil if it does not parse like this.
    private static func content(_ text: String, as key: String) -> FrontMatterContent? {
        let written = YAMLScalarWriter(.key).write(key)
        let bytes = Array("\(written):\(FrontMatterEditor.attached(text))\n\"\(sourceKey)\":\n".utf8)
        let limits = TaskFile.frontMatterLimits
        guard !text.utf8.contains(0x0D), let root = try? YAMLParser.parse(bytes, limits: limits),
            let pairs = root.mapping, pairs.count == 2, pairs[0].key.scalar?.text.isIdentical(to: key) == true,
            pairs[1].key.scalar?.text == sourceKey
        else { return nil }
        var content = FrontMatterContent()
        content.read(pairs[0], named: key, in: bytes, indent: 0)
        return content
    }

    private static func source(of pair: YAMLPair, in bytes: [UInt8], indent: Int) -> String {
        let span = pair.value.span
        let between = bytes[min(pair.key.span.upperBound, span.lowerBound)..<span.lowerBound]
        var start = span.lowerBound
        var source = ""
        if !pair.value.isAbsent, let lineBreak = between.lastIndex(of: UInt8(ascii: "\n")),
            bytes[(lineBreak + 1)..<start].allSatisfy({ $0 == UInt8(ascii: " ") })
        {
            start = lineBreak + 1
            source = "\n"
        }
        let text = String(decoding: bytes[start..<span.upperBound], as: UTF8.self).asNotes.withLineFeeds
        guard indent > 0, source == "\n" || text.utf8.contains(UInt8(ascii: "\n")) else { return source + text }
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        return source
            + lines.map { String($0.removing(spaces: indent)) }.joined(separator: "\n")
    }

    /// Returns the typed value of a node; nil if it has none.
    ///
    /// - Parameter ignoringProperties: Whether tags and anchors are ignored. Otherwise a node with one
    ///   has no typed value.
    private static func value(of node: YAMLNode, ignoringProperties: Bool = false) -> Value? {
        guard ignoringProperties || node.tag == nil && !node.hasAnchor else { return nil }
        switch node.content {
        case .scalar(let scalar):
            guard scalar.style == .plain else { return .string(scalar.text) }
            switch YAMLCoreValue(plain: scalar.text) {
            case .null: return .null
            case .boolean(let value): return .boolean(value)
            case .integer(let value): return .integer(value)
            case .double(let value): return .double(value)
            case .string: return .string(scalar.text)
            }
        case .sequence(let nodes, _):
            let values = nodes.compactMap { value(of: $0, ignoringProperties: ignoringProperties) }
            return values.count == nodes.count ? .array(values) : nil
        case .mapping(let pairs, _):
            var map: [String: Value] = [:]
            let pairs = ignoringProperties ? MergeKey.resolved(pairs) : pairs
            for pair in pairs {
                guard let key = pair.key.scalar?.text, isUsable(key: key),
                    let value = value(of: pair.value, ignoringProperties: ignoringProperties)
                else { return nil }
                map[key] = value
            }
            return map.count == pairs.count && map[sourceKey] == nil ? .map(map) : nil
        }
    }
}

extension Substring {
    fileprivate func removing(spaces count: Int) -> Substring {
        dropFirst(prefix(count).prefix { $0 == " " }.count)
    }
}

extension CustomValue {
    /// Returns the typed value of a custom field, also of one that is kept as source text. Tags and
    /// anchors in source text are ignored.
    static func interpreted(_ value: Value) -> Value? {
        guard let source = value.mapValue?[sourceKey]?.stringValue, value.mapValue?.count == 1 else { return value }
        let bytes = Array("key:\(FrontMatterEditor.attached(source))\n".utf8)
        let root = try? YAMLParser.parse(bytes, limits: TaskFile.frontMatterLimits)
        return root?.mapping?.first.flatMap { self.value(of: $0.value, ignoringProperties: true) }
    }

    /// Returns the text of a custom field that is one scalar, whatever its quotes; nil for a list
    /// or map.
    static func scalarText(_ value: Value) -> String? {
        if let text = value.stringValue { return text }
        guard let source = value.mapValue?[sourceKey]?.stringValue, value.mapValue?.count == 1 else { return nil }
        let bytes = Array("key:\(FrontMatterEditor.attached(source))\n".utf8)
        return (try? YAMLParser.parse(bytes, limits: TaskFile.frontMatterLimits))?.mapping?.first?.value.scalar?.text
    }

    /// Returns a custom field with a text in the quotes that an earlier value has in the file.
    static func text(_ text: String, quotedLike old: Value?) -> Value {
        let source = old?.mapValue?[sourceKey]?.stringValue ?? ""
        let plain = Value.string(text)
        guard let quote = source.first, quote == "'" || quote == "\"", source.count > 1, source.last == quote,
            CustomValueText.text(of: plain).isIdentical(to: text), !text.contains(quote)
        else { return plain }
        return .map([sourceKey: .string("\(quote)\(text)\(quote)")])
    }
}
