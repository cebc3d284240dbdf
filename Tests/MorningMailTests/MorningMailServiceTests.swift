import CivilTime
import DocumentModel
import DocumentStore
import Foundation
import IdentityProtocol
import PostgreSQL
import PostgresTestKit
import SMTPClient
import SystemIO
import SystemService
import SystemTestKit
import TaskModel
import Testing

@testable import IdentityServer
@testable import MorningMail

/// A mail server that is not Ferry's own; see `smtp_server.py`.
private final class MailServer {
    static let python = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(
        path: "../../.venv/bin/python")
    static var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: python.path) }

    let directory: TemporaryDirectory
    let port: Int
    private let process = Process()
    private let lifeline = Pipe()

    init() throws {
        directory = try TemporaryDirectory()
        let output = Pipe()
        process.executableURL = Self.python
        process.arguments = [
            URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "smtp_server.py").path,
            directory.path,
        ]
        process.standardInput = lifeline
        process.standardOutput = output
        try process.run()
        let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        port = try #require(Int(line.trimmingCharacters(in: .whitespacesAndNewlines)))
    }

    deinit {
        try? lifeline.fileHandleForWriting.close()
        process.waitUntilExit()
    }

    /// The mails so far, each after the line of its recipients.
    var mails: [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? []
        return names.filter { $0.hasSuffix(".mail") }.sorted().compactMap {
            (try? Data(contentsOf: URL(fileURLWithPath: "\(directory.path)/\($0)"))).map {
                String(decoding: $0, as: UTF8.self)
            }
        }
    }

    func refuse(_ refuses: Bool) throws {
        let path = "\(directory.path)/refuse"
        if refuses {
            try Data().write(to: URL(fileURLWithPath: path))
        } else {
            try FileManager.default.removeItem(atPath: path)
        }
    }
}

@Suite(.timeLimit(.minutes(1)), .enabled(if: MailServer.isInstalled, "needs Tests/requirements.txt in .venv"))
struct MorningMailServiceTests {
    enum Place: CaseIterable { case directory, database }

    /// 07:30 on 30 November 2026 in Berlin.
    private let morning = UTCTime(rfc3339: "2026-11-30T06:30:00Z")?.seconds ?? 0
    private let day: Int64 = 86_400
    private let mailbox: MailServer
    private let directory: TemporaryDirectory
    private let documents = MemoryDocumentStore(DatabaseName(project: "ferry"))

    init() throws {
        mailbox = try MailServer()
        directory = try TemporaryDirectory()
    }

    /// Starts servers on one set of accounts.
    private func withServers(
        _ place: Place, count: Int = 1, _ body: ([(IdentityService, MorningMailService)]) async throws -> Void
    ) async throws {
        let storage: AccountStorage =
            switch place {
            case .directory: .directory(directory.path)
            case .database:
                .database(PostgresConfiguration(url: try TemporaryPostgres.shared.get().makeDatabase()), nil)
            }
        var servers: [(IdentityService, MorningMailService)] = []
        let mail = SMTPClient.Configuration(url: "smtp://127.0.0.1:\(mailbox.port)", sender: "ferry@example.org")
        for _ in 0..<count {
            var settings = IdentityService.Configuration(issuer: "https://tasks.example.org", project: "ferry")
            settings.passwordCost = 1 << 4
            settings.send(through: SMTPClient(mail))
            let identity = try await IdentityService(storage, settings, now: { 1_790_000_000 })
            let logger = Logger(label: "mail", level: .critical)
            servers.append(
                (identity, MorningMailService(identity, through: mail, logger: logger) { [documents] in documents }))
        }
        do { try await body(servers) } catch {
            for (identity, _) in servers { await identity.close() }
            throw error
        }
        for (identity, _) in servers { await identity.close() }
    }

    private func addAccount(_ identity: IdentityService, _ email: String, isConfirmed: Bool = true) async throws
        -> String
    {
        let account = try await identity.accounts.add(email: email, password: "secret12", now: 1_790_000_000)
        if isConfirmed { _ = try await identity.accounts.store.update(account.id, [("email_verified", .bool(true))]) }
        try await identity.morningMails.set(.init(minute: 450, zone: "Europe/Berlin"), of: account.id, next: morning)
        return account.id
    }

    private func addTask(_ id: String, _ title: String, due: String, of user: String, list: ListID? = nil) async throws
    {
        let task = TaskItem(title: title, due: Due(parsing: due), listId: list, userId: UserID(user))
        try await write("tasks/\(id)", task.documentFields)
    }

    private func write(_ path: String, _ fields: [String: Value]) async throws {
        let name = try DocumentName(database: documents.database, path: path)
        _ = try await documents.commit([Write(.update(name, fields: fields))])
    }

    @Test(arguments: Place.allCases)
    func `one mail a day brings the tasks that are due`(place: Place) async throws {
        try await withServers(place) { servers in
            let (identity, service) = servers[0]
            let ann = try await addAccount(identity, "ann@example.org")
            let bob = try await addAccount(identity, "bob@example.org")
            _ = try await addAccount(identity, "idle@example.org")
            let eve = try await addAccount(identity, "eve@example.org", isConfirmed: false)
            try await addTask("a", "Größe messen", due: "2026-11-30", of: ann)
            try await addTask("b", "Taxes", due: "2026-11-29", of: ann, list: "shared")
            try await addTask("c", "Secret", due: "2026-11-30", of: eve)
            // Everybody can name a list, and those who can see it need not see that.
            try await addTask("d", "Advertisement", due: "2026-11-30", of: eve, list: "shared")
            try await write("lists/nobodys", ["name": "Home", "sharedWith": .array([.string(bob)])])
            try await addTask("e", "Stolen", due: "2026-11-30", of: eve, list: "nobodys")
            try await write(
                "lists/shared", ["name": "Home", "userId": .string(ann), "sharedWith": .array([.string(bob)])])
            try await service.sendDue(at: morning - 1)
            #expect(mailbox.mails.isEmpty)
            for minute in [0, 1, 30, 600] as [Int64] { try await service.sendDue(at: morning + 60 * minute) }
            let mails = mailbox.mails
            #expect(mails.count == 2)
            let mail = try #require(mails.first { $0.hasPrefix("ann@example.org\n") })
            #expect(mail.contains("Subject: Tasks: 1 due today, 1 overdue\r\n"))
            #expect(mail.contains("- Größe messen\r\n") && mail.contains("- 2026-11-29  Taxes\r\n"))
            #expect(mail.contains("List-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n"))
            #expect(mail.contains("List-Unsubscribe: <https://tasks.example.org/__/mail/off?token="))
            let other = try #require(mails.first { $0.hasPrefix("bob@example.org\n") })
            #expect(other.contains("Taxes") && !other.contains("messen"))
            #expect(!mails.contains { $0.contains("Advertisement") || $0.contains("Stolen") })
            try await service.sendDue(at: morning + day)
            #expect(mailbox.mails.count == 4)
            // Days on which the server was stopped bring no mails later, and one that starts late sends the day's.
            try await service.sendDue(at: morning + 5 * day + 3600)
            #expect(mailbox.mails.count == 4)
            try await service.sendDue(at: morning + 6 * day + 3600)
            #expect(mailbox.mails.count == 6)
        }
    }

    @Test func `of several servers one sends`() async throws {
        try await withServers(.database, count: 3) { servers in
            for number in 0..<20 {
                let user = try await addAccount(servers[0].0, "u\(number)@example.org")
                try await addTask("t\(number)", "x", due: "2026-11-30", of: user)
            }
            await withThrowingTaskGroup(of: Void.self) { group in
                for (_, service) in servers { group.addTask { [morning] in try await service.sendDue(at: morning) } }
                while let result = await group.nextResult() {
                    if case .failure(let error) = result { Issue.record(error) }
                }
            }
            let recipients = mailbox.mails.compactMap { $0.split(separator: "\n").first }
            #expect(recipients.count == 20 && Set(recipients).count == 20)
        }
    }

    @Test(arguments: Place.allCases)
    func `a mail that is refused is tried again, and a change of the time brings no second one`(place: Place)
        async throws
    {
        try await withServers(place) { servers in
            let (identity, service) = servers[0]
            let user = try await addAccount(identity, "ann@example.org")
            try await addTask("a", "x", due: "2026-11-30", of: user)
            try mailbox.refuse(true)
            try await service.sendDue(at: morning)
            try mailbox.refuse(false)
            try await service.sendDue(at: morning + 60)
            #expect(mailbox.mails.isEmpty)
            try await service.sendDue(at: morning + 900)
            #expect(mailbox.mails.count == 1)
            try await identity.morningMails.set(
                .init(minute: 540, zone: "Europe/Berlin"), of: user, next: morning + 5400)
            try await service.sendDue(at: morning + 5400)
            #expect(mailbox.mails.count == 1)
            try await service.sendDue(at: morning + day + 5400)
            #expect(mailbox.mails.count == 2)
        }
    }

    @Test(arguments: Place.allCases)
    func `a token ends the mails of its account only`(place: Place) async throws {
        try await withServers(place) { servers in
            let (identity, service) = servers[0]
            let users = [
                try await addAccount(identity, "a@example.org"), try await addAccount(identity, "b@example.org"),
            ]
            let entries = try await identity.morningMails.due(now: morning, limit: 10)
            #expect(Set(entries.map(\.token)).count == 2 && entries.allSatisfy { $0.token.utf8.count >= 22 })
            try await identity.morningMails.remove(token: "")
            try await identity.morningMails.remove(token: try #require(entries.first { $0.account == users[0] }).token)
            #expect(try await identity.morningMails.setting(of: users[0]) == nil)
            #expect(try await identity.morningMails.setting(of: users[1]) != nil)
            // A server that claimed a mail before sends it, and none with a setting that has changed.
            let entry = try #require(entries.first { $0.account == users[1] })
            #expect(try await identity.morningMails.claim(entry, day: 1, next: morning + day))
            #expect(try await !identity.morningMails.claim(entry, day: 1, next: morning + day))
            try await identity.accounts.delete(identity.accounts.account(named: "b@example.org"), now: 1_790_000_000)
            #expect(try await identity.morningMails.setting(of: users[1]) == nil)
            try await service.sendDue(at: morning)
            #expect(mailbox.mails.isEmpty)
        }
    }

    @Test func `a mail server that is not there may not have the mail`() async throws {
        let client = SMTPClient(.init(url: "smtp://127.0.0.1:1", sender: "a@b"))
        let error = await #expect(throws: SMTPError.self) {
            try await client.send(to: "x@example.org", subject: "s", text: "t", date: "d")
        }
        #expect(error?.mayHaveArrived == false)
        await #expect(throws: SMTPError.self) {
            try await client.send(
                to: "x@example.org", subject: "s", text: "t", date: "d", headers: [("X", "a\r\nBcc: y@example.org")])
        }
    }
}
