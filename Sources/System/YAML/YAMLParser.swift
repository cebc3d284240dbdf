import CYAML

/// Parses a YAML text into a tree with byte ranges.
package enum YAMLParser {
    /// Returns the tree of the only document in `bytes[range]` (all bytes if nil); nil if the text
    /// has only comments and blank lines.
    ///
    /// A byte-order mark at the start of the range is skipped. Spans are offsets into `bytes`, and
    /// lines count from the start of `bytes`.
    package static func parse(
        _ bytes: [UInt8], in range: Range<Int>? = nil, limits: YAMLLimits = YAMLLimits()
    ) throws(YAMLError) -> YAMLNode? {
        let range = (range ?? 0..<bytes.count).clamped(to: 0..<bytes.count)
        let firstLine = 1 + bytes[..<range.lowerBound].count { $0 == UInt8(ascii: "\n") }
        guard range.count <= limits.bytes else {
            throw YAMLError(
                .overLimit, "the text is longer than \(limits.bytes) bytes; shorten it", line: firstLine, column: 1)
        }
        let start = bytes[range].starts(with: [0xEF, 0xBB, 0xBF]) ? range.lowerBound + 3 : range.lowerBound
        // libyaml asserts that the address is not nil, which it may be for an empty text.
        guard start < range.upperBound else { return nil }
        // A Result is used because a rethrowing closure would lose the error's type.
        let result = bytes.withUnsafeBufferPointer { all -> Result<YAMLNode?, YAMLError> in
            let text = UnsafeBufferPointer(rebasing: all[start..<range.upperBound])
            do throws(YAMLError) {
                var builder = try YAMLTreeBuilder(text, base: start, firstLine: firstLine, limits: limits)
                return .success(try builder.document())
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }
}

/// Builds a tree from libyaml's events. The text must outlive the value.
private struct YAMLTreeBuilder: ~Copyable {
    private let parser: UnsafeMutablePointer<yaml_parser_t>
    private let text: UnsafeBufferPointer<UInt8>
    private let offsets: SourceOffsets
    private let firstLine: Int
    private let limits: YAMLLimits
    private var nodes = 0
    /// The bytes of the scalars that references repeat.
    private var repeatedBytes = 0
    private var anchors: [String: (node: YAMLNode, size: TreeSize)] = [:]

    init(
        _ text: UnsafeBufferPointer<UInt8>, base: Int, firstLine: Int, limits: YAMLLimits
    ) throws(YAMLError) {
        self.text = text
        self.firstLine = firstLine
        self.limits = limits
        offsets = SourceOffsets(text, base: base)
        parser = .allocate(capacity: 1)
        guard yaml_parser_initialize(parser) == 1 else {
            // libyaml has cleared the structure, so deleting it again in deinit is harmless.
            throw YAMLError(.outOfMemory, "not enough memory to read it", line: firstLine, column: 1)
        }
        yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
        yaml_parser_set_input_string(parser, text.baseAddress, text.count)
    }

    deinit {
        yaml_parser_delete(parser)
        parser.deallocate()
    }

    mutating func document() throws(YAMLError) -> YAMLNode? {
        var root: YAMLNode?
        while true {
            var event = try next()
            defer { yaml_event_delete(&event) }
            switch event.type {
            case YAML_STREAM_START_EVENT, YAML_DOCUMENT_END_EVENT: continue
            case YAML_DOCUMENT_START_EVENT:
                guard root == nil else {
                    throw error(
                        .multipleDocuments, "a second YAML document starts here; remove the separator", event.start_mark
                    )
                }
                var first = try next()
                defer { yaml_event_delete(&first) }
                root = try node(first, depth: 0)
            default: return root
            }
        }
    }

    private func next() throws(YAMLError) -> yaml_event_t {
        var event = yaml_event_t()
        guard yaml_parser_parse(parser, &event) == 1 else { throw failure() }
        return event
    }

    private mutating func node(_ event: borrowing yaml_event_t, depth: Int) throws(YAMLError) -> YAMLNode {
        nodes += 1
        guard nodes <= limits.nodes else {
            throw error(.overLimit, "there are more than \(limits.nodes) values; shorten it", event.start_mark)
        }
        guard depth <= limits.depth else {
            throw error(.overLimit, "values are nested more than \(limits.depth) deep", event.start_mark)
        }
        switch event.type {
        case YAML_SCALAR_EVENT: return noting(scalar(event), event.data.scalar.anchor)
        case YAML_SEQUENCE_START_EVENT:
            return noting(try sequence(event, depth: depth), event.data.sequence_start.anchor)
        case YAML_MAPPING_START_EVENT:
            return noting(try mapping(event, depth: depth), event.data.mapping_start.anchor)
        default: return try reference(event, depth: depth)
        }
    }

    /// Notes a node if it has an anchor. A later anchor of the same name replaces an earlier one.
    private mutating func noting(_ node: YAMLNode, _ anchor: UnsafeMutablePointer<UInt8>?) -> YAMLNode {
        if limits.followsReferences, let name = string(anchor) { anchors[name] = (node, TreeSize(of: node)) }
        return node
    }

    /// Returns the node to which a reference refers. Its contents count again, so that a short text
    /// cannot become a large tree.
    private mutating func reference(_ event: borrowing yaml_event_t, depth: Int) throws(YAMLError) -> YAMLNode {
        guard limits.followsReferences else {
            throw error(
                .alias, "references (*name) are not supported; write the value out, or put it in quotes",
                event.start_mark)
        }
        guard let (node, size) = string(event.data.alias.anchor).flatMap({ anchors[$0] }) else {
            throw error(
                .alias, "there is no &name before the reference *name; write the value out, or put it in quotes",
                event.start_mark)
        }
        nodes += size.nodes
        repeatedBytes += size.bytes
        guard depth + size.height <= limits.depth else {
            throw error(.overLimit, "values are nested more than \(limits.depth) deep", event.start_mark)
        }
        guard nodes <= limits.nodes, repeatedBytes <= limits.bytes else {
            throw error(.overLimit, "references (*name) repeat too much; write the values out", event.start_mark)
        }
        let start = offset(event.start_mark)
        var copy = YAMLNode(node.content, span: start..<max(start, offset(event.end_mark)), tag: node.tag)
        copy.target = node.span
        return copy
    }

    private func scalar(_ event: borrowing yaml_event_t) -> YAMLNode {
        let data = event.data.scalar
        let value = String(decoding: UnsafeBufferPointer(start: data.value, count: data.length), as: UTF8.self)
        let start = offset(event.start_mark)
        var end = offset(event.end_mark)
        let style: YAMLScalar.Style
        switch data.style {
        case YAML_SINGLE_QUOTED_SCALAR_STYLE: style = .singleQuoted
        case YAML_DOUBLE_QUOTED_SCALAR_STYLE: style = .doubleQuoted
        case YAML_LITERAL_SCALAR_STYLE, YAML_FOLDED_SCALAR_STYLE:
            style = data.style == YAML_LITERAL_SCALAR_STYLE ? .literal : .folded
            end = endOfBlockScalar(start, end)
        default: style = .plain
        }
        return YAMLNode(
            .scalar(YAMLScalar(value, style)), span: start..<max(start, end), tag: string(data.tag),
            hasAnchor: data.anchor != nil)
    }

    private mutating func sequence(
        _ start: borrowing yaml_event_t, depth: Int
    ) throws(YAMLError) -> YAMLNode {
        let data = start.data.sequence_start
        let isFlow = data.style == YAML_FLOW_SEQUENCE_STYLE
        var children: [YAMLNode] = []
        var end = offset(start.end_mark)
        while true {
            var event = try next()
            defer { yaml_event_delete(&event) }
            if event.type == YAML_SEQUENCE_END_EVENT {
                if isFlow { end = offset(event.end_mark) }
                break
            }
            let child = try node(event, depth: depth + 1)
            end = child.span.upperBound
            children.append(child)
        }
        let first = offset(start.start_mark)
        return YAMLNode(
            .sequence(children, isFlow ? .flow : .block), span: first..<max(first, end), tag: string(data.tag),
            hasAnchor: data.anchor != nil)
    }

    private mutating func mapping(
        _ start: borrowing yaml_event_t, depth: Int
    ) throws(YAMLError) -> YAMLNode {
        let data = start.data.mapping_start
        let isFlow = data.style == YAML_FLOW_MAPPING_STYLE
        var pairs: [YAMLPair] = []
        var names = Set<String>()
        var end = offset(start.end_mark)
        while true {
            var event = try next()
            defer { yaml_event_delete(&event) }
            if event.type == YAML_MAPPING_END_EVENT {
                if isFlow { end = offset(event.end_mark) }
                break
            }
            let key = try node(event, depth: depth + 1)
            if let name = key.scalar?.text, !names.insert(name).inserted {
                throw error(
                    .duplicateKey, "the key \"\(name.prefix(80))\" is there twice; remove one of the two",
                    event.start_mark)
            }
            var second = try next()
            defer { yaml_event_delete(&second) }
            let value = try node(second, depth: depth + 1)
            end = value.span.upperBound
            pairs.append(YAMLPair(key: key, value: value))
        }
        let first = offset(start.start_mark)
        return YAMLNode(
            .mapping(pairs, isFlow ? .flow : .block), span: first..<max(first, end), tag: string(data.tag),
            hasAnchor: data.anchor != nil)
    }

    private func offset(_ mark: yaml_mark_t) -> Int {
        offsets.offset(ofCharacter: mark.index, in: text)
    }

    private func string(_ pointer: UnsafeMutablePointer<UInt8>?) -> String? {
        pointer.map { String(cString: $0) }
    }

    /// Returns the end of a block scalar without the line breaks after its content, which libyaml
    /// includes up to the next token.
    private func endOfBlockScalar(_ start: Int, _ end: Int) -> Int {
        let shift = offsets.offset(ofCharacter: 0, in: text)
        let source = text[(start - shift)..<(end - shift)]
        let header = source.prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "#") }
        let keepsBreaks = header.contains(UInt8(ascii: "+"))
        var rest = source
        while let last = rest.last {
            let isBreak = last == UInt8(ascii: "\n") || last == UInt8(ascii: "\r")
            guard isBreak else {
                let line = rest.lastLine
                let isBlank = line.allSatisfy { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
                guard isBlank, !keepsBreaks, line.startIndex > rest.startIndex else { break }
                rest = rest[..<line.startIndex]
                continue
            }
            rest.removeLast()
            if last == UInt8(ascii: "\n"), rest.last == UInt8(ascii: "\r") { rest.removeLast() }
            if keepsBreaks { break }
        }
        return shift + rest.endIndex
    }

    private func error(_ code: YAMLError.Code, _ message: String, _ mark: yaml_mark_t) -> YAMLError {
        YAMLError(code, message, line: firstLine + mark.line, column: mark.column + 1)
    }

    private func failure() -> YAMLError {
        let parser = parser.pointee
        let problem = parser.problem.map { String(cString: $0) } ?? ""
        switch parser.error {
        case YAML_MEMORY_ERROR:
            return YAMLError(.outOfMemory, "not enough memory to read it", line: firstLine, column: 1)
        case YAML_READER_ERROR:
            let before = text[..<min(parser.problem_offset, text.count)]
            let line = before.count { $0 == UInt8(ascii: "\n") }
            let column = before.lastLine.count { $0 & 0xC0 != 0x80 }
            let what =
                problem.hasPrefix("control")
                ? "there is a control character; remove it" : "the bytes are not UTF-8; save the file as UTF-8"
            return YAMLError(.invalidCharacter, what, line: firstLine + line, column: column + 1)
        default:
            let isSeenLate = parser.context != nil && GrammarProblem.isSeenLate(problem)
            let mark = isSeenLate ? parser.context_mark : parser.problem_mark
            return error(.malformed, GrammarProblem.sentence(for: problem), mark)
        }
    }
}

/// The size of a tree, with what its references repeat.
private struct TreeSize {
    var nodes = 1
    var bytes = 0
    var height = 0

    init(of node: YAMLNode) {
        switch node.content {
        case .scalar(let scalar): bytes = scalar.text.utf8.count
        case .sequence(let nodes, _): nodes.forEach { add(TreeSize(of: $0)) }
        case .mapping(let pairs, _):
            for pair in pairs {
                add(TreeSize(of: pair.key))
                add(TreeSize(of: pair.value))
            }
        }
    }

    private mutating func add(_ child: TreeSize) {
        nodes += child.nodes
        bytes += child.bytes
        height = max(height, child.height + 1)
    }
}

extension Slice<UnsafeBufferPointer<UInt8>> {
    /// The part after the last line feed.
    fileprivate var lastLine: Self {
        lastIndex(of: UInt8(ascii: "\n")).map { self[($0 + 1)...] } ?? self
    }
}
