import IdentityProtocol
import IdentityTestKit
import JSON
import SystemIO
import SystemTestKit
import Testing

@testable import IdentityServer

/// The contract of `AccountStore`, with both databases.
struct AccountStoreContract {
    private func withStore(_ accounts: TestAccounts, _ body: (AccountStore) async throws -> Void) async throws {
        try await withTemporaryDirectory { directory in
            let database: any AccountDatabase =
                switch try accounts.storage(in: directory) {
                case .directory(let path): try SQLiteAccountDatabase(path: "\(path)/accounts.sqlite")
                case .database(let server, _): try PostgresAccountDatabase(server, environment: .system) {}
                }
            let store = AccountStore(database)
            do { try await body(store) } catch {
                await store.close()
                throw error
            }
            await store.close()
        }
    }

    @Test(arguments: TestAccounts.allCases)
    func `an account is found as it was stored`(accounts: TestAccounts) async throws {
        try await withStore(accounts) { store in
            let hash = PasswordHash(bytes: [0, 1, 255], cost: 16)
            let link = ProviderLink(
                provider: "google.com", subject: "1?", email: "g@x.y", displayName: "G \"x\"", photoURL: nil)
            let made = try await store.create(
                email: "a@b.c", password: hash, displayName: "Ann ✓", link: link, now: 1000)
            #expect(made.links == [link] && made.createdAt == 1_000_000 && made.hasPassword && !made.isDisabled)
            let (found, stored) = try #require(try await store.account(email: "a@b.c"))
            #expect(found == made && stored?.bytes == hash.bytes && stored?.cost == 16)
            #expect(try await store.account(id: made.id) == made)
            #expect(try await store.account(email: "A@b.c") == nil)
            #expect(try await store.account(id: "x") == nil)
            let changed = try await store.update(
                made.id,
                [
                    ("display_name", .null), ("disabled", 1), ("quota_documents", 7),
                    ("custom_claims", .text("{\"a\":1}")),
                ])
            #expect(changed.displayName == nil && changed.isDisabled && changed.quota.documents == 7)
            #expect(changed.customClaims["a"] == 1)
            #expect(try await store.quotaOverrides() == [made.id: AccountQuota.Override(documents: 7)])
            #expect(try await store.links.account(provider: "google.com", subject: "1?") == made.id)
            try await store.links.remove(["google.com"], from: made.id)
            #expect(try await store.account(id: made.id)?.links == [])
        }
    }

    @Test(arguments: TestAccounts.allCases)
    func `what exists already is refused, and changes nothing`(accounts: TestAccounts) async throws {
        try await withStore(accounts) { store in
            try await store.addInvitation([1], uses: 2, expiresAt: 100, now: 0)
            let link = ProviderLink(provider: "p", subject: "s")
            _ = try await store.create(
                email: "a@b.c", password: nil, displayName: nil, invitation: [1], link: link, now: 1)
            #expect(
                await code {
                    _ = try await store.create(
                        email: "a@b.c", password: nil, displayName: nil, invitation: [1], now: 1)
                } == .emailExists)
            // The refused sign-up has not used up the invitation.
            let other = try await store.create(
                email: nil, password: nil, displayName: nil, invitation: [1], now: 1)
            #expect(
                await code {
                    _ = try await store.create(email: nil, password: nil, displayName: nil, invitation: [1], now: 1)
                } == .invalidCode)
            #expect(await code { _ = try await store.update(other.id, [("email", .text("a@b.c"))]) } == .emailExists)
            #expect(await code { try await store.links.add(link, to: other.id) } == .alreadyLinked)
            #expect(await code { _ = try await store.update("nobody", [("disabled", 1)]) } == .userNotFound)
        }
    }

    @Test(arguments: TestAccounts.allCases)
    func `sessions end with their account, with a new password, and above the limit`(
        accounts: TestAccounts
    ) async throws {
        try await withStore(accounts) { store in
            let account = try await store.create(email: "a@b.c", password: nil, displayName: nil, now: 1)
            var tokens: [String] = []
            for time in 0..<103 {
                tokens.append(try await store.openSession(account, .custom, claims: ["k": "v"], now: Int64(time)))
            }
            var open = 0
            for token in tokens { if try await store.session(token) != nil { open += 1 } }
            #expect(open == 100)
            let session = try #require(try await store.session(tokens[102]))
            #expect(session.authenticatedAt == 102 && session.provider == .custom && session.claims["k"] == "v")
            #expect(try await store.session(tokens[2]) == nil)
            try await store.addPasswordCode([9], for: account, expiresAt: 50)
            #expect(try await store.account(passwordCode: [9], now: 49)?.id == account.id)
            #expect(try await store.account(passwordCode: [9], now: 50) == nil)
            let hash = PasswordHash(bytes: [1], cost: 2)
            let changed = try await store.setPassword(of: account.id, hash, passwordCode: [9], clock: { 49 })
            #expect(
                await code {
                    _ = try await store.setPassword(of: account.id, hash, passwordCode: [9], clock: { 49 })
                } == .invalidCode)
            #expect(try await store.session(tokens[102]) == nil)
            // The password of this sign-in was checked before it was changed.
            #expect(await code { _ = try await store.openSession(account, .password, now: 49) } == .tokenExpired)
            let token = try await store.openSession(changed, .password, now: 60)
            try await store.delete(account.id, removesData: true, now: 70)
            #expect(try await store.session(token) == nil)
            #expect(try await store.removals() == [account.id])
            #expect(try await store.revocations(now: 70) == [account.id: .max])
            #expect(try await store.revocations(now: 100_000) == [:])
            try await store.finishRemoval(of: account.id)
            #expect(try await store.removals() == [])
        }
    }

    @Test(arguments: TestAccounts.allCases)
    func `accounts are listed by the bytes of their ids, page by page`(accounts: TestAccounts) async throws {
        try await withStore(accounts) { store in
            for id in ["b", "B", "a", "ä", "_"] {
                _ = try await store.create(id: id, email: nil, password: nil, displayName: nil, now: 1)
            }
            #expect(try await store.accounts(after: "", limit: 3).map(\.id) == ["B", "_", "a"])
            #expect(try await store.accounts(after: "a", limit: 3).map(\.id) == ["b", "ä"])
            #expect(try await store.accounts().count == 5)
        }
    }

    @Test(arguments: TestAccounts.allCases)
    func `a code of a mail works once, however many take it`(accounts: TestAccounts) async throws {
        try await withStore(accounts) { store in
            let entry = MailCodes.Entry(kind: .signIn, email: "a@b.c", account: nil, newEmail: nil)
            let code = try await store.mailCodes.add(entry, now: 0)
            await #expect(throws: ToolkitRefusal.self) {
                try await store.mailCodes.take(code, for: .verifyEmail, now: 1)
            }
            let taken = try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 0..<8 {
                    group.addTask { (try? await store.mailCodes.take(code, for: .signIn, now: 1)) != nil }
                }
                return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(taken == 1)
        }
    }

    @Test(arguments: TestAccounts.allCases)
    func `an invitation is used as often as it allows, however many sign up`(accounts: TestAccounts) async throws {
        try await withStore(accounts) { store in
            try await store.addInvitation([7], uses: 3, expiresAt: 100, now: 0)
            let made = try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 0..<10 {
                    group.addTask {
                        do {
                            _ = try await store.create(
                                email: nil, password: nil, displayName: nil, invitation: [7], now: 1)
                            return true
                        } catch let error as IdentityError where error.code == .invalidCode {
                            return false
                        }
                    }
                }
                return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(made == 3)
        }
    }

    @Test(arguments: TestAccounts.allCases)
    func `secrets are made once, and replaced only by those who know them`(accounts: TestAccounts) async throws {
        try await withStore(accounts) { store in
            let made = try await withThrowingTaskGroup(of: [UInt8].self) { group in
                for _ in 0..<8 { group.addTask { try await store.storageSecret() } }
                return try await group.reduce(into: Set<[UInt8]>()) { $0.insert($1) }
            }
            #expect(made.count == 1 && made.first?.count == 32)
            #expect(try await store.lineage() == store.lineage())
            let old = try await store.secret("x") { [1] }
            #expect(try await !store.replaceSecret("x", [9], with: [2]))
            #expect(try await store.replaceSecret("x", old, with: [2]))
            #expect(try await store.secret("x") { [3] } == [2])
        }
    }

    @Test(arguments: TestAccounts.allCases)
    func `keys of administrators are stored and removed`(accounts: TestAccounts) async throws {
        try await withStore(accounts) { store in
            try await store.add(StorageKey(accessKey: "AKIA", label: "l", createdAt: 5))
            #expect(try await store.storageKeys().map(\.accessKey) == ["AKIA"])
            #expect(try await store.removeStorageKey("AKIA"))
            #expect(try await !store.removeStorageKey("AKIA"))
            let key = ServiceAccountKey(
                keyID: "k", email: "e", modulus: [200, 1], exponent: [1], label: "", createdAt: 5)
            try await store.serviceAccounts.add(key)
            #expect(try await store.serviceAccounts.all() == [key])
            #expect(try await store.serviceAccounts.remove("k"))
            #expect(try await store.serviceAccounts.all() == [])
        }
    }

    @Test(arguments: TestAccounts.allCases)
    func `limits count alike in memory and in the database`(accounts: TestAccounts) async throws {
        try await withStore(accounts) { store in
            let limits: RateLimits =
                store.database.isShared ? .database(store.database) : .memory(RateLimitsInMemory())
            let mails = [RateLimits.Event(.mail, "to a"), RateLimits.Event(.mail, "from b")]
            for _ in 0..<5 { #expect(try await limits.take(mails, now: 1000)) }
            #expect(try await !limits.take(mails, now: 1000))
            // What is refused uses up nothing of the other key.
            #expect(try await limits.allow([RateLimits.Event(.mail, "to c")], now: 1000))
            #expect(try await !limits.allow(mails, now: 1299))
            #expect(try await limits.take(mails, now: 1300))
            let home = NetworkAddress(peer: "192.0.2.1:1")
            for number in 0..<7 {
                try await limits.withSignIns(to: "a@b.c", from: home, now: 2000 + Int64(number)) {
                    $0.fail(account: "a@b.c", exists: true, address: home, now: 2000 + Int64(number))
                }
            }
            func delay(_ account: String, now: Int64) async throws -> Int64 {
                try await limits.withSignIns(to: account, from: home, now: now) {
                    $0.delay(account: account, address: home, now: now)
                }
            }
            #expect(try await delay("a@b.c", now: 2006) == 4)
            #expect(try await delay("other@b.c", now: 2006) == 0)
            try await limits.withSignIns(to: "a@b.c", from: home, now: 2010) {
                $0.succeed(account: "a@b.c", address: home, now: 2010)
            }
            #expect(try await delay("a@b.c", now: 2010) == 0)
            #expect(
                try await limits.withSignIns(to: "a@b.c", from: home, now: 2010) {
                    $0.isKnown(account: "a@b.c", address: home)
                })
            // An address that fails for many accounts may not sign in to further ones.
            for number in 0..<SignInLimiter.accountsPerAddress {
                try await limits.withSignIns(to: "\(number)@b.c", from: home, now: 3000) {
                    $0.fail(account: "\(number)@b.c", exists: true, address: home, now: 3000)
                }
            }
            #expect(try await delay("new@b.c", now: 3000) == SignInLimiter.memory)
            #expect(try await delay("a@b.c", now: 3000) == 0)
            try await limits.removeExpired(now: 100_000_000)
            if store.database.isShared { #expect(try await delay("new@b.c", now: 3000) == 0) }
        }
    }
}
