import YAML

/// Writes a changed tag list in the style of the old one and keeps the bytes of unchanged tags.
struct TagListEditor {
    let bytes: [UInt8]
    /// The old list; nil for a new key.
    let old: YAMLNode?
    /// Whether the entries are dates, which are written without quotes, as `due` is.
    var hasDates = false

    /// Returns edits of the old list if it has plain entries and the new list only removes some of
    /// them and adds others at the end; nil if the list must be rewritten.
    func edits(to tags: [String], with editor: FrontMatterEditor) -> [(range: Range<Int>, text: String)]? {
        guard let old, case .sequence(let nodes, let style) = old.content, !nodes.isEmpty else { return nil }
        let texts = nodes.compactMap { $0.scalar?.text }
        guard texts.count == nodes.count, texts.withoutRepeats.count == nodes.count else { return nil }
        let isKept = texts.map { text in tags.contains { $0.isIdentical(to: text) } }
        let keptCount = isKept.count { $0 }
        guard keptCount > 0,
            zip(texts, isKept).filter(\.1).map(\.0).elementsEqual(
                tags.prefix(keptCount), by: { $0.isIdentical(to: $1) })
        else { return nil }
        let added = tags.dropFirst(keptCount)
        return style == .flow
            ? flowEdits(nodes, isKept, adding: added) : blockEdits(nodes, isKept, adding: added, with: editor)
    }

    /// Returns the text of the whole list after `tags:`.
    func text(of tags: [String]) -> String {
        guard let old, case .sequence(let nodes, .block) = old.content, let first = nodes.first else {
            return "[" + tags.map { written($0, .flow) }.joined(separator: ", ") + "]"
        }
        let column = bytes[..<first.span.lowerBound].reversed().prefix { $0 != UInt8(ascii: "\n") }.count
        let pad = String(repeating: " ", count: max(0, column - 2))
        return tags.reduce(into: "") { $0 += "\n\(pad)- " + written($1, .block) }
    }

    private func flowEdits(
        _ nodes: [YAMLNode], _ isKept: [Bool], adding added: ArraySlice<String>
    ) -> [(range: Range<Int>, text: String)]? {
        guard let lastKept = isKept.lastIndex(of: true), let end = nodes.last?.span.upperBound else { return nil }
        var edits: [(range: Range<Int>, text: String)] = []
        for index in nodes.indices.prefix(lastKept) where !isKept[index] {
            edits.append((nodes[index].span.lowerBound..<nodes[index + 1].span.lowerBound, ""))
        }
        let addition = added.reduce(into: "") { $0 += ", " + written($1, .flow) }
        edits.append((nodes[lastKept].span.upperBound..<end, addition))
        return edits
    }

    private func blockEdits(
        _ nodes: [YAMLNode], _ isKept: [Bool], adding added: ArraySlice<String>, with editor: FrontMatterEditor
    ) -> [(range: Range<Int>, text: String)]? {
        var edits: [(range: Range<Int>, text: String)] = []
        var end = 0
        var lead: ArraySlice<UInt8> = []
        for (node, isKept) in zip(nodes, isKept) {
            let start = editor.startOfLine(node.span.lowerBound)
            lead = bytes[start..<node.span.lowerBound]
            // Only the form "  - tag" is edited in place; any other form is rewritten.
            guard lead.filter({ $0 != UInt8(ascii: " ") }) == [UInt8(ascii: "-")], start >= end else { return nil }
            end = editor.startOfNextLine(node.span.upperBound)
            if !isKept { edits.append((start..<end, "")) }
        }
        guard !added.isEmpty else { return edits }
        let lineEnding = end >= 2 && bytes[end - 2] == 0x0D ? "\r\n" : "\n"
        let text = added.reduce(into: "") {
            $0 += String(decoding: lead, as: UTF8.self) + written($1, .block) + lineEnding
        }
        edits.append((end..<end, text))
        return edits
    }

    /// Returns a tag with the quotes that all old tags have.
    private func written(_ tag: String, _ place: YAMLScalarWriter.Place) -> String {
        let styles = Set((old?.sequence ?? []).compactMap { $0.scalar?.style })
        let writer = hasDates ? YAMLScalarWriter(place, readers: .coreSchema) : YAMLScalarWriter(place)
        return writer.write(tag, like: styles.count == 1 ? styles.first ?? .plain : .plain)
    }
}
