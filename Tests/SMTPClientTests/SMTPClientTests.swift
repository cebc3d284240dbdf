import Testing

@testable import SMTPClient

struct SMTPClientTests {
    @Test(arguments: [
        ("smtp://localhost:25", true), ("smtp://127.0.0.1", true), ("smtp://127.1.2.3:2525", true),
        ("smtp://[::1]:25", true), ("smtp://user@localhost", true), ("smtp://127.evil.example", false),
        ("smtp://localhost.example", false), ("smtp://mail.example/?x=//localhost", false),
        ("smtp://localhost@mail.example", false), ("smtp://127.0.0.256", false),
        ("smtp://192.0.2.1", false), ("", false),
    ]) func `only a mail server of this machine needs no TLS`(url: String, isLocal: Bool) {
        #expect(SMTPClient.isLocal(url) == isLocal)
    }
}
