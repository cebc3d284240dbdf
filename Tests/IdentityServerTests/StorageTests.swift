import AccountClient
import HTTPClient
import HTTPMessages
import HTTPServer
import IdentityProtocol
import IdentityServer
import IdentityTestKit
import Testing

@Suite(.timeLimit(.minutes(1)))
struct StorageTests {
    @Test func `an ID token is exchanged for keys to the user's own prefix`() async throws {
        try await withIdentity { test in
            let session = try await test.client.signUpAnonymously()
            let keys = try await test.client.storageCredential(idToken: session.idToken, lifetime: 900)
            #expect(keys.lifetime == .seconds(900))
            let storage = test.identity.storage
            let now = test.clock.now
            let found = storage.lookup(accessKey: keys.accessKey, sessionToken: keys.sessionToken, now: now)
            #expect(found?.secretKey == keys.secretKey && found?.prefix == "\(session.userID)/")
            #expect(found?.expiresAt == now + 900)
            #expect(storage.lookup(accessKey: keys.accessKey, sessionToken: keys.sessionToken, now: now + 899) != nil)
            #expect(storage.lookup(accessKey: keys.accessKey, sessionToken: keys.sessionToken, now: now + 900) == nil)
            #expect(storage.lookup(accessKey: keys.accessKey, sessionToken: nil, now: now) == nil)
            #expect(storage.lookup(accessKey: "ASIAOTHER", sessionToken: keys.sessionToken, now: now) == nil)
            let other = try await test.client.storageCredential(idToken: session.idToken)
            #expect(storage.lookup(accessKey: other.accessKey, sessionToken: keys.sessionToken, now: now) == nil)
            #expect(other.secretKey != keys.secretKey)
        }
    }

    @Test func `a session token with any change is invalid`() async throws {
        try await withIdentity { test in
            let session = try await test.client.signUpAnonymously()
            let keys = try await test.client.storageCredential(idToken: session.idToken)
            let token = Array(keys.sessionToken.utf8)
            for position in token.indices {
                var changed = token
                changed[position] = changed[position] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
                let text = String(decoding: changed, as: UTF8.self)
                let found = test.identity.storage.lookup(
                    accessKey: keys.accessKey, sessionToken: text, now: test.clock.now)
                #expect(found == nil, "position \(position)")
            }
        }
    }

    @Test func `keys of a disabled user end with the account`() async throws {
        try await withIdentity { test in
            let session = try await test.client.signUp(email: "a@b.c", password: "secret1")
            let keys = try await test.client.storageCredential(idToken: session.idToken)
            _ = try await test.identity.accounts.setDisabled(true, named: "a@b.c", now: test.clock.now)
            let found = test.identity.storage.lookup(
                accessKey: keys.accessKey, sessionToken: keys.sessionToken, now: test.clock.now)
            #expect(found == nil)
            #expect(
                await code { _ = try await test.client.storageCredential(idToken: session.idToken) } == .tokenExpired)
        }
    }

    @Test(arguments: [
        ("", "MissingAction"), ("Action=ListUsers", "InvalidAction"),
        ("Action=AssumeRoleWithWebIdentity", "ValidationError"),
        ("Action=AssumeRoleWithWebIdentity&WebIdentityToken=x", "InvalidIdentityToken"),
        ("Action=AssumeRoleWithWebIdentity&WebIdentityToken=x&DurationSeconds=1", "ValidationError"),
        ("Action=AssumeRoleWithWebIdentity&WebIdentityToken=x&DurationSeconds=99999999999999999999", "ValidationError"),
        ("%", "MalformedQueryString"),
    ])
    func `unsupported STS calls are answered like AWS does`(form: String, expected: String) async throws {
        try await withIdentity { test in
            let headers: HTTPHeaders = ["Content-Type": "application/x-www-form-urlencoded; charset=utf-8"]
            let request = HTTPRequest(.post, test.url + "/", headers: headers, body: .text(form))
            let response = try await HTTPClient().send(request)
            let text = String(decoding: try await response.body.collect(limit: 10_000), as: UTF8.self)
            #expect(response.status == .badRequest && text.contains("<Code>\(expected)</Code>"))
        }
    }

    @Test func `a query works as a form does, and escapes what it repeats`() async throws {
        try await withIdentity { test in
            let session = try await test.client.signUpAnonymously()
            let query = "Action=AssumeRoleWithWebIdentity&RoleSessionName=%3Ca%26&WebIdentityToken=\(session.idToken)"
            let response = try await HTTPClient().send(HTTPRequest(.get, "\(test.url)/?\(query)"))
            let text = String(decoding: try await response.body.collect(limit: 10_000), as: UTF8.self)
            #expect(response.status == .ok && text.contains(":&lt;a&amp;</AssumedRoleId>"))
            #expect(text.contains("<Expiration>2027-01-15T09:00:00Z</Expiration>"))
            #expect(try await HTTPClient().send(HTTPRequest(.get, "\(test.url)/")).status == .notFound)
        }
    }

    @Test(arguments: [
        "<AccessKeyId>a&amp;b</AccessKeyId>", "<AccessKeyId type=\"1>2\">a&#38;b</AccessKeyId>",
        "<AccessKeyId ><![CDATA[a&b]]></AccessKeyId>",
        "<!-- <AccessKeyId>x</AccessKeyId> --><AccessKeyId>a&amp;b</AccessKeyId>",
    ])
    func `keys of another STS are read as XML has them`(accessKey: String) async throws {
        let answer = """
            <AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
            <AssumeRoleWithWebIdentityResult><Credentials>\(accessKey)<SecretAccessKey>s</SecretAccessKey>
            <SessionToken>t</SessionToken></Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>
            """
        let server = HTTPServer(.tcp(host: "127.0.0.1", port: 0)) { _ in HTTPResponse(body: .text(answer)) }
        guard case .tcp(_, let port) = try server.start() else { return }
        let client = IdentityClient(url: "http://127.0.0.1:\(port)")
        let keys = try? await client.storageCredential(idToken: "x")
        await server.stop(within: .zero)
        #expect(keys?.accessKey == "a&b" && keys?.secretKey == "s" && keys?.sessionToken == "t")
    }

    @Test func `an administrator's key reaches everything until it is removed`() async throws {
        try await withIdentity { test in
            let storage = test.identity.storage
            let key = try await storage.addAdministrator(label: "backup", now: test.clock.now)
            #expect(key.prefix == nil)
            #expect(storage.lookup(accessKey: key.accessKey, sessionToken: nil, now: .max) == key)
            #expect(try await storage.list().map(\.label) == ["backup"])
            #expect(try await storage.remove(key.accessKey))
            #expect(storage.lookup(accessKey: key.accessKey, sessionToken: nil, now: 0) == nil)
            #expect(try await !storage.remove(key.accessKey))
        }
    }
}
