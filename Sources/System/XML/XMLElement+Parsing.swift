import CExpat

extension XMLElement {
    /// Reads a document in UTF-8, or in UTF-16 if it begins with a byte-order mark.
    ///
    /// A document type is refused as soon as it begins, so a document can define no entities, and
    /// nothing outside it is ever read. The encoding that the XML declaration names is ignored.
    package init(parsing bytes: [UInt8], limits: XMLLimits = XMLLimits()) throws(XMLError) {
        guard bytes.count <= limits.bytes else {
            throw XMLError(.overLimit, "the document is longer than \(limits.bytes) bytes")
        }
        guard let parser = XML_ParserCreate("UTF-8") else { throw XMLError(.outOfMemory, "not enough memory") }
        defer { XML_ParserFree(parser) }
        let builder = XMLTreeBuilder(parser, limits)
        self = try withExtendedLifetime(builder) { () throws(XMLError) in try builder.parse(bytes) }
    }
}

/// Builds a tree from the events of one parse. The handlers run inside `parse`, on its thread.
private final class XMLTreeBuilder {
    private let parser: XML_Parser
    private let limits: XMLLimits
    /// The open elements, the root first. The first entry is a placeholder that receives the root
    /// element when it is closed.
    private var open: [XMLElement] = [XMLElement(name: "")]
    /// The UTF-8 text of the innermost open element since its last child. The parser reports text
    /// in pieces.
    private var pending: [UInt8] = []
    private var elements = 0
    /// The error for which a handler stopped the parser.
    private var refusal: XMLError?

    init(_ parser: XML_Parser, _ limits: XMLLimits) {
        self.parser = parser
        self.limits = limits
        XML_SetUserData(parser, Unmanaged.passUnretained(self).toOpaque())
        XML_SetElementHandler(
            parser,
            { data, name, _ in name.map { name in XMLTreeBuilder.of(data)?.start(name) } },
            { data, _ in XMLTreeBuilder.of(data)?.end() })
        XML_SetCharacterDataHandler(parser) { data, text, count in
            guard let text, count > 0 else { return }
            let bytes = UnsafeRawBufferPointer(start: text, count: Int(count))
            XMLTreeBuilder.of(data)?.pending.append(contentsOf: bytes)
        }
        XML_SetStartDoctypeDeclHandler(parser) { data, _, _, _, _ in
            XMLTreeBuilder.of(data)?.refuse(.documentType, "the document has a document type")
        }
    }

    private static func of(_ data: UnsafeMutableRawPointer?) -> XMLTreeBuilder? {
        data.map { Unmanaged<XMLTreeBuilder>.fromOpaque($0).takeUnretainedValue() }
    }

    func parse(_ bytes: [UInt8]) throws(XMLError) -> XMLElement {
        let status = bytes.withUnsafeBytes { bytes -> XML_Status? in
            guard let count = CInt(exactly: bytes.count) else { return nil }
            return XML_Parse(parser, bytes.baseAddress, count, 1)
        }
        if let refusal { throw refusal }
        guard status == XML_STATUS_OK, open.count == 1, let root = open[0].children.first else { throw failure() }
        return root
    }

    private func failure() -> XMLError {
        let code = XML_GetErrorCode(parser)
        if code == XML_ERROR_NO_MEMORY { return error(.outOfMemory, "not enough memory") }
        return error(.malformed, XML_ErrorString(code).map { String(cString: $0) } ?? "not well-formed")
    }

    private func error(_ code: XMLError.Code, _ message: String) -> XMLError {
        XMLError(
            code, message, line: Int(clamping: XML_GetCurrentLineNumber(parser)),
            column: Int(clamping: XML_GetCurrentColumnNumber(parser)) + 1)
    }

    private func refuse(_ code: XMLError.Code, _ message: String) {
        guard refusal == nil else { return }
        refusal = error(code, message)
        XML_StopParser(parser, XML_Bool(XML_FALSE))
    }

    private func start(_ name: UnsafePointer<XML_Char>) {
        // Handlers may be called once more after the parser was stopped.
        guard refusal == nil else { return }
        elements += 1
        guard elements <= limits.elements else {
            return refuse(.overLimit, "the document has more than \(limits.elements) elements")
        }
        guard open.count <= limits.depth else {
            return refuse(.overLimit, "elements are nested more than \(limits.depth) deep")
        }
        flush()
        guard let name = Self.localName(String(cString: name)) else {
            return refuse(.malformed, "an element's name has a colon but no prefix or no name")
        }
        open.append(XMLElement(name: name))
    }

    /// Returns the part of a qualified name after the prefix; nil if one of the two is no name (Namespaces in XML, 4).
    private static func localName(_ qualified: String) -> String? {
        guard qualified.utf8.contains(UInt8(ascii: ":")) else { return qualified }
        let parts = qualified.unicodeScalars.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty, let first = parts[1].first else { return nil }
        // The characters that a name may have, but not begin with.
        switch first {
        case "0"..."9", "-", ".", "\u{B7}", "\u{300}"..."\u{36F}", "\u{203F}"..."\u{2040}": return nil
        default: return String(parts[1])
        }
    }

    private func end() {
        guard refusal == nil, open.count > 1 else { return }
        flush()
        let element = open.removeLast()
        open[open.endIndex - 1].children.append(element)
    }

    private func flush() {
        guard !pending.isEmpty else { return }
        // The parser reports whole characters only.
        open[open.endIndex - 1].text += String(decoding: pending, as: UTF8.self)
        pending.removeAll(keepingCapacity: true)
    }
}
