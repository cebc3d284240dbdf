import Control
import TaskModel
import TaskSync

/// How the daemon itself is.
extension DaemonService {
    func devices() async throws -> [DeviceSummary] {
        let registry = try await stack().devices
        let own = try await registry.ownID
        return try await registry.all().map { device in
            DeviceSummary(
                id: device.id, name: device.name, version: device.version, lastSeen: device.lastSeen?.rfc3339,
                isThisOne: device.id == own)
        }.sorted { $0.isThisOne && !$1.isThisOne }
    }

    func health() async throws -> [HealthCheck] {
        let status = try await status()
        var checkup = Checkup(
            configuration: configuration, status: status, stack: await engine.stack, http: http)
        checkup.probeObjects = { [engine] in try await engine.probeObjects() }
        if status.account != nil {
            do { checkup.server = .success(try await identity.describeServer()) } catch {
                checkup.server = .failure(error)
            }
        }
        return await checkup.run()
    }

    func log() async throws -> [LogLine] { recentLog.lines }

    func configuration() async throws -> [SettingSummary] { try settings(nil) }

    func checkConfiguration(_ text: String, named name: String) async throws -> [SettingSummary] {
        try settings(ConfigurationReader.Draft(name: name, text: text))
    }

    private func settings(_ draft: ConfigurationReader.Draft?) throws -> [SettingSummary] {
        do {
            return try readSettings(draft).map {
                SettingSummary(key: $0.setting.name, value: $0.value, source: $0.source)
            }
        } catch let error as DaemonError {
            throw ControlError(.invalidArgument, error.message)
        }
    }
}
