import HTTPMessages
import IdentityProtocol
import IdentityTestKit
import JSON
import Synchronization
import SystemIO
import Testing

@testable import IdentityServer

/// Strangers who sign up with the address of another user, and everything else by which an account
/// could be taken from its user. The clock stands still: all of it happens in one second.
@Suite(.timeLimit(.minutes(1)))
struct TakeoverTests {
    private let address = NetworkAddress(peer: "192.0.2.1:1")
    private let google = ProviderLink(provider: "google.com", subject: "stranger")

    private func signUp(_ test: TestIdentity, _ email: String) async throws -> (Accounts.Tokens, VerifiedToken) {
        let tokens = try await test.identity.accounts.signUp(
            email: email, password: "secret1", from: Accounts.SignUpOrigin(address: address), now: test.clock.now)
        return (tokens, try test.identity.authenticator.verify(tokens.idToken))
    }

    /// Signs in with the code of a mail, which only the user of the address can read.
    private func signInByMail(_ test: TestIdentity, _ email: String) async throws -> Accounts.Tokens {
        let code = try await mailedCode(test, email)
        return try await signIn(test, email, code)
    }

    private func mailedCode(_ test: TestIdentity, _ email: String) async throws -> String {
        try await test.identity.accounts.store.mailCodes.add(
            .init(kind: .signIn, email: email, account: nil, newEmail: nil), now: test.clock.now)
    }

    private func signIn(_ test: TestIdentity, _ email: String, _ code: String) async throws -> Accounts.Tokens {
        try await ExternalSignIn(server: test.identity).signIn(
            email: email, code: code, linkingTo: nil, from: Accounts.SignUpOrigin(address: address)
        ).tokens
    }

    private func signIn(
        _ test: TestIdentity, with link: ProviderLink, linkingTo token: VerifiedToken? = nil
    ) async throws {
        let identity = try FederatedIdentity(provider: link.provider, claims: ["sub": .string(link.subject)])
        _ = try await ExternalSignIn(server: test.identity).signIn(
            with: identity, linkingTo: token, from: Accounts.SignUpOrigin(address: address))
    }

    /// Returns the name of the refusal of a mailed code; nil if it is applied.
    private func refusal(_ test: TestIdentity, ofCode code: String) async throws -> String? {
        do {
            _ = try await ExternalSignIn(server: test.identity).apply(code: code)
            return nil
        } catch let refusal as ToolkitRefusal {
            return refusal.name
        }
    }

    private func changeCode(_ test: TestIdentity, _ tokens: Accounts.Tokens, to email: String) async throws -> String {
        try await test.identity.accounts.mailCode(
            .changeEmail, for: tokens.account, newEmail: email,
            token: try test.identity.authenticator.verify(tokens.idToken), now: test.clock.now)
    }

    @Test(arguments: TestAccounts.allCases)
    func `no code, token or provider of a stranger outlives the sign-in by mail of an address's user`(
        accounts database: TestAccounts
    ) async throws {
        try await withIdentity(accounts: database) { test in
            let (accounts, now) = (test.identity.accounts, test.clock.now)
            let (stranger, token) = try await signUp(test, "ada@b.c")
            try await signIn(test, with: google, linkingTo: token)
            let change = try await changeCode(test, stranger, to: "stranger@b.c")
            let verify = try await accounts.mailCode(.verifyEmail, for: stranger.account, token: token, now: now)
            let password = try await accounts.passwordCode(for: stranger.account, expiresAt: now + 100)
            try await test.identity.morningMails.set(
                .init(minute: 1, zone: "Europe/Berlin"), of: stranger.account.id, next: now + 100)

            let owner = try await signInByMail(test, "ada@b.c")
            #expect(owner.account.id == stranger.account.id && owner.account.isEmailVerified)
            #expect(!owner.account.hasPassword && owner.account.links.isEmpty)
            #expect(try await refusal(test, ofCode: change) == "INVALID_OOB_CODE")
            #expect(try await refusal(test, ofCode: verify) == "INVALID_OOB_CODE")
            #expect(await code { _ = try await accounts.account(passwordCode: password, now: now) } == .invalidCode)
            #expect(await code { _ = try await accounts.refresh(stranger.refreshToken, now: now) } == .tokenExpired)
            #expect(throws: IdentityError.self) { try test.identity.authenticator.verify(stranger.idToken) }
            #expect(try await test.identity.morningMails.setting(of: owner.account.id) == nil)
            #expect(try await accounts.account(named: "ada@b.c").id == owner.account.id)
        }
    }

    @Test(arguments: TestAccounts.allCases)
    func `calls of a stranger in flight change nothing after the sign-in by mail of an address's user`(
        accounts database: TestAccounts
    ) async throws {
        try await withIdentity(accounts: database) { test in
            let (accounts, now) = (test.identity.accounts, test.clock.now)
            // These calls have read the account or verified their token already.
            let (stranger, token) = try await signUp(test, "ada@b.c")
            let keys = test.identity.storage.issue(
                for: token.userID, lifetime: 43200, now: now + 1, tokenIssuedAt: token.issuedAt)
            let owner = try await signInByMail(test, "ada@b.c")
            #expect(
                await code { _ = try await accounts.signedIn(stranger.account, .password, now: now) } == .tokenExpired)
            #expect(await code { try await signIn(test, with: google, linkingTo: token) } == .tokenExpired)
            #expect(
                await code {
                    _ = try await accounts.mailCode(
                        .changeEmail, for: stranger.account, newEmail: "x@b.c", token: token, now: now)
                } == .tokenExpired)
            #expect(
                await code {
                    _ = try await accounts.update(token, .init(password: "secret2"), address: address, now: now)
                } == .tokenExpired)
            #expect(await code { try await accounts.delete(token, now: now) } == .tokenExpired)
            #expect(try await accounts.account(named: "ada@b.c") == owner.account)
            for passed in [0, 3700, 40_000] as [Int64] {
                try await accounts.reload(now: now + passed)
                let found = test.identity.storage.lookup(
                    accessKey: keys.accessKey, sessionToken: keys.sessionToken, now: now + passed)
                #expect(found == nil, "after \(passed) s")
            }
        }
    }

    @Test(arguments: TestAccounts.allCases)
    func `the tokens of a sign-in that revokes others are valid in the same second`(
        accounts database: TestAccounts
    ) async throws {
        try await withIdentity(accounts: database) { test in
            let (accounts, now) = (test.identity.accounts, test.clock.now)
            _ = try await signUp(test, "ada@b.c")
            let owner = try await signInByMail(test, "ada@b.c")
            let token = try test.identity.authenticator.verify(owner.idToken)
            #expect(token.issuedAt == now + 1 && token.authenticatedAt == now + 1 && token.expiresAt == now + 3601)
            _ = try await accounts.account(of: token)
            let refreshed = try await accounts.refresh(owner.refreshToken, now: now)
            _ = try test.identity.authenticator.verify(refreshed.idToken)
            let answer = try await test.post("/v1/accounts:lookup", ["idToken": .string(owner.idToken)])
            #expect(answer.status == .ok)
            let keys = test.identity.storage.issue(
                for: token.userID, lifetime: 900, now: now, tokenIssuedAt: token.issuedAt)
            #expect(
                test.identity.storage.lookup(accessKey: keys.accessKey, sessionToken: keys.sessionToken, now: now)
                    != nil)
            // A second time, the tokens of the first are revoked.
            let changed = try await accounts.update(
                token, .init(password: "secret2"), address: address, now: now)
            #expect(throws: Never.self) { try test.identity.authenticator.verify(refreshed.idToken) }
            let mine = try #require(changed.tokens)
            let again = try await accounts.update(
                try test.identity.authenticator.verify(mine.idToken), .init(password: "secret3"), address: address,
                now: now)
            #expect(throws: IdentityError.self) { try test.identity.authenticator.verify(refreshed.idToken) }
            #expect(throws: IdentityError.self) { try test.identity.authenticator.verify(mine.idToken) }
            let last = try #require(again.tokens)
            #expect(throws: Never.self) { try test.identity.authenticator.verify(last.idToken) }
        }
    }

    @Test(arguments: TestAccounts.allCases)
    func `a sign-in by mail ends sessions of an account without a password and providers`(
        accounts database: TestAccounts
    ) async throws {
        try await withIdentity(accounts: database) { test in
            let (accounts, now) = (test.identity.accounts, test.clock.now)
            let account = try await accounts.store.create(
                id: "u", email: "ada@b.c", password: nil, displayName: nil, now: now)
            let other = try await accounts.signedIn(account, .custom, now: now)
            let owner = try await signInByMail(test, "ada@b.c")
            #expect(await code { _ = try await accounts.refresh(other.refreshToken, now: now) } == .tokenExpired)
            #expect(throws: IdentityError.self) { try test.identity.authenticator.verify(other.idToken) }
            // Nothing ends once the address is verified.
            _ = try await signInByMail(test, "ada@b.c")
            #expect(await code { _ = try await accounts.refresh(owner.refreshToken, now: now) } == nil)
        }
    }

    @Test(arguments: TestAccounts.allCases)
    func `a new password by code ends the other codes, and providers of an address that is not verified`(
        accounts database: TestAccounts
    ) async throws {
        try await withIdentity(accounts: database) { test in
            let (accounts, now) = (test.identity.accounts, test.clock.now)
            let (stranger, token) = try await signUp(test, "ada@b.c")
            try await signIn(test, with: google, linkingTo: token)
            let change = try await changeCode(test, stranger, to: "stranger@b.c")
            let reset = try await accounts.passwordCode(for: stranger.account, expiresAt: now + 100)
            let account = try await accounts.resetPassword(
                code: reset, password: "the owner's", address: address, now: now)
            #expect(account.links.isEmpty && account.hasPassword)
            #expect(try await refusal(test, ofCode: change) == "INVALID_OOB_CODE")
            #expect(throws: IdentityError.self) { try test.identity.authenticator.verify(stranger.idToken) }
            #expect(
                await code {
                    _ = try await accounts.resetPassword(code: reset, password: "again1", address: address, now: now)
                } == .invalidCode)

            // The provider of a verified address stays.
            let owner = try await signInByMail(test, "ada@b.c")
            try await signIn(test, with: google, linkingTo: try test.identity.authenticator.verify(owner.idToken))
            let second = try await accounts.passwordCode(for: owner.account, expiresAt: now + 100)
            let kept = try await accounts.resetPassword(
                code: second, password: "secret2", address: address, now: now)
            #expect(kept.links.map(\.provider) == ["google.com"])
        }
    }

    @Test(arguments: TestAccounts.allCases)
    func `a new address ends the codes that were mailed to the former one`(
        accounts database: TestAccounts
    ) async throws {
        try await withIdentity(accounts: database) { test in
            let (accounts, now) = (test.identity.accounts, test.clock.now)
            let (tokens, token) = try await signUp(test, "old@b.c")
            let reset = try await accounts.passwordCode(for: tokens.account, expiresAt: now + 100)
            let verify = try await accounts.mailCode(.verifyEmail, for: tokens.account, token: token, now: now)
            let change = try await changeCode(test, tokens, to: "new@b.c")
            #expect(try await refusal(test, ofCode: change) == nil)
            #expect(try await refusal(test, ofCode: change) == "INVALID_OOB_CODE")
            #expect(try await refusal(test, ofCode: verify) == "INVALID_OOB_CODE")
            #expect(await code { _ = try await accounts.account(passwordCode: reset, now: now) } == .invalidCode)
            #expect(await code { _ = try await accounts.refresh(tokens.refreshToken, now: now) } == .tokenExpired)
            // A request that has read the former address makes no code for it.
            #expect(
                await code { _ = try await accounts.passwordCode(for: tokens.account, expiresAt: now + 100) }
                    == .userNotFound)

            let (other, otherToken) = try await signUp(test, "other@b.c")
            let otherReset = try await accounts.passwordCode(for: other.account, expiresAt: now + 100)
            _ = try await accounts.update(otherToken, .init(email: "third@b.c"), address: address, now: now)
            #expect(await code { _ = try await accounts.account(passwordCode: otherReset, now: now) } == .invalidCode)
        }
    }

    @Test(arguments: TestAccounts.allCases)
    func `a stranger cannot end the codes by which an address's user takes over the account`(
        accounts database: TestAccounts
    ) async throws {
        try await withIdentity(accounts: database) { test in
            let (accounts, now) = (test.identity.accounts, test.clock.now)
            let (stranger, token) = try await signUp(test, "ada@b.c")
            let reset = try await accounts.passwordCode(for: stranger.account, expiresAt: now + 100)
            let mail = try await mailedCode(test, "ada@b.c")
            _ = try await accounts.update(token, .init(password: "secret2"), address: address, now: now)
            #expect(try await accounts.account(passwordCode: reset, now: now).id == stranger.account.id)
            #expect(try await signIn(test, "ada@b.c", mail).account.id == stranger.account.id)
            await #expect(throws: ToolkitRefusal.self) { try await signIn(test, "ada@b.c", mail) }
        }
    }

    @Test(arguments: TestAccounts.allCases)
    func `of two removals at once one leaves the last way to sign in`(accounts database: TestAccounts) async throws {
        try await withIdentity(accounts: database) { test in
            let accounts = test.identity.accounts
            for round in 0..<10 {
                let (tokens, token) = try await signUp(test, "\(round)@b.c")
                try await accounts.store.links.add(
                    ProviderLink(provider: "google.com", subject: "\(round)"), to: tokens.account.id)
                let refused = try await withThrowingTaskGroup(of: Bool.self) { group in
                    for way in ["password", "google.com"] {
                        group.addTask {
                            var changes = Accounts.Changes()
                            changes.removedProviders = [way]
                            let refusal = await code {
                                _ = try await accounts.update(
                                    token, changes, address: address, now: test.clock.now)
                            }
                            return refusal == .notAllowed
                        }
                    }
                    return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
                }
                #expect(refused == 1)
            }
        }
    }

    @Test(arguments: TestAccounts.allCases)
    func `the codes of a disabled account are refused, and end`(accounts database: TestAccounts) async throws {
        try await withIdentity(accounts: database) { test in
            let (accounts, now) = (test.identity.accounts, test.clock.now)
            let (tokens, _) = try await signUp(test, "ada@b.c")
            let change = try await changeCode(test, tokens, to: "new@b.c")
            let reset = try await accounts.passwordCode(for: tokens.account, expiresAt: now + 100)
            let before = try await mailedCode(test, "ada@b.c")
            _ = try await accounts.setDisabled(true, named: "ada@b.c", now: now)
            let during = try await mailedCode(test, "ada@b.c")
            #expect(await code { _ = try await signIn(test, "ada@b.c", during) } == .userDisabled)
            #expect(try await refusal(test, ofCode: change) == "INVALID_OOB_CODE")
            #expect(await code { _ = try await accounts.account(passwordCode: reset, now: now) } == .invalidCode)
            _ = try await accounts.setDisabled(false, named: "ada@b.c", now: now)
            await #expect(throws: ToolkitRefusal.self) { try await signIn(test, "ada@b.c", before) }
            #expect(try await accounts.account(named: "ada@b.c").email == "ada@b.c")
        }
    }

    /// The mail server takes the mail only after the answer.
    @Test func `the time of an answer does not tell who has an account`() async throws {
        try await withIdentity(accounts: .sqlite) { test in
            _ = try await signUp(test, "ada@b.c")
            await test.identity.close()
            let answered = AsyncGate(isOpen: false)
            let sent = Mutex<[String]>([])
            var configuration = test.identity.configuration
            configuration.mailer = { mail in
                await answered.wait()
                sent.withLock { $0.append(mail.recipient) }
            }
            let server = try await IdentityService(
                directory: test.directory, configuration, now: { test.clock.now })
            for email in ["ada@b.c", "nobody@b.c"] {
                _ = try await MailRoutes(server: server).send(
                    ["requestType": "PASSWORD_RESET", "email": .string(email)], isAdministrator: false, address)
            }
            #expect(sent.withLock { $0 } == [])
            answered.set(isOpen: true)
            await server.outbox.wait()
            #expect(sent.withLock { $0 } == ["ada@b.c"])
            await server.close()
        }
    }

    @Test func `the answer to a request for a mail does not tell who has an account, and mails are counted`()
        async throws
    {
        try await withIdentity(accounts: .sqlite) { test in
            let (tokens, _) = try await signUp(test, "ada@b.c")
            _ = try await signUp(test, "off@b.c")
            _ = try await test.identity.accounts.setDisabled(true, named: "off@b.c", now: test.clock.now)
            await test.identity.close()
            let sent = Mutex<[String]>([])
            var configuration = test.identity.configuration
            configuration.mailer = { mail in sent.withLock { $0.append(mail.recipient) } }
            let server = try await IdentityService(
                directory: test.directory, configuration, now: { test.clock.now })
            func ask(_ body: JSONObject, from peer: String) async throws -> JSON {
                try await MailRoutes(server: server).send(
                    body, isAdministrator: false, NetworkAddress(peer: "\(peer):1"))
            }
            for (type, recipients) in [
                ("PASSWORD_RESET", ["ada@b.c"]), ("EMAIL_SIGNIN", ["ada@b.c", "off@b.c", "nobody@b.c"]),
            ] {
                sent.withLock { $0 = [] }
                for email in ["ada@b.c", "off@b.c", "nobody@b.c"] {
                    let answer = try await ask(
                        ["requestType": .string(type), "email": .string(email)], from: "192.0.2.\(type.count)")
                    #expect(
                        answer == [
                            "kind": "identitytoolkit#GetOobConfirmationCodeResponse", "email": .string(email),
                            "requestType": .string(type),
                        ])
                }
                await server.outbox.wait()
                #expect(sent.withLock { $0 } == recipients)
            }
            // The address that gets a mail is counted for all callers together.
            let change: JSONObject = [
                "requestType": "VERIFY_AND_CHANGE_EMAIL", "idToken": .string(tokens.idToken), "newEmail": "eve@b.c",
            ]
            for number in 0..<5 { _ = try await ask(change, from: "198.51.100.\(number)") }
            #expect(await code { _ = try await ask(change, from: "198.51.100.9") } == .tooManyAttempts)
            // As for a direct change of the address, the sign-in must be recent.
            test.clock.advance(1800)
            #expect(await code { _ = try await ask(change, from: "198.51.100.10") } == .loginTooOld)
            await server.close()
        }
    }
}
