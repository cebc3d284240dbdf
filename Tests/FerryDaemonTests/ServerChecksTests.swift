import Control
import SystemIO
import SystemTestKit
import Testing

@testable import FerryDaemon

@Suite struct ServerChecksTests {
    @Test(
        arguments: [
            ("0.2.0", HealthCheck.State.ok, nil), ("0.3.1", .ok, nil), ("0.1.9", .ok, nil), (nil, .ok, nil),
            ("new", .ok, nil),
            ("0.4.0", .attention, "on this machine"), ("0.0.7", .attention, "the server"),
            ("1.2.0", .attention, "on this machine"),
        ] as [(String?, HealthCheck.State, String?)])
    func `versions further apart than one are told`(server: String?, state: HealthCheck.State, remedy: String?) {
        let check = ServerChecks.version(of: server, here: "0.2.0")
        #expect(check.state == state && (remedy.map { check.remedy?.contains($0) == true } ?? (check.remedy == nil)))
    }

    @Test(
        arguments: [
            ("Nov 28 12:00:00 2027 GMT", HealthCheck.State.ok), ("Dec  5 12:00:00 2026 GMT", .attention),
            ("Nov 27 12:00:00 2026 GMT", .failed),
        ])
    func `a certificate is told before it ends`(expiry: String, state: HealthCheck.State) {
        // 2026-11-28T12:00:00Z
        let check = ServerChecks.certificate(of: "tasks.example.org", expiry: expiry, now: 1_795_867_200)
        #expect(check?.state == state && (check?.remedy == nil) == (state == .ok))
    }

    @Test func `what is no time tells nothing`() {
        #expect(ServerChecks.certificate(of: "x", expiry: nil, now: 0) == nil)
        #expect(ServerChecks.certificate(of: "x", expiry: "soon", now: 0) == nil)
    }

    @Test(
        arguments: [
            (Int64(10), Int64(1000), HealthCheck.State.ok), (950, 1000, .attention), (.max, 1, .attention), (0, 0, .ok),
        ])
    func `a quota that is nearly used up is told`(used: Int64, limit: Int64, state: HealthCheck.State) {
        let usage = AccountUsageSummary(
            objectBytes: used, objectBytesLimit: limit, documents: 1, documentsLimit: 100, requestsPerSecondLimit: 1)
        #expect(ServerChecks.quota(usage).state == state)
    }

    @Test func `a service that is not enabled is told`() throws {
        let directory = try TemporaryDirectory()
        let home = directory.path
        func read(_ extra: [String: String]) -> ServiceSetting {
            let environment = extra.merging(["HOME": home]) { one, _ in one }
            return ServiceSetting.read(environment: { environment[$0] }, lingering: "\(home)/linger")
        }
        let service = ["INVOCATION_ID": "1", "NOTIFY_SOCKET": "/n"]
        #expect(!read([:]).isService && read([:]).check.state == .ok)
        #expect(read(service) == ServiceSetting(isService: true, isEnabled: false, lingers: false))
        #expect(read(service).check.remedy?.contains("enable ferryd.socket") == true)
        try FileSystem.makeDirectories("\(home)/.config/systemd/user/default.target.wants")
        try FileSystem.replace("\(home)/.config/systemd/user/default.target.wants/ferryd.service", with: [])
        #expect(read(service).isEnabled && read(service).check.message.contains("enable-linger"))
    }

    @Test func `another daemon in the directory is known by its lock`() throws {
        let directory = try TemporaryDirectory()
        let (one, other) = (RootLock(directory.path), RootLock(directory.path))
        #expect(one.holder == .nobody)
        try one.take()
        #expect(one.holder == .this && other.holder == .another)
        one.release()
        #expect(one.holder == .nobody && other.holder == .nobody)
    }
}
