/// A mapping of a configuration file with typed accessors. A wrong type, an unknown key or a value
/// out of range is an error that names the key and its line.
///
/// A key that is absent, or has no value, reads as nil.
package struct YAMLConfiguration: Sendable {
    /// The prefix of this mapping's keys in messages; empty at the top level.
    private let path: String
    private let pairs: [YAMLPair]
    private let lineStarts: [Int]

    /// Parses a configuration. An empty text is an empty mapping.
    ///
    /// - Throws: `YAMLError` if the text is not a YAML mapping with plain keys.
    package init(parsing bytes: [UInt8], limits: YAMLLimits = YAMLLimits()) throws(YAMLError) {
        let root = try YAMLParser.parse(bytes, limits: limits)
        lineStarts = [0] + bytes.indices.filter { bytes[$0] == UInt8(ascii: "\n") }.map { $0 + 1 }
        path = ""
        guard let root else {
            pairs = []
            return
        }
        guard let mapping = root.mapping else {
            throw YAMLError(.invalidValue, "the file must be lines of \"key: value\"", line: 1, column: 1)
        }
        pairs = mapping
    }

    private init(path: String, pairs: [YAMLPair], lineStarts: [Int]) {
        self.path = path
        self.pairs = pairs
        self.lineStarts = lineStarts
    }

    /// The keys in the order of the file.
    package var keys: [String] { pairs.compactMap { $0.key.scalar?.text } }

    /// Checks that all keys are known.
    ///
    /// - Throws: `unknownKey` for the first key that is not in `known`, with the nearest known key.
    package func allow(_ known: [String]) throws(YAMLError) {
        for pair in pairs {
            guard let name = pair.key.scalar?.text else {
                throw error(.unknownKey, "a key must be a plain word", at: pair.key)
            }
            guard !known.contains(name) else { continue }
            let hint =
                NearestWord.to(name, among: known).map { "did you mean \"\(path)\($0)\"?" }
                ?? "the keys here are \(known.joined(separator: ", "))"
            throw error(.unknownKey, "unknown key \"\(path)\(name.prefix(80))\"; \(hint)", at: pair.key)
        }
    }

    /// Returns a scalar of any type as text.
    package func string(_ key: String) throws(YAMLError) -> String? {
        guard let node = node(key) else { return nil }
        guard let scalar = node.scalar else { throw wrong(key, "one value", node) }
        return scalar.text
    }

    /// Returns a list of scalars as text; a single scalar is a list of one.
    package func strings(_ key: String) throws(YAMLError) -> [String]? {
        guard let node = node(key) else { return nil }
        if let scalar = node.scalar { return [scalar.text] }
        let texts = node.sequence?.compactMap { $0.scalar?.text }
        guard let texts, texts.count == node.sequence?.count else { throw wrong(key, "a list of values", node) }
        return texts
    }

    /// Returns an integer.
    ///
    /// - Throws: `invalidValue` if the value is not an integer or outside `range`.
    package func integer(_ key: String, in range: ClosedRange<Int> = Int.min...Int.max) throws(YAMLError) -> Int? {
        guard let node = node(key) else { return nil }
        guard let text = node.scalar?.text, let value = Int(text) else { throw wrong(key, "a whole number", node) }
        guard range.contains(value) else {
            throw wrong(key, "between \(range.lowerBound) and \(range.upperBound)", node)
        }
        return value
    }

    /// Returns a number.
    ///
    /// - Throws: `invalidValue` if the value is not a number or outside `range`.
    package func number(_ key: String, in range: ClosedRange<Double>) throws(YAMLError) -> Double? {
        guard let node = node(key) else { return nil }
        guard let text = node.scalar?.text, let value = Double(text) else { throw wrong(key, "a number", node) }
        guard range.contains(value) else {
            throw wrong(key, "between \(range.lowerBound) and \(range.upperBound)", node)
        }
        return value
    }

    /// Returns a Boolean: `true`, `yes`, `on` or `false`, `no`, `off`, in any case.
    package func boolean(_ key: String) throws(YAMLError) -> Bool? {
        guard let node = node(key) else { return nil }
        switch node.scalar?.text.lowercased() {
        case "true", "yes", "on": return true
        case "false", "no", "off": return false
        default: throw wrong(key, "true or false", node)
        }
    }

    /// Returns one of a fixed set of words.
    package func choice(_ key: String, among words: [String]) throws(YAMLError) -> String? {
        guard let node = node(key) else { return nil }
        guard let text = node.scalar?.text, words.contains(text) else {
            throw wrong(key, "one of \(words.joined(separator: ", "))", node)
        }
        return text
    }

    /// Returns a nested mapping.
    package func mapping(_ key: String) throws(YAMLError) -> YAMLConfiguration? {
        guard let node = node(key) else { return nil }
        guard let inner = node.mapping else { throw wrong(key, "lines of \"key: value\", indented below it", node) }
        return YAMLConfiguration(path: "\(path)\(key).", pairs: inner, lineStarts: lineStarts)
    }

    /// Returns an error about the value of `key`, for checks that the caller performs.
    package func invalid(_ key: String, mustBe expectation: String) -> YAMLError {
        pairs.first { $0.key.scalar?.text == key }.map { wrong(key, expectation, $0.value) }
            ?? YAMLError(.invalidValue, "\(path)\(key) must be \(expectation)", line: 1, column: 1)
    }

    private func node(_ key: String) -> YAMLNode? {
        guard let value = pairs.first(where: { $0.key.scalar?.text == key })?.value else { return nil }
        return value.isAbsent || value.scalar == YAMLScalar("null", .plain) || value.scalar == YAMLScalar("~", .plain)
            ? nil : value
    }

    private func wrong(_ key: String, _ expectation: String, _ node: YAMLNode) -> YAMLError {
        error(.invalidValue, "\(path)\(key) must be \(expectation)", at: node)
    }

    private func error(_ code: YAMLError.Code, _ message: String, at node: YAMLNode) -> YAMLError {
        let offset = node.span.lowerBound
        let line = lineStarts.lastIndex { $0 <= offset } ?? 0
        // The column counts bytes, which is right unless non-ASCII text precedes the value on its
        // line.
        return YAMLError(code, message, line: line + 1, column: offset - lineStarts[line] + 1)
    }
}
