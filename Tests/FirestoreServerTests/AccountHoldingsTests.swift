import DocumentModel
import DocumentStore
import FirestoreProtocol
import Testing

@testable import FirestoreServer

struct AccountHoldingsTests {
    @Test func `an account is limited without affecting others`() throws {
        var limits = AccountLimits()
        limits.listenStreams = 2
        var usage = AccountHoldings(limits: limits)
        for _ in 0..<2 { try usage.take(.listenStreams, 1, for: "bob") }
        let error = #expect(throws: DocumentStoreError.self) { try usage.take(.listenStreams, 1, for: "bob") }
        #expect(error?.code == .resourceExhausted && error?.message.contains("2 listen streams") == true)
        try usage.take(.listenStreams, 1, for: "alice")
        try usage.take(.listenTargets, 1, for: "bob")
        usage.release(.listenStreams, 1, for: "bob")
        try usage.take(.listenStreams, 1, for: "bob")
        #expect(throws: DocumentStoreError.self) { try usage.take(.listenBytes, .max, for: "bob") }
    }

    @Test func `a released resource leaves no entry`() throws {
        var usage = AccountHoldings(limits: AccountLimits())
        try usage.take(.listenBytes, 1000, for: "bob")
        try usage.take(.listenBytes, 24, for: "bob")
        try usage.take(.reads, 1, for: "bob")
        usage.release(.listenBytes, 1000, for: "bob")
        usage.release(.reads, 1, for: "bob")
        usage.release(.reads, 1, for: "alice")
        #expect(!usage.isEmpty)
        usage.release(.listenBytes, 24, for: "bob")
        #expect(usage.isEmpty)
    }

    @Test func `large requests count with their bytes while they are handled, small ones do not`() async throws {
        var limits = AccountLimits()
        limits.largeRequestBytes = 1 << 20
        let meter = AccountMeter(limits: limits)
        let bob = Caller.user(id: "bob", expires: nil)
        let database = DatabaseName(project: "test")
        let small = WriteRequest(database: database).encoded()
        // A field that the message does not have: its bytes are skipped.
        let large = small + [0xfa, 0x01, 0x80, 0x80, 0x20] + [UInt8](repeating: 0, count: 512 << 10)
        try await meter.decoding(large, for: bob) { (request: WriteRequest) in
            #expect(request.database == database)
            try await meter.decoding(small, for: bob) { (_: WriteRequest) in }
            let error = await #expect(throws: DocumentStoreError.self) {
                try await meter.decoding(large, for: bob) { (_: WriteRequest) in }
            }
            #expect(error?.code == .resourceExhausted)
            try await meter.decoding(large, for: .user(id: "alice", expires: nil)) { (_: WriteRequest) in }
        }
        try await meter.decoding(large, for: bob) { (_: WriteRequest) in }
    }

    @Test func `an administrator is not counted`() async throws {
        var limits = AccountLimits()
        limits.reads = 0
        let meter = AccountMeter(limits: limits)
        #expect(try await meter.holding(.reads, for: .administrator) { 1 } == 1)
        await #expect(throws: DocumentStoreError.self) {
            try await meter.holding(.reads, for: .user(id: "bob", expires: nil)) {}
        }
    }
}
