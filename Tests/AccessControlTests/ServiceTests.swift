import AccountClient
import DocumentClient
import DocumentModel
import DocumentStore
import FirestoreServer
import GRPCProtocol
import GRPCServer
import IdentityProtocol
import IdentityServer
import IdentityTestKit
import RulesLanguage
import SystemIO
import Testing

@testable import AccessControl

/// The Firestore service with its real transport, accounts and rules, over a store in memory.
@Suite(.timeLimit(.minutes(1)))
struct ServiceTests {
    private struct OneDatabase: DocumentStoreProvider {
        let store: MemoryDocumentStore

        func store(_ name: DatabaseName) async throws -> any DocumentStore {
            guard name == store.database else { throw DocumentStoreError(.notFound, "There is no such database.") }
            return store
        }
    }

    private static let database = DatabaseName(project: "ferry-test")

    /// A running service.
    private struct Service {
        let accounts: TestIdentity
        let port: Int

        /// A client with the token of a new account.
        func newAccount() async throws -> (id: String, remote: FirestoreRemote) {
            let session = try await accounts.client.signUpAnonymously()
            return (session.userID, remote(token: session.idToken))
        }

        func remote(token: String?) -> FirestoreRemote {
            FirestoreRemote(
                FirestoreRemote.Configuration(
                    endpoint: "127.0.0.1:\(port)", database: database, security: .plaintext, token: { _ in token }))
        }
    }

    /// - Parameter rules: The source of the operator's rules; nil for the built-in ones.
    private func withService(
        documents: Int64 = 100, rules: String? = nil, _ body: (Service) async throws -> Void
    ) async throws {
        let written = try rules.map { source in
            let rules = try Ruleset(parsing: source)
            return WrittenRules(rules: { rules }, now: { Timestamp(microseconds: 1) })
        }
        try await withIdentity { test in
            var quota = AccountQuota()
            quota.documents = documents
            let quotas = AccountQuotas(quota: { [quota] _ in quota })
            let authenticator = DocumentAuthenticator(
                test.identity.authenticator, quotas: quotas, isEmulator: false)
            let closing = AsyncGate(isOpen: false)
            let service = FirestoreService(
                catalog: OneDatabase(store: MemoryDocumentStore(Self.database)), authenticator: authenticator,
                access: written ?? DocumentAccess(quotas: quotas), closing: closing, now: { test.clock.now },
                onError: { Issue.record($0) })
            var settings = GRPCServerConfiguration(host: "127.0.0.1", port: 0)
            settings.authorize = { metadata throws(GRPCStatus) in try authenticator.caller(of: metadata) }
            let server = GRPCServer(settings, routes: service.routes)
            let port = try server.start()
            do {
                try await body(Service(accounts: test, port: port))
            } catch {
                closing.set(isOpen: true)
                await server.shutdown(within: .seconds(2))
                throw error
            }
            closing.set(isOpen: true)
            await server.shutdown(within: .seconds(2))
        }
    }

    private func task(_ id: String, of owner: String) throws -> Write {
        let name = try DocumentName(database: Self.database, path: "tasks/\(id)")
        return Write(.update(name, fields: ["userId": .string(owner)]))
    }

    private func refusal(_ body: () async throws -> Void) async -> RemoteError.Code? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? RemoteError)?.code
        }
    }

    @Test func `users reach their own documents, and an invalid token reaches none`() async throws {
        try await withService { service in
            let alice = try await service.newAccount()
            let bob = try await service.newAccount()
            _ = try await alice.remote.commit([try task("a", of: alice.id)])
            let name = try DocumentName(database: Self.database, path: "tasks/a")
            #expect(try await alice.remote.documents([name]).found.count == 1)
            #expect(await refusal { _ = try await bob.remote.documents([name]) } == .permission)
            #expect(await refusal { _ = try await bob.remote.commit([try task("a", of: bob.id)]) } == .permission)
            let stranger = service.remote(token: nil)
            #expect(await refusal { _ = try await stranger.documents([name]) } == .unauthenticated)
            let forger = service.remote(token: "e30.e30.e30")
            #expect(await refusal { _ = try await forger.documents([name]) } == .unauthenticated)
            for remote in [alice.remote, bob.remote, stranger, forger] { remote.close() }
        }
    }

    @Test func `a commit is held to the quota of the account`() async throws {
        try await withService(documents: 2) { service in
            let alice = try await service.newAccount()
            defer { alice.remote.close() }
            _ = try await alice.remote.commit([try task("a", of: alice.id), try task("b", of: alice.id)])
            #expect(await refusal { _ = try await alice.remote.commit([try task("c", of: alice.id)]) } == .quota)
            _ = try await alice.remote.commit([try task("a", of: alice.id)])
        }
    }

    @Test func `a query is answered in full where the rules allow no more than its limit`() async throws {
        let rules = """
            rules_version = '2';
            service cloud.firestore {
              match /databases/{database}/documents/tasks/{task} {
                allow write: if request.auth != null;
                allow list: if request.query.limit <= 5;
              }
            }
            """
        try await withService(rules: rules) { service in
            let alice = try await service.newAccount()
            func name(_ number: Int) throws -> DocumentName {
                try DocumentName(database: Self.database, path: "tasks/t\(number)")
            }
            _ = try await alice.remote.commit(
                try (10...29).map { Write(.update(try name($0), fields: ["n": .integer(Int64($0))])) })
            let client = try DocumentDatabase(path: ":memory:", database: Self.database, remote: alice.remote)
            let reader = RemoteReader(client)
            var query = Query(parent: ParentName(Self.database), collectionID: "tasks")
            (query.orders, query.limit) = ([.init(FieldPath(key: "n"))], 5)
            func numbers(_ query: Query) async throws -> [Int64?] {
                try await reader.documents(query).map { $0["n"]?.integerValue }
            }
            #expect(try await numbers(query) == [10, 11, 12, 13, 14])
            // Local changes take all of the first results away, and put one of the last before them.
            _ = try await client.write(try (10...15).map { .delete(try name($0)) })
            _ = try await client.write([.set(try name(29), ["n": 0])])
            #expect(try await numbers(query) == [0, 16, 17, 18, 19])
            query.offset = 2
            #expect(try await numbers(query) == [17, 18, 19, 20, 21])
            query.offset = 0
            query.orders = [.init(FieldPath(key: "n"), descending: true)]
            #expect(try await numbers(query) == [28, 27, 26, 25, 24])
            query.orders = []
            #expect(try await numbers(query) == [16, 17, 18, 19, 20])
            query.limit = 6
            #expect(await refusal { _ = try await reader.documents(query) } == .permission)
            await client.close()
            alice.remote.close()
        }
    }

    @Test func `a stream ends with the sessions of its account, and others continue`() async throws {
        try await withService { service in
            let alice = try await service.newAccount()
            let bob = try await service.newAccount()
            func listen(_ account: (id: String, remote: FirestoreRemote)) async throws -> any RemoteListen {
                let query = Query(
                    parent: ParentName(Self.database), collectionID: "tasks",
                    filter: .field(FieldPath(key: "userId"), .equal, .string(account.id)))
                return try await account.remote.listen([RemoteTarget(id: 1, query: query)], seen: nil)
            }
            func next(_ stream: any RemoteListen, until isIt: (RemoteEvent) -> Bool) async throws {
                while let event = try await stream.next() { if isIt(event) { return } }
                throw RemoteError(.transient, "The stream ended.")
            }
            func isCurrent(_ event: RemoteEvent) -> Bool {
                if case .targetChange(let change) = event { change.kind == .current } else { false }
            }
            let (hers, his) = (try await listen(alice), try await listen(bob))
            try await next(hers, until: isCurrent)
            try await next(his, until: isCurrent)
            _ = try await service.accounts.identity.accounts.setDisabled(
                true, named: alice.id, now: service.accounts.clock.now)
            // The first refusal of a stream only asks the client for a fresh token.
            #expect(await refusal { try await next(hers) { _ in false } } == .transient)
            let again = try await listen(alice)
            #expect(await refusal { try await next(again) { _ in false } } == .unauthenticated)
            _ = try await bob.remote.commit([try task("b", of: bob.id)])
            try await next(his) { if case .changed = $0 { true } else { false } }
            for stream in [hers, his, again] { stream.close() }
            for remote in [alice.remote, bob.remote] { remote.close() }
        }
    }
}
