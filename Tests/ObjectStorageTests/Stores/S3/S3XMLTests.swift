import Testing

@testable import ObjectStorage

@Suite struct S3XMLTests {
    @Test func `elements, text and entities are read, the rest is passed over`() throws {
        let text = """
            <?xml version="1.0" encoding="UTF-8"?><!-- by hand -->
            <Error xmlns="http://s3.amazonaws.com/doc/2006-03-01/" a='1>2'><Code>No&#x53;uch&#75;ey</Code><Empty/>
            <Message>a &amp; b &lt;c&gt; &quot;d&apos; ü</Message></Error>
            """
        let xml = try #require(S3XML(parsing: Array(text.utf8)))
        #expect(xml.name == "Error")
        #expect(xml["Code"] == "NoSuchKey")
        #expect(xml["Message"] == "a & b <c> \"d' ü")
        #expect(xml["Empty"] == "")
        #expect(xml["Absent"] == nil)
    }

    @Test(arguments: [
        "", "text", "<a>", "<a></b>", "<a", "<a b></a>", "<a b=c></a>", "<a>&unknown;</a>", "<a>&#xD800;</a>",
        "<a/><b/>",
        "<!DOCTYPE a [<!ENTITY x 'y'>]><a>&x;</a>", "<html><p>unclosed</html>", "<a>\u{0}", "</a>", "<a b='1/>",
        String(repeating: "<a>", count: 20) + String(repeating: "</a>", count: 20),
    ])
    func `XML that is not well formed or too deep is rejected`(text: String) {
        #expect(S3XML(parsing: Array(text.utf8)) == nil)
    }

    @Test(arguments: 0..<200)
    func `no damage brings the reader down`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var bytes = Array("<a x='1'><!-- c --><b>&amp;&#65;</b><?pi?><c/></a>".utf8)
        for _ in 0..<Int.random(in: 1...6, using: &generator) {
            let place = Int.random(in: 0..<bytes.count, using: &generator)
            switch Int.random(in: 0..<3, using: &generator) {
            case 0: bytes[place] = UInt8.random(in: 0...255, using: &generator)
            case 1: bytes.remove(at: place)
            default: bytes.insert(UInt8.random(in: 32...127, using: &generator), at: place)
            }
        }
        _ = S3XML(parsing: bytes)
    }

    @Test func `a listing is read, keys encoded or not`() throws {
        func page(_ encoding: String, _ key: String) -> ObjectPage? {
            S3Listing.page(
                Array(
                    """
                    <ListBucketResult><Name>b</Name>\(encoding)<IsTruncated>true</IsTruncated><Contents><Key>\(key)</Key>
                    <LastModified>2013-05-24T00:00:00.000Z</LastModified><ETag>&quot;e&quot;</ETag><Size>12</Size></Contents>
                    </ListBucketResult>
                    """.utf8))
        }
        let encoded = try #require(page("<EncodingType>url</EncodingType>", "a+b%2Bc/d"))
        #expect(encoded.objects.map(\.key.text) == ["a b+c/d"])
        #expect(encoded.next?.text == "a b+c/d")
        #expect(encoded.objects.first?.size == 12)
        #expect(encoded.objects.first?.modified == 1_369_353_600)
        #expect(page("", "a+b%2Bc/d")?.objects.map(\.key.text) == ["a+b%2Bc/d"])
        #expect(page("", "")?.objects == nil)
        #expect(S3Listing.page(Array("<html></html>".utf8)) == nil)
    }
}
