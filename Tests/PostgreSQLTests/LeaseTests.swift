import PostgresTestKit
import Testing

@testable import PostgreSQL

struct LeaseTests {
    private struct Failure: Error {}

    private func configuration() throws -> PostgresConfiguration {
        PostgresConfiguration(url: try TemporaryPostgres.shared.get().makeDatabase())
    }

    @Test func `one server has the lease until its work has ended or failed`() async throws {
        let lease = PostgresLease("work", try configuration())
        let inner = try await lease.run { renew in
            try renew()
            return try await lease.run { _ in 1 }
        }
        #expect(inner == .some(nil))
        #expect(try await lease.run { _ in 2 } == 2)
        await #expect(throws: Failure.self) { try await lease.run { _ -> Int in throw Failure() } }
        #expect(try await lease.run { _ in 3 } == 3)
    }

    @Test func `leases of other names and databases are others`() async throws {
        let server = try configuration()
        let other = PostgresLease("other", server)
        let elsewhere = PostgresLease("work", try configuration())
        let both = try await PostgresLease("work", server).run { _ in
            let one = try await other.run { _ in 1 }
            let two = try await elsewhere.run { _ in 2 }
            return [one, two]
        }
        #expect(both == [1, 2])
    }

    @Test func `a server that was paused for too long stops before its next step, and takes nothing away`() async throws
    {
        let server = try configuration()
        // It has expired at once, as after a pause.
        let short = PostgresLease("work", server, seconds: 0)
        let long = PostgresLease("work", server)
        await #expect(throws: PostgresLease.Lost.self) {
            try await short.run { renew in
                let inner = try await long.run { renewInner in
                    #expect(throws: PostgresLease.Lost.self) { try renew() }
                    try renewInner()
                    return true
                }
                #expect(inner == true)
                try renew()
            }
        }
        #expect(try await long.run { _ in true } == true)
    }
}
