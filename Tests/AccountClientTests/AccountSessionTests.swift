import AccountClient
import Cryptography
import Glibc
import HTTPClient
import HTTPMessages
import HTTPServer
import IdentityProtocol
import IdentityServer
import IdentityTestKit
import JSON
import Synchronization
import SystemTestKit
import Testing

@Suite(.timeLimit(.minutes(1)))
struct AccountSessionTests {
    /// A monotonic clock that the test advances.
    private final class Clock: Sendable {
        private let instant = Mutex(ContinuousClock.now)
        var now: ContinuousClock.Instant { instant.withLock { $0 } }
        func advance(_ duration: Duration) { instant.withLock { $0 += duration } }
    }

    private func session(_ test: TestIdentity, _ clock: Clock) throws -> AccountSession {
        try AccountSession(file: SessionFile(path: "\(test.directory)/session.json"), now: { clock.now })
    }

    @Test(arguments: [0, 3_160_000_000] as [Int64])
    func `tokens are refreshed before they expire, whatever the server's year`(start: Int64) async throws {
        try await withIdentity(start: start) { test in
            let clock = Clock()
            let session = try session(test, clock)
            try await session.signInAnonymously(server: test.url)
            let first = try await session.idToken()
            clock.advance(.seconds(3299))
            test.clock.advance(3299)
            #expect(try await session.idToken() == first)
            clock.advance(.seconds(2))
            test.clock.advance(2)
            let second = try await session.idToken()
            #expect(second != first)
            #expect(try test.identity.authenticator.verify(second).userID == (await session.current)?.userID)
        }
    }

    @Test func `callers at the same time share one refresh`() async throws {
        try await withIdentity { test in
            let clock = Clock()
            let session = try session(test, clock)
            try await session.signInAnonymously(server: test.url)
            clock.advance(.seconds(3600))
            let before = test.requests.now
            let tokens = try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<20 { group.addTask { try await session.idToken() } }
                return try await group.reduce(into: Set<String>()) { $0.insert($1) }
            }
            #expect(tokens.count == 1 && test.requests.now == before + 1)
        }
    }

    @Test func `a session survives the process in a file that only its owner can read`() async throws {
        try await withIdentity { test in
            let clock = Clock()
            let first = try session(test, clock)
            try await first.signUp(server: test.url, email: "a@b.c", password: "secret1")
            let second = try session(test, clock)
            #expect(await second.current?.email == "a@b.c")
            let content = await second.current
            #expect(content == (await first.current))
            #expect(try await second.idToken().isEmpty == false)
            let path = "\(test.directory)/session.json"
            var info = stat()
            #expect(stat(path, &info) == 0 && info.st_mode & 0o777 == 0o600)
            #expect(chmod(path, 0o644) == 0)
            #expect(throws: IdentityError.self) { try session(test, clock) }
            #expect(chmod(path, 0o600) == 0)
            try await second.signOut()
            #expect(access(path, F_OK) != 0)
            #expect(await code { _ = try await second.idToken() } == .notSignedIn)
        }
    }

    @Test func `linking keeps the account and remembers the e-mail`() async throws {
        try await withIdentity { test in
            let session = try session(test, Clock())
            try await session.signInAnonymously(server: test.url)
            let before = await session.current
            try await session.link(email: "a@b.c", password: "secret1")
            let after = await session.current
            #expect(after?.userID == before?.userID && after?.email == "a@b.c")
        }
    }

    @Test func `the link of a mail signs in, once, and only with its address`() async throws {
        try await withIdentity(isEmulator: true) { test in
            let session = try session(test, Clock())
            let mail = try await sentMail(test, session, to: "ada@example.org")
            #expect(
                await code {
                    try await session.signIn(server: test.url, email: "eve@example.org", mailCode: mail)
                } == .invalidCredentials)
            try await session.signIn(server: test.url, email: "Ada@example.org", mailCode: mail)
            let user = try #require(await session.current)
            #expect(user.email == "ada@example.org")
            #expect(
                await code {
                    try await session.signIn(server: test.url, email: "ada@example.org", mailCode: mail)
                } == .invalidCode)
            #expect(await session.current == user)
        }
    }

    @Test func `the link of a mail gives an anonymous account its address`() async throws {
        try await withIdentity(isEmulator: true) { test in
            let session = try session(test, Clock())
            try await session.signInAnonymously(server: test.url)
            let user = try #require(await session.current?.userID)
            let mail = try await sentMail(test, session, to: "ada@example.org")
            try await session.link(email: "ada@example.org", mailCode: mail)
            #expect(await session.current?.userID == user)
            #expect(await session.current?.email == "ada@example.org")

            // The address has an account now. The refusal does not use up the code, which signs in to it.
            try await session.signInAnonymously(server: test.url)
            let other = try await sentMail(test, session, to: "ada@example.org")
            #expect(await code { try await session.link(email: "ada@example.org", mailCode: other) } == .emailExists)
            try await session.signIn(server: test.url, email: "ada@example.org", mailCode: other)
            #expect(await session.current?.userID == user)

            let third = try await sentMail(test, session, to: "eve@example.org")
            #expect(await code { try await session.link(email: "eve@example.org", mailCode: third) } == .notAllowed)
        }
    }

    @Test func `a stranger who signed up with an address loses it to the link`() async throws {
        try await withIdentity(isEmulator: true) { test in
            let stranger = try await test.client.signUp(email: "ada@example.org", password: "the stranger's")
            test.clock.advance(1)
            let session = try session(test, Clock())
            let mail = try await sentMail(test, session, to: "ada@example.org")
            try await session.signIn(server: test.url, email: "ada@example.org", mailCode: mail)
            #expect(await session.current?.userID == stranger.userID)
            #expect(await code { _ = try await test.client.refresh(stranger.refreshToken) } == .tokenExpired)
            #expect(
                await code {
                    _ = try await test.client.signIn(email: "ada@example.org", password: "the stranger's")
                } == .invalidCredentials)
            #expect(await code { _ = try await test.client.quota(idToken: stranger.idToken) } == .tokenExpired)

            // The owner's own password stays after that.
            try await session.link(email: "ada@example.org", password: "the owner's")
            let again = try await sentMail(test, session, to: "ada@example.org")
            try await session.signIn(server: test.url, email: "ada@example.org", mailCode: again)
            #expect(
                try await test.client.signIn(email: "ada@example.org", password: "the owner's").userID
                    == stranger.userID)
        }
    }

    /// Returns the code of a mail to sign in with.
    private func sentMail(_ test: TestIdentity, _ session: AccountSession, to email: String) async throws -> String {
        try await session.send(.signIn, to: email, server: test.url)
        let request = HTTPRequest(.get, "\(test.url)/emulator/v1/projects/ferry-test/oobCodes")
        let answer = try JSON(parsing: try await HTTPClient().send(request).body.collect(limit: 1 << 20))
        let mail = try #require(answer["oobCodes"]?.arrayValue?.last)
        #expect(mail["email"]?.stringValue == email)
        return try #require(mail["oobLink"]?.stringValue.flatMap { AccountMail.signInCode(in: $0) })
    }

    @Test(
        arguments: [
            ("https://a.test/x?mode=signIn&lang=en&oobCode=abc&apiKey=ferry", "abc"),
            ("app://open?link=https%3A%2F%2Fa.test%2F__%3Fmode%3DsignIn%26oobCode%3Dab%252Bc#top", "ab+c"),
            ("https://a.test/x?mode=resetPassword&oobCode=abc", nil), ("https://a.test/x?mode=signIn&oobCode=", nil),
            ("https://a.test/?link=https%3A%2F%2Fa.test%2F", nil), ("abc", nil), ("?", nil), ("", nil),
            ("https://a.test/x?mode=signIn&oobCode=%zz", nil),
        ] as [(String, String?)])
    func `codes are found in links to sign in with`(link: String, code: String?) {
        #expect(AccountMail.signInCode(in: link) == code)
    }

    @Test func `a custom token signs in to the account that it names`() async throws {
        try await withIdentity(isEmulator: true) { test in
            let service = "google.identity.identitytoolkit.v1.IdentityToolkit"
            let audience = "https://identitytoolkit.googleapis.com/\(service)"
            func token(_ user: String) -> String {
                let parts: [JSON] = [
                    ["alg": "none"],
                    [
                        "aud": .string(audience),
                        "iss": "tests", "sub": "tests", "uid": .string(user), "iat": .integer(test.clock.now),
                        "exp": .integer(test.clock.now + 3600),
                    ],
                ]
                return parts.map { Base64.encode($0.bytes, alphabet: .url) }.joined(separator: ".") + "."
            }
            let session = try session(test, Clock())
            try await session.signIn(server: test.url, customToken: token("ada"))
            #expect(await session.current?.userID == "ada")
            #expect(await session.current?.email == nil)
            #expect(try test.identity.authenticator.verify(try await session.idToken()).userID == "ada")
            #expect(
                await code { try await session.signIn(server: test.url, customToken: "nonsense") }
                    == .badProviderCredential)
            #expect(await session.current?.userID == "ada")
        }
    }

    @Test func `a rejected token is not used again`() async throws {
        try await withIdentity { test in
            let session = try session(test, Clock())
            try await session.signInAnonymously(server: test.url)
            let first = try await session.idToken()
            test.clock.advance(1)
            await session.reject(idToken: "another")
            #expect(try await session.idToken() == first)
            await session.reject(idToken: first)
            #expect(try await session.idToken() != first)
        }
    }

    @Test func `storage keys are renewed ahead of their end`() async throws {
        try await withIdentity { test in
            let clock = Clock()
            let session = try session(test, clock)
            try await session.signInAnonymously(server: test.url)
            let first = try await session.storageCredential()
            #expect(try await session.storageCredential() == first)
            clock.advance(.seconds(3301))
            let second = try await session.storageCredential()
            #expect(second != first)
            await session.reject(storageAccessKey: second.accessKey)
            #expect(try await session.storageCredential() != second)
        }
    }

    @Test func `a token that the server refuses is replaced, and the call is repeated`() async throws {
        try await withIdentity { test in
            // Only the server's clock moves.
            let session = try session(test, Clock())
            try await session.signInAnonymously(server: test.url)
            let old = try await session.idToken()
            test.clock.advance(7200)
            let keys = try await session.storageCredential()
            #expect(try await session.idToken() != old)
            #expect(try await session.storageCredential() == keys)
            test.clock.advance(7200)
            try await session.link(email: "me@example.org", password: "correct horse")
            test.clock.advance(7200)
            #expect(try await session.userID(of: "me@example.org") == (await session.current)?.userID)
        }
    }

    @Test func `while the server is unreachable the last token is used until it expires`() async throws {
        try await withTemporaryDirectory { directory in
            let clock = Clock()
            let session = try AccountSession(
                file: SessionFile(path: "\(directory)/session.json"), now: { clock.now })
            try await withIdentity { test in try await session.signInAnonymously(server: test.url) }
            let token = try await session.idToken()
            clock.advance(.seconds(3500))
            #expect(try await session.idToken() == token)
            clock.advance(.seconds(101))
            #expect(await code { _ = try await session.idToken() } == .offline)
        }
    }

    @Test func `a session that the server has ended needs a new sign-in`() async throws {
        try await withIdentity { test in
            let clock = Clock()
            let session = try session(test, clock)
            try await session.signUp(server: test.url, email: "a@b.c", password: "secret1")
            _ = try await test.identity.accounts.setDisabled(true, named: "a@b.c", now: test.clock.now)
            clock.advance(.seconds(3500))
            let refused = await code { _ = try await session.idToken() }
            #expect(refused == .userDisabled && refused?.needsLogin == true)
        }
    }

    @Test(arguments: [
        HTTPResponse(.ok, headers: ["Content-Type": "text/html"], body: .text("<html>Welcome to our WiFi")),
        HTTPResponse(.movedPermanently, headers: ["Location": "http://portal/"]), HTTPResponse(.badGateway),
    ])
    func `a captive portal or a broken proxy is offline, not refused`(response: HTTPResponse) async throws {
        let server = HTTPServer(.tcp(host: "127.0.0.1", port: 0)) { _ in response }
        let client = IdentityClient(url: "http://\(try server.start())")
        #expect(await code { _ = try await client.signUpAnonymously() } == .offline)
        #expect(await code { _ = try await client.refresh("x") } == .offline)
        let refused = await code { _ = try await client.storageCredential(idToken: "x") }
        #expect(refused == .offline || refused == .protocolViolation)
        await server.stop()
    }
}
