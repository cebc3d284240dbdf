import AccountClient
import Cryptography
import Dispatch
import Glibc
import HTTPMessages
import IdentityProtocol
import IdentityServer
import IdentityTestKit
import JSON
import SystemTestKit
import Testing

@Suite(.timeLimit(.minutes(1)))
struct TokenTests {
    @Test func `a token has the claims of Firebase's`() async throws {
        try await withIdentity { test in
            let session = try await test.client.signUpAnonymously()
            let token = try test.identity.authenticator.verify(session.idToken)
            #expect(token.userID == session.userID && token.issuer == "http://issuer.test")
            #expect(token.claims["aud"] == "ferry-test" && token.claims["user_id"] == .string(session.userID))
            #expect(token.issuedAt == test.clock.now && token.expiresAt == test.clock.now + 3600)
            #expect(token.authenticatedAt == test.clock.now && token.claims["provider_id"] == "anonymous")
            #expect(token.provider == "anonymous")
            test.clock.advance(1000)
            let refreshed = try test.identity.authenticator.verify(
                try await test.client.refresh(session.refreshToken).idToken)
            #expect(refreshed.issuedAt == test.clock.now && refreshed.authenticatedAt == token.authenticatedAt)
        }
    }

    @Test func `a token expires, and one from the future is refused`() async throws {
        try await withIdentity { test in
            let session = try await test.client.signUpAnonymously()
            let verifier = test.identity.verifier
            let start = test.clock.now
            #expect(try verifier.verify(session.idToken, now: start + 3599).userID == session.userID)
            #expect(try verifier.verify(session.idToken, now: start - 60).userID == session.userID)
            #expect(await code { _ = try verifier.verify(session.idToken, now: start + 3600) } == .tokenExpired)
            #expect(await code { _ = try verifier.verify(session.idToken, now: start - 61) } == .invalidToken)
            for now in [Int64.min, -1, .max] {
                #expect(await code { _ = try verifier.verify(session.idToken, now: now) } != nil)
            }
        }
    }

    @Test func `a token of another key, project, issuer or algorithm is refused`() async throws {
        try await withIdentity { test in
            let session = try await test.client.signUpAnonymously()
            let now = test.clock.now
            func refuses(_ keys: SigningKeys, _ issuer: String, _ audience: String) async {
                let verifier = TokenVerifier(keys: keys.publicKeys, issuer: issuer, audience: audience)
                #expect(await code { _ = try verifier.verify(session.idToken, now: now) } == .invalidToken)
            }
            let keys = try SigningKeys(path: "\(test.directory)/signing-keys.pem")
            await refuses(try SigningKeys(), "http://issuer.test", "ferry-test")
            await refuses(keys, "http://issuer.test", "another")
            await refuses(keys, "http://another.test", "ferry-test")
            let parts = session.idToken.split(separator: ".").map(String.init)
            let none = Base64.encode(Array(#"{"alg":"none","typ":"JWT"}"#.utf8), alphabet: .url)
            let symmetric = Base64.encode(Array(#"{"alg":"HS256","typ":"JWT"}"#.utf8), alphabet: .url)
            for forged in [
                "\(none).\(parts[1]).", "\(none).\(parts[1]).\(parts[2])", "\(symmetric).\(parts[1]).\(parts[2])",
            ] {
                #expect(await code { _ = try test.identity.authenticator.verify(forged) } == .invalidToken)
            }
        }
    }

    @Test(arguments: 0..<300)
    func `a token changed anywhere is refused`(seed: Int) async throws {
        let (token, verifier) = try await Self.sample.value
        var state = UInt64(seed) &* 0x9E37_79B9_7F4A_7C15 | 1
        func random(_ limit: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % limit
        }
        var bytes = Array(token.utf8)
        let alphabet = Array("ABYZabyz0189-_.=\n{".utf8)
        for _ in 0...random(3) {
            let position = random(bytes.count)
            switch random(3) {
            case 0: bytes[position] = alphabet[random(alphabet.count)]
            case 1: bytes.remove(at: position)
            default: bytes.insert(alphabet[random(alphabet.count)], at: position)
            }
        }
        let changed = String(decoding: bytes, as: UTF8.self)
        if changed == token { return }
        #expect(await code { _ = try verifier.verify(changed, now: 1_800_000_000) } == .invalidToken, "seed \(seed)")
    }

    private static let sample = Task { () -> (String, TokenVerifier) in
        nonisolated(unsafe) var result: (String, TokenVerifier)?
        try await withIdentity { test in
            result = (try await test.client.signUpAnonymously().idToken, test.identity.verifier)
        }
        return try #require(result)
    }

    @Test func `an independent reader verifies a token by discovery alone`() async throws {
        try await withIdentity { test in
            let session = try await test.client.signUpAnonymously()
            let script = """
                import base64, hashlib, json, sys, urllib.request
                url, token = sys.argv[1:]
                get = lambda u: json.load(urllib.request.urlopen(u))
                raw = lambda t: base64.urlsafe_b64decode(t + '=' * (-len(t) % 4))
                discovery = get(url + '/.well-known/openid-configuration')
                header, claims, signature = token.split('.')
                kid = json.loads(raw(header))['kid']
                keys = get(discovery['jwks_uri'].replace(discovery['issuer'], url))['keys']
                key = next(k for k in keys if k['kid'] == kid)
                n, e = (int.from_bytes(raw(key[x]), 'big') for x in 'ne')
                digest = hashlib.sha256((header + '.' + claims).encode()).digest()
                info = bytes.fromhex('3031300d060960864801650304020105000420') + digest
                expected = b'\\0\\1' + b'\\xff' * (253 - len(info)) + b'\\0' + info
                assert pow(int.from_bytes(raw(signature), 'big'), e, n).to_bytes(256, 'big') == expected
                assert json.loads(raw(claims))['iss'] == discovery['issuer']
                """
            let path = "\(test.directory)/verify.py"
            let file = try #require(fopen(path, "w"))
            fputs(script, file)
            fclose(file)
            let status = await withCheckedContinuation { continuation in
                DispatchQueue.global().async {
                    continuation.resume(returning: system("python3 \(path) \(test.url) \(session.idToken)"))
                }
            }
            #expect(status == 0)
        }
    }

    @Test func `after a rotation older tokens are still valid, and the newest key signs`() throws {
        var keys = try SigningKeys()
        let old = keys.publicKeys.keys
        try keys.rotate()
        #expect(keys.publicKeys.count == 2 && old.allSatisfy { keys.publicKeys[$0] != nil })
        for _ in 0..<4 { try keys.rotate() }
        #expect(keys.publicKeys.count == 4)
        #expect(keys.jwks["keys"]?.arrayValue?.count == 4)
    }

    @Test func `a damaged key file is named and left unchanged`() async throws {
        try await withTemporaryDirectory { directory in
            let path = "\(directory)/signing-keys.pem"
            let file = try #require(fopen(path, "w"))
            fputs("-----BEGIN PRIVATE KEY-----\nAAAA\n", file)
            fclose(file)
            let error = #expect(throws: IdentityError.self) { try SigningKeys(path: path) }
            #expect(error?.code == .damagedFile && error?.message.contains(path) == true)
        }
    }
}
