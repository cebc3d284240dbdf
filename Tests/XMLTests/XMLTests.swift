import Testing

@testable import XML

@Suite struct XMLTests {
    private func parse(_ text: String, _ limits: XMLLimits = XMLLimits()) throws(XMLError) -> XMLElement {
        try XMLElement(parsing: Array(text.utf8), limits: limits)
    }

    private func code(_ text: String, _ limits: XMLLimits = XMLLimits()) -> XMLError.Code? {
        do {
            _ = try parse(text, limits)
            return nil
        } catch { return error.code }
    }

    // MARK: reading

    @Test func `prefixes, attributes, comments, declarations and empty elements are read over`() throws {
        let tree = try parse(
            """
            <?xml version="1.0" encoding="UTF-8"?><!-- hi -->
            <s:Delete xmlns:s="x"> <?p?><Quiet/><s:Key a='b'>k</s:Key><!--x--></s:Delete>

            """)
        #expect(tree.name == "Delete")
        #expect(tree["Key"] == "k")
        #expect(tree["Quiet"] == "")
        #expect(tree["Absent"] == nil)
    }

    @Test func `a prefix and what follows it are names`() throws {
        for name in ["a:", ":a", "a::b", "a:b:c", "a:1", "a:-b", "a:.b", "a:\u{B7}", "a:\u{300}b", ":"] {
            #expect(code("<\(name)/>") == .malformed, "\(name)")
        }
        for name in ["b", "_1", "é-.1"] { #expect(try parse("<a:\(name)/>").name == name) }
    }

    /// The two readers that this one replaced disagreed about the first of these, and refused the second.
    @Test func `angle brackets in attributes and CDATA sections are read`() throws {
        #expect(try parse(#"<Delete><Key a="1>2">k</Key></Delete>"#)["Key"] == "k")
        #expect(try parse(#"<Delete><Key a='/>'>k</Key></Delete>"#)["Key"] == "k")
        #expect(try parse("<a>x <![CDATA[<b>&amp;]]> y</a>") == XMLElement("a", "x <b>&amp; y"))
        #expect(try parse("<a>1<![CDATA[]]><b/>2</a>").text == "12")
    }

    @Test func `entities and character references are resolved, others are refused`() throws {
        #expect(try parse("<a>&lt;&#65;&#x42;&amp;amp;&gt;&quot;&apos;</a>").text == "<AB&amp;>\"'")
        #expect(try parse("<Error><Code>No&#x53;uch&#75;ey</Code></Error>")["Code"] == "NoSuchKey")
        for text in [
            "<a>&nbsp;</a>", "<a>&#xD800;</a>", "<a>&#99999999;</a>", "<a>&lt</a>", "<a>&#0;</a>", "<a>&#1;</a>",
        ] { #expect(code(text) == .malformed, "\(text)") }
    }

    @Test func `elements are found by name`() throws {
        let tree = try parse("<r><a><k>1</k></a><k>2</k><k>3</k></r>")
        #expect(tree.first("k")?.text == "1")
        #expect(tree.all("k").map(\.text) == ["2", "3"])
        #expect(tree.first("r") == tree)
        #expect(tree.first("x") == nil)
    }

    @Test(arguments: [
        "", "text", "<a>", "<a></b>", "<a/><b/>", "<a><b></a></b>", "<>x</>", "<a", "<1/>", "</a>", "<a b></a>",
        "<a b=c></a>", "<a b='1/>", "<a x='1' x='2'/>", "<html><p>unclosed</html>", "<a>\u{0}</a>", "<a/>text",
        "<a>]]></a>", "<a><![CDATA[x</a>", "<a><!-- x -- y --></a>", " <?xml version='1.0'?><a/>",
    ])
    func `what is not well-formed is refused`(text: String) {
        #expect(code(text) == .malformed)
    }

    @Test func `bytes are UTF-8 regardless of the declaration, or UTF-16 with a byte-order mark`() throws {
        for declaration in ["", "<?xml version='1.0' encoding='ISO-8859-1'?>"] {
            let latin = Array("\(declaration)<a>".utf8) + [0xE9] + Array("</a>".utf8)
            #expect(throws: XMLError.self) { try XMLElement(parsing: latin) }
            #expect(try parse("\(declaration)<a>é</a>").text == "é")
        }
        let wide = "\u{FEFF}<a>é</a>".utf16.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)] }
        #expect(try XMLElement(parsing: wide).text == "é")
    }

    @Test(arguments: [
        "<!DOCTYPE a><a/>",
        "<!DOCTYPE a [<!ENTITY x \"y\">]><a>&x;</a>",
        "<!DOCTYPE a SYSTEM \"file:///etc/passwd\"><a/>",
        "<!DOCTYPE a [<!ENTITY x SYSTEM \"file:///etc/passwd\">]><a>&x;</a>",
        "<!DOCTYPE a [<!ENTITY % p SYSTEM \"http://127.0.0.1:1/\">%p;]><a/>",
        "<!DOCTYPE a [<!ATTLIST a b CDATA 'c'>]><a/>",
        "<?xml version='1.0' standalone='no'?><!DOCTYPE a [<!ENTITY x 'y'>]><a/>",
    ])
    func `a document type is refused`(text: String) {
        #expect(code(text) == .documentType)
    }

    @Test func `a billion laughs end before the first`() {
        var text = "<!DOCTYPE lolz [<!ENTITY l0 \"lol\">"
        for level in 1...9 {
            text += "<!ENTITY l\(level) \"\(String(repeating: "&l\(level - 1);", count: 10))\">"
        }
        text += "]><lolz>&l9;</lolz>"
        #expect(code(text) == .documentType)
    }

    // MARK: limits

    @Test func `depth, elements and bytes are limited`() {
        func nested(_ depth: Int) -> String {
            String(repeating: "<a>", count: depth) + String(repeating: "</a>", count: depth)
        }
        #expect(code(nested(16)) == nil)
        #expect(code(nested(17)) == .overLimit)
        #expect(code(nested(100_000)) == .overLimit)
        // The default lets 10,000 parts of an upload through, each with all that S3 knows of one.
        let parts = String(repeating: "<Part><a/><b/><c/><d/></Part>", count: 19_999)
        #expect(code("<r>\(parts)</r>") == nil)
        #expect(code("<r>\(parts)<a/><a/><a/><a/><a/></r>") == .overLimit)
        let wide = "<r>" + String(repeating: "<a/>", count: 9) + "</r>"
        #expect(code(wide, XMLLimits(elements: 10)) == nil)
        #expect(code(wide, XMLLimits(elements: 9)) == .overLimit)
        #expect(code("<a>12</a>", XMLLimits(bytes: 9)) == nil)
        #expect(code("<a>123</a>", XMLLimits(bytes: 9)) == .overLimit)
    }

    @Test func `a refusal names the place`() throws {
        let error = try #require(throws: XMLError.self) { try parse("<a>\n <b></c>\n</a>") }
        #expect(error.line == 2 && error.column == 7, "\(error)")
    }

    @Test(arguments: 0..<200)
    func `damaged documents are refused or read, and never trap`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var bytes = Array("<a x='1'><!-- c --><b>&amp;&#65;</b><?pi?><c/><![CDATA[d]]></a>".utf8)
        for _ in 0..<Int.random(in: 1...6, using: &generator) {
            let place = Int.random(in: 0..<bytes.count, using: &generator)
            switch Int.random(in: 0..<3, using: &generator) {
            case 0: bytes[place] = UInt8.random(in: 0...255, using: &generator)
            case 1: bytes.remove(at: place)
            default: bytes.insert(UInt8.random(in: 32...127, using: &generator), at: place)
            }
        }
        guard let tree = try? XMLElement(parsing: bytes) else { return }
        #expect((try? XMLElement(parsing: tree.document())) == tree)
    }

    // MARK: writing

    @Test func `what is written is read back`() throws {
        let texts = ["plain", "a<b>&\"c'", "ünï ✓", " spaces ", "line\nbreak\ttab\rreturn", "", "]]>", "\r\n"]
        let element = XMLElement("Root", texts.map { XMLElement("Item", $0) })
        let tree = try XMLElement(parsing: element.document(namespace: "http://example.org/?a&b"))
        #expect(tree == element)
    }

    @Test func `attributes and namespaces are written and escaped`() {
        let element = XMLElement("A", [XMLElement("B", "t")], attributes: ["z": "1", "a": "<\"&\n"])
        #expect(
            String(decoding: element.document(namespace: "urn:x"), as: UTF8.self) == """
                <?xml version="1.0" encoding="UTF-8"?>
                <A xmlns="urn:x" a="&lt;&quot;&amp;&#10;" z="1"><B>t</B></A>
                """)
    }

    @Test func `characters that XML cannot carry are replaced`() throws {
        let tree = try XMLElement(parsing: XMLElement("A", "x\u{1}y\0z\u{FFFF}").document())
        #expect(tree.text == "x\u{FFFD}y\u{FFFD}z\u{FFFD}")
    }
}
