import Cryptography
import Glibc
import JSON
import SystemTestKit
import Testing

@testable import IdentityServer

struct ClientSecretTests {
    @Test(arguments: [0, 1_800_000_000, 1_800_000_000 + 15_777_000])
    func `a secret names team, key, client and provider, and is valid for an hour`(now: Int64) throws {
        let home = try TemporaryDirectory()
        let path = "\(home.path)/AuthKey_KEY1234567.p8"
        #expect(system("openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out \(path)") == 0)
        let file = try #require(fopen(path, "r"))
        defer { fclose(file) }
        var pem = [UInt8](repeating: 0, count: 8192)
        pem.removeLast(pem.count - fread(&pem, 1, pem.count, file))
        let key = try ClientSecretKey(pem: pem, team: "TEAM123456", id: "KEY1234567")
        let secret = try key.secret(clientID: "org.example.ferry", issuer: "https://appleid.apple.com", now: now)
        let token = try #require(JSONWebToken(secret))
        #expect(JSON.object(token.header) == ["alg": "ES256", "kid": "KEY1234567"])
        #expect(
            JSON.object(token.claims) == [
                "iss": "TEAM123456", "sub": "org.example.ferry", "aud": "https://appleid.apple.com",
                "iat": .integer(now), "exp": .integer(now + 3600),
            ])
        let publicKey = try ECPrivateKey(pem: pem).publicKey
        #expect(publicKey.isValid(token.signature, for: token.signed))
    }
}
