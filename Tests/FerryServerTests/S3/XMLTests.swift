import Testing

@testable import FerryServer

struct XMLTests {
    private func parse(_ text: String) -> XMLTree? { XMLTree(parsing: Array(text.utf8)) }

    @Test func `what is written is read back`() throws {
        let texts = ["plain", "a<b>&\"c'", "ünï ✓", " spaces ", "line\nbreak\ttab\rreturn", ""]
        let element = XMLElement("Root", texts.map { XMLElement("Item", $0) })
        let tree = try #require(XMLTree(parsing: element.document()))
        #expect(tree.name == "Root")
        #expect(tree.children.map(\.text) == texts)
    }

    @Test func `characters that XML cannot carry are replaced`() throws {
        let tree = try #require(XMLTree(parsing: XMLElement("A", "x\u{1}y\0z").document()))
        #expect(tree.text == "x\u{FFFD}y\u{FFFD}z")
    }

    @Test func `prefixes, attributes, comments and empty elements are no matter`() throws {
        let tree = try #require(
            parse(
                "<?xml version=\"1.0\"?><!-- hi --><s:Delete xmlns:s=\"x\">\n <Quiet/><s:Key a='b'>k</s:Key><!--x--></s:Delete>\n"
            ))
        #expect(tree.name == "Delete" && tree["Key"] == "k" && tree["Quiet"] == "")
    }

    @Test func `entities are resolved, others refused`() {
        #expect(parse("<a>&lt;&#65;&#x42;&amp;amp;</a>")?.text == "<AB&amp;")
        for text in ["<a>&nbsp;</a>", "<a>&#xD800;</a>", "<a>&#99999999;</a>", "<a>&lt</a>"] {
            #expect(parse(text) == nil)
        }
    }

    @Test(arguments: [
        "", "text", "<a>", "<a></b>", "<a/><b/>", "<a><b></a></b>", "<>x</>", "<a",
        "<!DOCTYPE a [<!ENTITY x \"y\">]><a>&x;</a>",
        "<a><![CDATA[x]]></a>", "<1/>",
    ])
    func `what is no XML, or more than S3 needs of it, is refused`(text: String) {
        #expect(parse(text) == nil)
    }

    @Test func `deep nesting is refused and not followed`() {
        let deep = String(repeating: "<a>", count: 100_000) + String(repeating: "</a>", count: 100_000)
        #expect(parse(deep) == nil)
    }

    @Test func `bytes that are no text are refused`() {
        #expect(XMLTree(parsing: [0x3C, 0x61, 0x3E, 0xFF, 0x3C, 0x2F, 0x61, 0x3E]) == nil)
    }
}
