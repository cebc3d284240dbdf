import AccountClient
import Cryptography
import IdentityProtocol
import IdentityServer
import IdentityTestKit
import Testing

@Suite(.timeLimit(.minutes(1)))
struct AuthenticatorTests {
    @Test func `a bearer token identifies its user, and no header identifies no user`() async throws {
        try await withIdentity { test in
            let session = try await test.client.signUpAnonymously()
            let authenticator = test.identity.authenticator
            #expect(try authenticator.requester(nil) == .nobody)
            for word in ["Bearer", "bearer"] {
                #expect(try authenticator.requester("\(word) \(session.idToken)") == .user(session.userID))
            }
            for header in ["", "Bearer", "Bearer ", "Basic YTpi", "Bearer owner", "Bearer a.b.c"] {
                #expect(await code { _ = try authenticator.requester(header) } == .invalidToken)
            }
            test.clock.advance(3601)
            let late = "Bearer \(session.idToken)"
            #expect(await code { _ = try authenticator.requester(late) } == .tokenExpired)
        }
    }

    @Test func `the emulator takes its owner, unsigned tokens and old ones`() async throws {
        try await withIdentity(isEmulator: true) { test in
            let authenticator = test.identity.authenticator
            let owner = try authenticator.requester("Bearer owner")
            #expect(owner == .administrator)
            let nobody = try authenticator.requester(nil)
            #expect(nobody == .nobody)
            let parts = [
                #"{"alg":"none","type":"JWT"}"#,
                #"{"iss":"https://securetoken.google.com/x","aud":"x","iat":0,"exp":3600,"sub":"alice","user_id":"alice"}"#,
            ].map { Base64.encode(Array($0.utf8), alphabet: .url) }
            let token = "\(parts[0]).\(parts[1])."
            let user = try authenticator.requester("Bearer \(token)")
            #expect(user == .user("alice"))
            #expect(await code { _ = try authenticator.requester("Bearer nonsense") } == .invalidToken)
        }
    }
}

extension Authenticator {
    fileprivate func requester(_ authorization: String?) throws(IdentityError) -> Requester {
        switch try identify(authorization: authorization) {
        case .nobody: .nobody
        case .user(let token): .user(token.userID)
        case .administrator: .administrator
        }
    }
}

/// An identification that can be compared.
private enum Requester: Equatable {
    case nobody
    case user(String)
    case administrator
}
