import AccountClient
import Glibc
import HTTPClient
import HTTPMessages
import IdentityProtocol
import IdentityTestKit
import JSON
import Testing

@testable import IdentityServer

@Suite(.timeLimit(.minutes(1)))
struct AccountTests {
    @Test func `linking an anonymous account keeps its id, and both sign-ins lead to it`() async throws {
        try await withIdentity { test in
            let anonymous = try await test.client.signUpAnonymously()
            #expect(anonymous.email == nil && anonymous.userID.count == 28)
            #expect(anonymous.lifetime == .seconds(3600))
            let linked = try await test.client.link(
                idToken: anonymous.idToken, email: "Ann@Example.org", password: "secret1")
            #expect(linked.userID == anonymous.userID && linked.email == "ann@example.org")
            let token = try test.identity.authenticator.verify(linked.idToken)
            #expect(token.provider == "password" && token.email == "ann@example.org")
            let signedIn = try await test.client.signIn(email: "ann@example.ORG", password: "secret1")
            #expect(signedIn.userID == anonymous.userID)
            let refreshed = try await test.client.refresh(anonymous.refreshToken)
            #expect(refreshed.userID == anonymous.userID)
        }
    }

    @Test func `a wrong password and an unknown e-mail are refused alike`() async throws {
        try await withIdentity { test in
            _ = try await test.client.signUp(email: "a@b.c", password: "secret1")
            let path = "/v1/accounts:signInWithPassword"
            for (email, password) in [("a@b.c", "secret2"), ("x@b.c", "secret1"), ("a@b.c", "SECRET1")] {
                let answer = try await test.refusal(path, ["email": .string(email), "password": .string(password)])
                #expect(answer == "INVALID_LOGIN_CREDENTIALS")
            }
            #expect(
                await code { _ = try await test.client.signIn(email: "a@b.c", password: "no") } == .invalidCredentials)
        }
    }

    @Test func `guessing gets slower without affecting other accounts or addresses`() async throws {
        try await withIdentity { test in
            let client = test.client
            _ = try await client.signUp(email: "a@b.c", password: "secret1")
            for _ in 0..<SignInLimiter.freeFailures {
                #expect(
                    await code { _ = try await client.signIn(email: "a@b.c", password: "guess") } == .invalidCredentials
                )
            }
            #expect(await code { _ = try await client.signIn(email: "a@b.c", password: "secret1") } == .tooManyAttempts)
            #expect(await code { _ = try await client.signIn(email: "b@b.c", password: "x") } == .invalidCredentials)
            let elsewhere = NetworkAddress(peer: "192.0.2.1:1")
            _ = try await test.identity.accounts.signIn(
                email: "a@b.c", password: "secret1", address: elsewhere, now: test.clock.now)
            test.clock.advance(1)
            #expect(await code { _ = try await client.signIn(email: "a@b.c", password: "secret1") } == nil)
        }
    }

    @Test func `a closed server creates no account, not even an anonymous one`() async throws {
        try await withIdentity(signUp: .closed) { test in
            let path = "/v1/accounts:signUp"
            for body: JSON in [[:], ["email": "a@b.c", "password": "secret1", "invitationCode": "made-up"]] {
                let refused = try await test.refusal(path, body)
                #expect(refused?.hasPrefix("ADMIN_ONLY_OPERATION : This server creates no new accounts") == true)
            }
            #expect(await code { _ = try await test.client.signUpAnonymously() } == .signUpRestricted)
            _ = try await test.identity.accounts.add(email: "a@b.c", password: "secret1", now: test.clock.now)
            _ = try await test.client.signIn(email: "a@b.c", password: "secret1")
        }
    }

    @Test func `an invitation allows as many accounts as it says, until it expires`() async throws {
        try await withIdentity(signUp: .invite) { test in
            let (client, accounts, now) = (test.client, test.identity.accounts, test.clock.now)
            let code = try await accounts.invite(uses: 2, expiresAt: now + 100, now: now)
            #expect(await IdentityTestKit.code { _ = try await client.signUpAnonymously() } == .signUpRestricted)
            let refused = try await test.refusal("/v1/accounts:signUp", ["invitationCode": "aaaaa-bbbbb"])
            #expect(refused?.hasPrefix("INVALID_OOB_CODE : ") == true)
            _ = try await client.signUpAnonymously(invitation: code)
            // A failed sign-up uses up nothing, and a client without an invitation does not learn
            // which accounts exist.
            _ = try await accounts.add(email: "taken@b.c", password: "secret1", now: now)
            func signUp(_ email: String, _ code: String?) async -> IdentityError.Code? {
                await IdentityTestKit.code {
                    _ = try await client.signUp(email: email, password: "secret1", invitation: code)
                }
            }
            #expect(await signUp("taken@b.c", code) == .emailExists)
            #expect(await signUp("taken@b.c", nil) == .signUpRestricted)
            #expect(await signUp("a@b.c", code.uppercased().replacing("-", with: " ")) == nil)
            #expect(await signUp("b@b.c", code) == .invalidCode)
            let late = try await accounts.invite(uses: 5, expiresAt: now + 100, now: now)
            test.clock.advance(100)
            #expect(await signUp("b@b.c", late) == .invalidCode)
        }
    }

    @Test func `an invitation for one allows one account, even with concurrent requests`() async throws {
        try await withIdentity(signUp: .invite) { test in
            let code = try await test.identity.accounts.invite(
                uses: 1, expiresAt: test.clock.now + 100, now: test.clock.now)
            let made = await withTaskGroup(of: Bool.self) { group in
                for _ in 0..<20 {
                    group.addTask { (try? await test.client.signUpAnonymously(invitation: code)) != nil }
                }
                return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(made == 1)
        }
    }

    @Test func `an address may create a few accounts at once and then one a minute`()
        async throws
    {
        try await withIdentity { test in
            let accounts = test.identity.accounts
            func signUp(_ peer: String) async -> IdentityError.Code? {
                let origin = Accounts.SignUpOrigin(address: NetworkAddress(peer: peer))
                return await code { _ = try await accounts.signUpAnonymously(from: origin, now: test.clock.now) }
            }
            for _ in 0..<Int(Accounts.signUpBurst) { #expect(await signUp("192.0.2.1:1") == nil) }
            #expect(await signUp("192.0.2.1:2") == .tooManyAttempts)
            #expect(await signUp("192.0.2.2:1") == nil)
            test.clock.advance(60)
            #expect(await signUp("192.0.2.1:3") == nil)
            #expect(await signUp("192.0.2.1:4") == .tooManyAttempts)
            for _ in 0..<100 { #expect(await signUp("127.0.0.1:1") == nil) }
        }
    }

    @Test func `a code sets the password once, and ends earlier sessions`() async throws {
        try await withIdentity { test in
            let (client, accounts) = (test.client, test.identity.accounts)
            let (account, first) = try await accounts.add(
                email: "a@b.c", expiresAt: test.clock.now + 100, now: test.clock.now)
            #expect(!account.hasPassword)
            #expect(await code { _ = try await client.signIn(email: "a@b.c", password: "") } == .protocolViolation)
            let checked = try await test.post("/v1/accounts:resetPassword", ["oobCode": .string(first)])
            #expect(checked.body["localId"] == .string(account.id))
            #expect(checked.body["email"] == "a@b.c" && checked.body["requestType"] == "PASSWORD_RESET")
            #expect(await code { try await client.resetPassword(code: first, password: "short") } == .weakPassword)
            try await client.resetPassword(code: first, password: "secret1")
            #expect(await code { try await client.resetPassword(code: first, password: "other1") } == .invalidCode)
            let session = try await client.signIn(email: "a@b.c", password: "secret1")
            test.clock.advance(10)
            let old = try await accounts.passwordCode(for: account, expiresAt: test.clock.now + 100)
            let second = try await accounts.passwordCode(for: account, expiresAt: test.clock.now + 100)
            #expect(await code { try await client.resetPassword(code: old, password: "secret2") } == .invalidCode)
            _ = try await client.signIn(email: "a@b.c", password: "secret1")
            try await client.resetPassword(code: second, password: "secret2")
            #expect(await code { _ = try await client.refresh(session.refreshToken) } == .tokenExpired)
            #expect(throws: IdentityError.self) { try test.identity.authenticator.verify(session.idToken) }
            _ = try await client.signIn(email: "a@b.c", password: "secret2")
            let third = try await accounts.passwordCode(for: account, expiresAt: test.clock.now + 100)
            test.clock.advance(100)
            #expect(await code { try await client.resetPassword(code: third, password: "secret3") } == .invalidCode)
        }
    }

    @Test func `the last way to sign in cannot be removed`() async throws {
        try await withIdentity { test in
            let session = try await test.client.signUp(email: "a@b.c", password: "secret1")
            func unlink(_ provider: JSON) async throws -> String? {
                try await test.refusal(
                    "/v1/accounts:update", ["idToken": .string(session.idToken), "deleteProvider": [provider]])
            }
            #expect(try await unlink("password")?.hasPrefix("OPERATION_NOT_ALLOWED : ") == true)
            #expect(try await unlink("example.com") == nil)
            _ = try await test.client.signIn(email: "a@b.c", password: "secret1")
            let found = try await test.post("/v1/accounts:lookup", ["idToken": .string(session.idToken)])
            #expect(found.body["users"]?[0]?["providerUserInfo"]?[0]?["providerId"] == "password")
        }
    }

    @Test(arguments: [
        "/v1/accounts:nothing", "/v1/accounts", "/v2/accounts/mfaEnrollment:start",
        "/identitytoolkit.googleapis.com/v1/nothing", "/identitytoolkit.googleapis.com/",
        "/securetoken.googleapis.com/v2/token",
    ])
    func `an unknown operation is refused in Google's JSON`(path: String) async throws {
        try await withIdentity { test in
            let (status, answer) = try await test.post(path, [:])
            #expect(status == .notFound && answer["error"]?["code"] == 404)
            #expect(answer["error"]?["message"]?.stringValue?.hasPrefix("OPERATION_NOT_ALLOWED") == true)
        }
    }

    @Test func `tokens are refreshed in both spellings, as a form and as JSON`() async throws {
        try await withIdentity { test in
            let token = try await test.client.signUpAnonymously().refreshToken
            for (grant, name) in [("grant_type", "refresh_token"), ("grantType", "refreshToken")] {
                let json: JSON = .object([grant: "refresh_token", name: .string(token)])
                for (type, body) in [
                    ("application/json", json.text), ("text/plain", json.text),
                    ("application/x-www-form-urlencoded", "\(grant)=refresh_token&\(name)=\(token)"),
                ] {
                    let request = HTTPRequest(
                        .post, "\(test.url)/securetoken.googleapis.com/v1/token", headers: ["Content-Type": type],
                        body: .text(body))
                    let response = try await HTTPClient().send(request)
                    #expect(response.status == .ok, "\(grant) as \(type)")
                    _ = try await response.body.collect(limit: 10_000)
                }
            }
        }
    }

    private static let refusedSignUps: [(String, JSON)] = [
        ("MISSING_EMAIL", ["password": "secret1"]), ("MISSING_PASSWORD", ["email": "a@b.c"]),
        ("INVALID_EMAIL", ["email": "a b@c", "password": "secret1"]),
        ("INVALID_EMAIL", ["email": "a@b@c", "password": "secret1"]),
        ("WEAK_PASSWORD : Password should be at least 6 characters", ["email": "a@b.c", "password": "short"]),
        ("EMAIL_EXISTS", ["email": "TAKEN@b.c", "password": "secret1"]),
        ("INVALID_ID_TOKEN", ["idToken": "x.y.z", "email": "n@b.c", "password": "secret1"]), ("INVALID_JSON", "text"),
    ]

    @Test(arguments: refusedSignUps)
    func `an invalid sign-up is refused with its code`(expected: String, request: JSON) async throws {
        try await withIdentity { test in
            _ = try await test.client.signUp(email: "taken@b.c", password: "secret1")
            for prefix in ["", "/identitytoolkit.googleapis.com"] {
                let answer = try await test.refusal("\(prefix)/v1/accounts:signUp?key=any", request)
                #expect(answer == expected)
            }
        }
    }

    @Test func `lookup, update and delete work on the user's own account`() async throws {
        try await withIdentity { test in
            let session = try await test.client.signUp(email: "a@b.c", password: "secret1")
            let idToken = JSON.string(session.idToken)
            let changed = try await test.post("/v1/accounts:update", ["idToken": idToken, "displayName": "Ann"])
            #expect(changed.body["displayName"] == "Ann" && changed.body["idToken"] == nil)
            let found = try await test.post("/v1/accounts:lookup", ["idToken": idToken]).body["users"]?[0]
            #expect(found?["localId"] == .string(session.userID) && found?["email"] == "a@b.c")
            #expect(found?["providerUserInfo"]?[0]?["providerId"] == "password")
            #expect(found?["passwordHash"] == nil)
            try await test.client.delete(idToken: session.idToken)
            #expect(try await test.refusal("/v1/accounts:lookup", ["idToken": idToken]) == "TOKEN_EXPIRED")
            #expect(await code { _ = try await test.client.refresh(session.refreshToken) } == .tokenExpired)
            #expect(await code { _ = try await test.client.signUp(email: "a@b.c", password: "secret1") } == nil)
        }
    }

    @Test func `a signed-in user can look up the id of an address, but not of many`() async throws {
        try await withIdentity { test in
            let anna = try await test.client.signUp(email: "anna@b.c", password: "secret1")
            let bob = try await test.client.signUp(email: "bob@b.c", password: "secret1")
            #expect(try await test.client.userID(of: "Anna@B.c", idToken: bob.idToken) == anna.userID)
            let request: JSON = ["idToken": .string(bob.idToken), "email": ["anna@b.c", "nobody@b.c"]]
            let found = try await test.post("/v1/accounts:lookup", request).body["users"]
            #expect(found == [["localId": .string(anna.userID), "email": "anna@b.c"]])
            #expect(await code { _ = try await test.client.userID(of: "anna@b.c", idToken: "x.y.z") } == .invalidToken)
            for number in 0..<9 {
                #expect(try await test.client.userID(of: "\(number)@b.c", idToken: bob.idToken) == nil)
            }
            let refused = await code { _ = try await test.client.userID(of: "anna@b.c", idToken: bob.idToken) }
            #expect(refused == .tooManyAttempts)
            #expect(try await test.client.userID(of: "bob@b.c", idToken: anna.idToken) == bob.userID)
            // New accounts do not help.
            for _ in 0..<4 {
                let session = try await test.client.signUpAnonymously()
                for number in 0..<10 {
                    _ = try await test.client.userID(of: "\(number)@b.c", idToken: session.idToken)
                }
            }
            let fresh = try await test.client.signUpAnonymously()
            #expect(
                await code { _ = try await test.client.userID(of: "bob@b.c", idToken: fresh.idToken) }
                    == .tooManyAttempts)
        }
    }

    @Test func `an anonymous account takes e-mail and password only together`() async throws {
        try await withIdentity { test in
            let idToken = JSON.string(try await test.client.signUpAnonymously().idToken)
            let path = "/v1/accounts:update"
            let email = try await test.refusal(path, ["idToken": idToken, "email": "a@b.c"])
            #expect(email?.hasPrefix("WEAK_PASSWORD") == true)
            let password = try await test.refusal(path, ["idToken": idToken, "password": "secret1"])
            #expect(password == "INVALID_EMAIL")
            let both = try await test.refusal(path, ["idToken": idToken, "email": "a@b.c", "password": "secret1"])
            #expect(both == nil)
        }
    }

    @Test func `a new password ends the other sessions`() async throws {
        try await withIdentity { test in
            let other = try await test.client.signUp(email: "a@b.c", password: "secret1")
            test.clock.advance(10)
            let mine = try await test.client.signIn(email: "a@b.c", password: "secret1")
            test.clock.advance(10)
            let answer = try await test.post(
                "/v1/accounts:update", ["idToken": .string(mine.idToken), "password": "secret2"])
            let newToken = try #require(answer.body["idToken"]?.stringValue)
            #expect(throws: Never.self) { try test.identity.authenticator.verify(newToken) }
            #expect(throws: IdentityError.self) { try test.identity.authenticator.verify(other.idToken) }
            #expect(await code { _ = try await test.client.refresh(other.refreshToken) } == .tokenExpired)
            #expect(await code { _ = try await test.client.signIn(email: "a@b.c", password: "secret1") } != nil)
            #expect(await code { _ = try await test.client.signIn(email: "a@b.c", password: "secret2") } == nil)
        }
    }

    @Test func `changes that could lock out the owner need a recent sign-in`() async throws {
        try await withIdentity { test in
            let session = try await test.client.signUp(email: "a@b.c", password: "secret1")
            test.clock.advance(901)
            let old = try await test.client.refresh(session.refreshToken)
            for request: JSON in [["password": "secret2"], ["email": "x@b.c"]] {
                var members = request.objectValue ?? [:]
                members["idToken"] = .string(old.idToken)
                let answer = try await test.refusal("/v1/accounts:update", .object(members))
                #expect(answer == "CREDENTIAL_TOO_OLD_LOGIN_AGAIN")
            }
            #expect(await code { try await test.client.delete(idToken: old.idToken) } == .loginTooOld)
        }
    }

    @Test func `a disabled user is refused everywhere until enabled again`() async throws {
        try await withIdentity { test in
            let session = try await test.client.signUp(email: "a@b.c", password: "secret1")
            let accounts = test.identity.accounts
            let now = test.clock.now
            #expect(try await accounts.setDisabled(true, named: "A@b.c", now: now).isDisabled)
            #expect(
                await code { _ = try await test.client.signIn(email: "a@b.c", password: "secret1") } == .userDisabled)
            #expect(await code { _ = try await test.client.refresh(session.refreshToken) } == .userDisabled)
            #expect(throws: IdentityError.self) { try test.identity.authenticator.verify(session.idToken) }
            #expect(try await accounts.list().map(\.email) == ["a@b.c"])
            _ = try await accounts.setDisabled(false, named: "a@b.c", now: now)
            #expect(throws: Never.self) { try test.identity.authenticator.verify(session.idToken) }
            #expect(await code { _ = try await accounts.setDisabled(true, named: "x@b.c", now: now) } == .userNotFound)
        }
    }

    @Test(arguments: [
        ("", "MISSING_GRANT_TYPE"), ("grant_type=password", "INVALID_GRANT_TYPE"),
        ("grant_type=refresh_token", "MISSING_REFRESH_TOKEN"),
        ("grant_type=refresh_token&refresh_token=made-up", "TOKEN_EXPIRED"), ("%zz", "INVALID_REQUEST"),
    ])
    func `an invalid refresh is refused with its code`(form: String, expected: String) async throws {
        try await withIdentity { test in
            for path in ["/v1/token", "/securetoken.googleapis.com/v1/token?key=x"] {
                let response = try await HTTPClient().send(HTTPRequest(.post, test.url + path, body: .text(form)))
                let answer = try JSON(parsing: try await response.body.collect(limit: 10_000))
                #expect(response.status == .badRequest)
                #expect(answer["error"]?["message"]?.stringValue == expected)
            }
        }
    }

    @Test func `accounts and keys survive the server, in files that only it can read`() async throws {
        try await withIdentity(accounts: .sqlite) { test in
            let session = try await test.client.signUp(email: "a@b.c", password: "secret1")
            await test.identity.close()
            let again = try await IdentityService(
                directory: test.directory, test.identity.configuration, now: { test.clock.now })
            #expect(try again.authenticator.verify(session.idToken).userID == session.userID)
            let tokens = try await again.accounts.refresh(session.refreshToken, now: test.clock.now)
            #expect(tokens.account.id == session.userID)
            await again.close()
            for name in ["accounts.sqlite", "signing-keys.pem"] {
                var info = stat()
                #expect(stat("\(test.directory)/\(name)", &info) == 0 && info.st_mode & 0o777 == 0o600)
            }
        }
    }
}
