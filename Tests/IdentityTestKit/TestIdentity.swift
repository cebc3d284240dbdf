package import AccountClient
import HTTPClient
package import HTTPMessages
import HTTPServer
package import IdentityProtocol
package import IdentityServer
package import JSON
import PostgreSQL
import PostgresTestKit
import Synchronization
import SystemIO
import SystemTestKit

/// An identity server on loopback with a clock that the test sets.
package struct TestIdentity: Sendable {
    package let identity: IdentityService
    package let url: String
    package let directory: String
    package let clock: TestClock
    /// The number of requests so far.
    package let requests: TestClock

    package var client: IdentityClient { IdentityClient(url: url) }

    /// Posts a request, and returns the status and the body of the response.
    package func post(_ path: String, _ body: JSON) async throws -> (status: HTTPStatus, body: JSON) {
        let request = HTTPRequest(
            .post, url + path, headers: ["Content-Type": "application/json"], body: .bytes(body.bytes))
        let response = try await HTTPClient().send(request)
        return (response.status, try JSON(parsing: try await response.body.collect(limit: 1 << 20)))
    }

    /// Returns the error code with which a call is refused; nil if it succeeds.
    package func refusal(_ path: String, _ body: JSON) async throws -> String? {
        let (status, answer) = try await post(path, body)
        return status == .ok ? nil : answer["error"]?["message"]?.stringValue
    }
}

package final class TestClock: Sendable {
    private let value: Mutex<Int64>

    package init(_ value: Int64) { self.value = Mutex(value) }

    package var now: Int64 { value.withLock { $0 } }

    package func advance(_ count: Int64) { value.withLock { $0 += count } }
}

/// Signing keys that all tests share, because creating a key takes longer than most tests.
private let keys = Result { try SigningKeys() }

/// The place of the accounts: an SQLite file, or a database of a real PostgreSQL.
package enum TestAccounts: CaseIterable, Sendable {
    case sqlite, postgres

    /// The place of tests that do not choose: PostgreSQL with `FERRY_TEST_DATABASE=postgresql`.
    package static var usual: TestAccounts {
        ProcessEnvironment["FERRY_TEST_DATABASE"] == "postgresql" ? .postgres : .sqlite
    }

    /// Returns an empty place.
    ///
    /// - Parameter directory: The directory of the file and of the keys.
    package func storage(in directory: String) throws -> AccountStorage {
        switch self {
        case .sqlite:
            try keys.get().write(to: "\(directory)/signing-keys.pem")
            return .directory(directory)
        case .postgres:
            return .database(PostgresConfiguration(url: try TemporaryPostgres.shared.get().makeDatabase()), nil)
        }
    }
}

/// Runs an identity server while the body runs.
///
/// - Parameter start: The server's time at the start, in seconds since 1970.
package func withIdentity(
    start: Int64 = 1_800_000_000, isEmulator: Bool = false, signUp: SignUpPolicy = .open,
    accounts: TestAccounts = .usual, _ body: (TestIdentity) async throws -> Void
) async throws {
    try await withTemporaryDirectory { directory in
        let clock = TestClock(start)
        let requests = TestClock(0)
        var configuration = IdentityService.Configuration(issuer: "http://issuer.test", project: "ferry-test")
        configuration.isEmulator = isEmulator
        configuration.passwordCost = 1 << 4
        configuration.signUp = signUp
        let identity = try await IdentityService(
            try accounts.storage(in: directory), configuration, now: { clock.now })
        let server = HTTPServer(.tcp(host: "127.0.0.1", port: 0)) { request in
            requests.advance(1)
            return await IdentityRouter(identity).handle(request) ?? HTTPResponse(.notFound)
        }
        let url = "http://\(try server.start())"
        let test = TestIdentity(
            identity: identity, url: url, directory: directory, clock: clock, requests: requests)
        let result = await Result { try await body(test) }
        await server.stop(within: .seconds(1))
        await identity.close()
        try result.get()
    }
}

extension Result where Failure == any Error {
    init(_ body: () async throws -> Success) async {
        do {
            self = .success(try await body())
        } catch {
            self = .failure(error)
        }
    }
}

package func code(_ body: () async throws -> Void) async -> IdentityError.Code? {
    do {
        try await body()
        return nil
    } catch {
        return (error as? IdentityError)?.code
    }
}
