import Cryptography
import IdentityProtocol
import IdentityTestKit
import JSON
import PostgreSQL
import PostgresTestKit
import Testing

@testable import IdentityServer

/// Several identity servers on one database.
@Suite(.timeLimit(.minutes(1)))
struct ReplicaTests {
    private let address = NetworkAddress(peer: "192.0.2.1:1")

    private func withReplicas(
        _ body: (_ first: IdentityService, _ second: IdentityService, _ url: String, _ clock: TestClock) async throws
            -> Void
    ) async throws {
        let url = try TemporaryPostgres.shared.get().makeDatabase()
        let clock = TestClock(1_800_000_000)
        func start() async throws -> IdentityService {
            var configuration = IdentityService.Configuration(issuer: "http://issuer.test", project: "ferry-test")
            configuration.passwordCost = 1 << 4
            return try await IdentityService(
                .database(PostgresConfiguration(url: url), nil), configuration, now: { clock.now })
        }
        // Both create the tables and the keys at the same time.
        async let other = start()
        let first = try await start()
        let second = try await other
        do { try await body(first, second, url, clock) } catch {
            await first.close()
            await second.close()
            throw error
        }
        await first.close()
        await second.close()
    }

    private func signUp(_ server: IdentityService, _ email: String, _ clock: TestClock) async throws -> Accounts.Tokens
    {
        try await server.accounts.signUp(
            email: email, password: "secret1", from: Accounts.SignUpOrigin(address: address), now: clock.now)
    }

    @Test func `an account of one server signs in at the other, and its tokens and keys are valid there`() async throws
    {
        try await withReplicas { first, second, _, clock in
            let tokens = try await signUp(first, "a@b.c", clock)
            #expect(try second.authenticator.verify(tokens.idToken).userID == tokens.account.id)
            let refreshed = try await second.accounts.refresh(tokens.refreshToken, now: clock.now)
            #expect(try first.authenticator.verify(refreshed.idToken).userID == tokens.account.id)
            let again = try await second.accounts.signIn(
                email: "a@b.c", password: "secret1", address: address, now: clock.now)
            #expect(again.account.id == tokens.account.id)
            let keys = first.storage.issue(for: tokens.account.id, lifetime: 900, now: clock.now)
            let found = second.storage.lookup(
                accessKey: keys.accessKey, sessionToken: keys.sessionToken, now: clock.now)
            #expect(found?.secretKey == keys.secretKey)
            #expect(first.lineage == second.lineage)
        }
    }

    @Test func `an account that one server disables is refused by the other once it has caught up`() async throws {
        try await withReplicas { first, second, _, clock in
            let tokens = try await signUp(first, "a@b.c", clock)
            try await second.catchUp()
            _ = try second.authenticator.verify(tokens.idToken)
            _ = try await first.accounts.setDisabled(true, named: "a@b.c", now: clock.now)
            try await second.catchUp()
            #expect(throws: IdentityError.self) { try second.authenticator.verify(tokens.idToken) }
            let key = try await first.storage.addAdministrator(label: "", now: clock.now)
            #expect(second.storage.lookup(accessKey: key.accessKey, sessionToken: nil, now: clock.now) == nil)
            try await second.catchUp()
            #expect(second.storage.lookup(accessKey: key.accessKey, sessionToken: nil, now: clock.now) != nil)
        }
    }

    @Test func `a server that follows the others refuses what they have disabled by itself`() async throws {
        try await withReplicas { first, second, _, clock in
            let tokens = try await signUp(first, "a@b.c", clock)
            _ = try second.authenticator.verify(tokens.idToken)
            let (changes, change) = AsyncStream.makeStream(of: Void.self)
            let following = Task { await second.follow(onChange: { change.yield() }, onError: { _ in }) }
            _ = try await first.accounts.setDisabled(true, named: "a@b.c", now: clock.now)
            for await _ in changes where (try? second.authenticator.verify(tokens.idToken)) == nil { break }
            following.cancel()
            await following.value
        }
    }

    @Test func `one of two sign-ups with the same address succeeds`() async throws {
        try await withReplicas { first, second, _, clock in
            for round in 0..<5 {
                let email = "\(round)@b.c"
                async let one = signUp(first, email, clock)
                async let two = signUp(second, email, clock)
                var made = 0
                do { made += try await one.account.email == email ? 1 : 0 } catch let error as IdentityError {
                    #expect(error.code == .emailExists)
                }
                do { made += try await two.account.email == email ? 1 : 0 } catch let error as IdentityError {
                    #expect(error.code == .emailExists)
                }
                #expect(made == 1)
            }
        }
    }

    @Test func `failed sign-ins count at all servers`() async throws {
        try await withReplicas { first, second, _, clock in
            _ = try await signUp(first, "a@b.c", clock)
            for number in 0..<SignInLimiter.freeFailures {
                let server = number % 2 == 0 ? first : second
                await #expect(throws: IdentityError.self) {
                    try await server.accounts.signIn(
                        email: "a@b.c", password: "guess", address: address, now: clock.now)
                }
            }
            for server in [first, second] {
                let refusal = await code {
                    _ = try await server.accounts.signIn(
                        email: "a@b.c", password: "secret1", address: address, now: clock.now)
                }
                #expect(refusal == .tooManyAttempts)
            }
        }
    }

    @Test func `a new signing key is published everywhere before it signs`() async throws {
        try await withReplicas { first, second, _, clock in
            let before = try await signUp(first, "a@b.c", clock)
            let old = try #require(JSONWebToken(before.idToken)?.header["kid"])
            try await first.rotateSigningKeys()
            try await second.catchUp()
            #expect(second.keys.current.publicKeys.count == 2)
            #expect(second.keys.current.jwks == first.keys.current.jwks)
            let during = try await second.accounts.refresh(before.refreshToken, now: clock.now)
            #expect(JSONWebToken(during.idToken)?.header["kid"] == old)
            clock.advance(SigningKeys.overlap)
            let after = try await second.accounts.refresh(before.refreshToken, now: clock.now)
            #expect(JSONWebToken(after.idToken)?.header["kid"] != old)
            #expect(try first.authenticator.verify(after.idToken).userID == before.account.id)
        }
    }

    @Test func `two rotations at once add both keys`() async throws {
        try await withReplicas { first, second, _, _ in
            async let one: Void = first.rotateSigningKeys()
            async let two: Void = second.rotateSigningKeys()
            _ = try await (one, two)
            try await first.reload()
            #expect(first.keys.current.publicKeys.count == 3)
        }
    }

    @Test func `accounts work again after their connections were cut`() async throws {
        try await withReplicas { first, second, url, clock in
            let tokens = try await signUp(first, "a@b.c", clock)
            let server = try TemporaryPostgres.shared.get()
            for round in 0..<10 {
                try server.disconnectClients(of: url)
                let refreshed = try await second.accounts.refresh(tokens.refreshToken, now: clock.now)
                #expect(refreshed.account.id == tokens.account.id)
                _ = try await signUp(first, "\(round)@b.c", clock)
            }
            #expect(try await second.accounts.list().count == 11)
        }
    }

    @Test func `accounts work again on another connection after their server became read-only`() async throws {
        // The setting holds for connections that exist, as on a former primary, but not for new ones.
        let server = try TemporaryPostgres()
        let url = try server.makeDatabase()
        let administrator = try PostgresConnection(PostgresConfiguration(url: server.url))
        let database = url[(url.firstRange(of: "@/")?.upperBound ?? url.startIndex)...].prefix { $0 != "?" }
        let clock = TestClock(1_800_000_000)
        var configuration = IdentityService.Configuration(issuer: "http://issuer.test", project: "ferry-test")
        configuration.passwordCost = 1 << 4
        let identity = try await IdentityService(
            .database(PostgresConfiguration(url: url), nil), configuration, now: { clock.now })
        for number in 0..<8 { _ = try await signUp(identity, "\(number)@b.c", clock) }
        try administrator.run("ALTER DATABASE \(database) SET default_transaction_read_only=off")
        try administrator.run("ALTER SYSTEM SET default_transaction_read_only=on")
        try administrator.run("SELECT pg_reload_conf()")
        for number in 8..<16 { _ = try await signUp(identity, "\(number)@b.c", clock) }
        #expect(try await identity.accounts.list().count == 16)
        await identity.close()
    }

    @Test func `a copy of a directory has its accounts, sessions and keys, and is made once`() async throws {
        let url = try TemporaryPostgres.shared.get().makeDatabase()
        let server = PostgresConfiguration(url: url)
        try await withIdentity(accounts: .sqlite) { test in
            let first = test.identity
            let tokens = try await signUp(first, "a@b.c", test.clock)
            _ = try await first.accounts.setQuota(
                AccountQuota.Override(documents: 5), of: tokens.account, now: test.clock.now)
            let invitation = try await first.accounts.invite(
                uses: 1, expiresAt: test.clock.now + 100, now: test.clock.now)
            let keys = try await first.storage.addAdministrator(label: "l", now: test.clock.now)
            #expect(try await IdentityService.copy(directory: test.directory, to: server) == 1)
            var configuration = first.configuration
            configuration.signUp = .invite
            let second = try await IdentityService(
                .database(server, nil), configuration, now: { test.clock.now })
            #expect(second.lineage == first.lineage)
            #expect(try second.authenticator.verify(tokens.idToken).userID == tokens.account.id)
            let refreshed = try await second.accounts.refresh(tokens.refreshToken, now: test.clock.now)
            #expect(refreshed.account.quota.documents == 5)
            _ = try await second.accounts.signIn(
                email: "a@b.c", password: "secret1", address: address, now: test.clock.now)
            _ = try await second.accounts.signUp(
                email: "b@b.c", password: "secret1",
                from: Accounts.SignUpOrigin(address: address, invitation: invitation), now: test.clock.now)
            let found = second.storage.lookup(accessKey: keys.accessKey, sessionToken: nil, now: test.clock.now)
            #expect(found?.secretKey == keys.secretKey)
            let refusal = await code { _ = try await IdentityService.copy(directory: test.directory, to: server) }
            #expect(refusal == .notAllowed)
            await second.close()
        }
    }
}
