import DocumentModel
import DocumentStore
import FirestoreServer
import IdentityProtocol
import Synchronization
import Testing

@testable import AccessControl

struct AccountQuotasTests {
    @Test func `an account's requests are limited per second without affecting other accounts`() {
        let time = Mutex(0.0)
        var quota = AccountQuota()
        quota.requestsPerSecond = 2
        let limits = AccountQuotas(quota: { [quota] _ in quota }, now: { time.withLock { $0 } })
        let burst = 2 * Int(AccountQuotas.burstSeconds)
        for _ in 0..<burst { #expect(limits.admit("anna")) }
        #expect(!limits.admit("anna") && limits.admit("bob"))
        time.withLock { $0 = 0.5 }
        #expect(limits.admit("anna"))
        #expect(!limits.admit("anna"))
    }

    @Test func `a commit that would own too much is refused, and one that does not grow is not`() async throws {
        let store = MemoryDocumentStore(DatabaseName(project: "p"))
        let limits = AccountQuotas(quota: { user in
            var quota = AccountQuota()
            quota.documents = user == "anna" ? 2 : 100
            return quota
        })
        func commit(_ ids: [String], owner: String = "anna", by user: String = "anna") async throws {
            let writes = try ids.map { id in
                Write(
                    .update(
                        try DocumentName(database: store.database, path: "tasks/\(id)"),
                        fields: ["userId": .string(owner)]))
            }
            let guarding = CommitGuard(account: user) { try limits.check($0, by: user) }
            _ = try await store.commit(writes, transaction: nil, guarding: guarding)
        }
        func refusal(_ ids: [String], by user: String = "anna") async -> DocumentStoreError? {
            do { try await commit(ids, by: user) } catch { return error as? DocumentStoreError }
            return nil
        }
        try await commit(["1"])
        let refused = await refusal(["2", "3"])
        #expect(refused?.code == .resourceExhausted && refused?.message.hasPrefix("Quota exceeded: ") == true)
        try await commit(["2"])
        try await commit(["1", "2"])
        #expect(await refusal(["3"], by: "bob")?.message.contains("the account that owns this") == true)
        try await commit(["3"], owner: "bob", by: "bob")
        _ = try await store.commit([Write(.delete(try DocumentName(database: store.database, path: "tasks/1")))])
        try await commit(["4"])
    }
}
