import Testing

@testable import IdentityServer

@Suite struct MailPageTests {
    @Test func `no text ends an attribute or begins an element, whatever marks combine with its signs`() {
        let escaped = MailPage.escaped("a\"\u{301}b<\u{338}i>\u{301}&\u{200D}é")
        let expected = "a&quot;\u{301}b&lt;\u{338}i&gt;\u{301}&amp;\u{200D}é"
        #expect(escaped.unicodeScalars.elementsEqual(expected.unicodeScalars))
    }
}
