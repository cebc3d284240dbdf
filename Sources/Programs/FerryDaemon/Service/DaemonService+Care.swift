import AccountClient
import Control
import SystemIO
import TaskModel
import TaskSync

/// Queries about the state of the daemon itself.
extension DaemonService {
    func devices() async throws -> [DeviceSummary] {
        let registry = try await stack().devices
        let own = try await registry.ownID
        return try await registry.all().map { device in
            DeviceSummary(
                id: device.id.rawValue, name: device.name, version: device.version, lastSeen: device.lastSeen?.rfc3339,
                isThisOne: device.id == own)
        }.sorted { $0.isThisOne && !$1.isThisOne }
    }

    func reminders() async throws -> ReminderListing {
        _ = try await stack()
        return try await reminderService.listing(limit: 100)
    }

    func health() async throws -> [HealthCheck] {
        let status = try await status()
        var checkup = Checkup(
            configuration: configuration, status: status, stack: await engine.stack, http: http)
        checkup.service = .read()
        checkup.rootHolder = engine.rootHolder
        checkup.probeObjects = { [engine] in try await engine.probeObjects() }
        if status.account != nil {
            do { checkup.server = .success(try await identity.describeServer()) } catch {
                checkup.server = .failure(error)
            }
            let asking = Task { try await identity.usage() }
            checkup.usage = (try? await asking.value(within: .seconds(5))) ?? nil
        }
        return await checkup.run()
    }

    func log() async throws -> [LogLine] { recentLog.lines }

    func configuration() async throws -> [SettingSummary] { try settings(nil) }

    func checkConfiguration(_ text: String, named name: String) async throws -> [SettingSummary] {
        try settings(ConfigurationReader.Draft(name: name, text: text))
    }

    private func settings(_ draft: ConfigurationReader.Draft?) throws -> [SettingSummary] {
        try SettingSummary.all(of: Result { try readSettings(draft) })
    }
}

extension SettingSummary {
    /// The settings for the socket; throws `ControlError` where they cannot be used.
    static func all(of entries: Result<[ConfigurationReader.Entry], any Error>) throws -> [SettingSummary] {
        do {
            return try entries.get().map {
                SettingSummary(key: $0.setting.name, value: $0.value, source: $0.source)
            }
        } catch let error as DaemonError {
            throw ControlError(.invalidArgument, error.message)
        }
    }
}
