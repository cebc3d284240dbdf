import HTTPMessages
import Testing

@testable import ObjectStorage

@Suite struct S3ListingTests {
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

    @Test func `attributes and CDATA sections are read as XML has them`() throws {
        let page = try #require(
            S3Listing.page(
                Array(
                    #"<ListBucketResult a="1>2"><Contents><Key b="/>"><![CDATA[a&b]]></Key><Size>1</Size></Contents></ListBucketResult>"#
                        .utf8)))
        #expect(page.objects.map(\.key.text) == ["a&b"])
    }

    @Test func `an error is read as XML has it, and only from an Error`() {
        func code(_ body: String) -> String? { S3Refusal(status: 403, headers: [:], body: Array(body.utf8)).code }
        #expect(code(#"<Error a="1>2"><Code><![CDATA[ExpiredToken]]></Code></Error>"#) == "ExpiredToken")
        #expect(code("<Error><Code>Expired&#84;oken</Code></Error>") == "ExpiredToken")
        #expect(code("<Fault><Code>ExpiredToken</Code></Fault>") == nil)
        #expect(code("<!DOCTYPE Error [<!ENTITY x 'ExpiredToken'>]><Error><Code>&x;</Code></Error>") == nil)
    }
}
