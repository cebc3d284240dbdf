import CivilTime
package import DocumentStore
package import IdentityServer
package import SMTPClient
package import SystemIO
package import SystemService

/// A service that sends the mails in the morning.
package struct MorningMailService: Service {
    private let identity: IdentityService
    private let zones = TimeZones()
    private let store: @Sendable () async throws -> any DocumentStore
    private let client: SMTPClient
    private let environment: Environment
    private let logger: Logger

    /// The time between two looks at what is due.
    private static let interval = Duration.seconds(30)
    /// The time after which a mail is tried again that the mail server has not taken.
    private static let retrySeconds: Int64 = 900
    private static let batch = 100

    /// - Parameter store: returns the documents of the accounts.
    package init(
        _ identity: IdentityService, through mail: SMTPClient.Configuration, environment: Environment = .system,
        logger: Logger, store: @escaping @Sendable () async throws -> any DocumentStore
    ) {
        self.identity = identity
        client = SMTPClient(mail)
        self.environment = environment
        self.logger = logger
        self.store = store
    }

    package func run() async throws {
        let working = Task {
            while !Task.isCancelled {
                do { try await sendDue(at: environment.wallClock() / 1000) } catch is CancellationError {
                    return
                } catch {
                    logger.warning("mails with tasks are not sent", ["error": "\(error)"])
                }
                try? await environment.sleep(for: Self.interval)
            }
        }
        await GracefulStop.wait()
        working.cancel()
        await working.value
    }

    /// Sends the mails that are due.
    ///
    /// - Parameter now: seconds since 1970.
    package func sendDue(at now: Int64) async throws {
        // Mails may take long, and what fails then must not be due again at once.
        let start = environment.now()
        func time() -> Int64 { now.saturatingAdded(to: (environment.now() - start).components.seconds) }
        while true {
            let entries = try await identity.morningMails.due(now: now, limit: Self.batch)
            for entry in entries {
                try Task.checkCancellation()
                do { try await send(entry, at: time()) } catch {
                    if error is CancellationError { throw error }
                    logger.warning("a mail with tasks is tried again later", ["error": "\(error)"])
                    _ = try await identity.morningMails.claim(
                        entry, day: entry.sentDay, next: time() + Self.retrySeconds)
                }
            }
            if entries.count < Self.batch { return }
        }
    }

    private func send(_ entry: MorningMails.Entry, at now: Int64) async throws {
        guard let zone = zones[entry.setting.zone] else {
            // The machine's zones have changed. Tomorrow there may be others.
            logger.warning("a mail with tasks needs a time zone that is not here", ["zone": entry.setting.zone])
            _ = try await identity.morningMails.claim(entry, day: entry.sentDay, next: now + 86_400)
            return
        }
        let schedule = MorningSchedule(minute: entry.setting.minute, zone: zone)
        let (today, next) = (Int64(schedule.day(of: now).daysSinceEpoch), schedule.next(after: now))
        guard schedule.verdict(dueAt: entry.time, sentDay: entry.sentDay, now: now) == .send else {
            _ = try await identity.morningMails.claim(entry, day: entry.sentDay, next: next)
            return
        }
        let tasks = try await TasksOfAccount(store()).open(of: entry.account, dueBy: now)
        let digest = MorningDigest(tasks, at: now, in: zone) { zones[$0] }
        guard try await identity.morningMails.claim(entry, day: today, next: next), let digest else { return }
        let end = identity.endOfMails(token: entry.token)
        do {
            try await client.send(
                to: entry.email, subject: digest.subject,
                text: """
                    \(digest.text)You get this mail because you asked for it with 'ferry mail'.
                    To end these mails, use 'ferry mail off', or open

                    \(end)

                    """,
                date: UTCTime(seconds: now).imfFixdate,
                headers: [
                    ("List-Unsubscribe", "<\(end)>"), ("List-Unsubscribe-Post", "List-Unsubscribe=One-Click"),
                ])
        } catch let error as CancellationError {
            // The mail may be sent.
            throw error
        } catch {
            logger.warning("a mail with tasks was not sent", ["error": "\(error)"])
            let again = now + Self.retrySeconds
            // After a refusal for good the next day is soon enough.
            if let error = error as? SMTPError, error.mayHaveArrived || error.isPermanent { return }
            guard schedule.day(of: again) == schedule.day(of: now) else { return }
            try await identity.morningMails.release(entry, day: today, next: next, dueAt: again)
        }
    }
}

extension IdentityService.Configuration {
    /// Sends mails through a mail server from now on: those with links, and those in the morning.
    package mutating func send(through client: SMTPClient) {
        mailer = { [environment = Environment.system] mail in
            try await client.send(
                to: mail.recipient, subject: mail.subject, text: mail.text,
                date: UTCTime(seconds: environment.wallClock() / 1000).imfFixdate)
        }
        let zones = TimeZones()
        nextMorning = { setting, now in
            zones[setting.zone].map { MorningSchedule(minute: setting.minute, zone: $0).next(after: now) }
        }
    }
}
