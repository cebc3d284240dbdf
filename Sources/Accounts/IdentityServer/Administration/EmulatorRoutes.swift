import HTTPMessages
import HTTPServer
import JSON
import Synchronization

/// The mails that the emulator would have sent, for tests to read.
package final class EmulatedMail: Sendable {
    private static let limit = 1000

    private let entries = Mutex<[JSON]>([])

    func add(_ type: String, email: String, code: String, link: String) {
        let entry: JSON = [
            "email": .string(email), "requestType": .string(type), "oobCode": .string(code), "oobLink": .string(link),
        ]
        entries.withLock { entries in
            if entries.count >= Self.limit { entries.removeFirst() }
            entries.append(entry)
        }
    }

    var json: JSON { .array(entries.withLock { $0 }) }

    func removeAll() { entries.withLock { $0 = [] } }
}

/// The operations of Google's Auth emulator (`/emulator/v1/projects/P/…`), in emulator mode only.
struct EmulatorRoutes: Sendable {
    let server: IdentityService

    /// Returns the answer; nil for another path.
    func handle(_ path: [String], _ request: HTTPServerRequest) async throws -> HTTPResponse? {
        guard path.count == 5, path[1] == "v1", path[2] == "projects" else { return nil }
        switch (request.method, path[4]) {
        case (.delete, "accounts"):
            for account in try await server.accounts.list() {
                try await server.accounts.delete(account, now: server.now())
            }
            server.emulatedMail.removeAll()
            return .json(.ok, [:])
        case (.get, "oobCodes"): return .json(.ok, ["oobCodes": server.emulatedMail.json])
        case (.get, "verificationCodes"): return .json(.ok, ["verificationCodes": []])
        case (.get, "config"), (.patch, "config"):
            return .json(
                .ok,
                [
                    "signIn": ["allowDuplicateEmails": false],
                    "emailPrivacyConfig": ["enableImprovedEmailPrivacy": false],
                ])
        default: return nil
        }
    }
}
