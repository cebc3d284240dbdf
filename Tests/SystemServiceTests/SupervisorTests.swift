import Glibc
import Synchronization
import SystemIO
import Testing

@testable import SystemService

struct SupervisorTests {
    final class Sent: Sendable {
        let messages = Mutex<[String]>([])
        func supervisor(watchdog: Duration? = nil) -> Supervisor {
            Supervisor(watchdogInterval: watchdog) { message in self.messages.withLock { $0.append(message) } }
        }
    }

    @Test func `the life cycle of a service is reported in the protocol of systemd`() throws {
        let sent = Sent()
        let supervisor = sent.supervisor()
        supervisor.ready(status: "3 tasks")
        supervisor.reloading()
        supervisor.extendTimeout(by: .seconds(90))
        supervisor.stopping()
        supervisor.alive()
        let messages = sent.messages.withLock { $0 }
        try #require(messages.count == 4)
        #expect(messages[0] == "READY=1\nSTATUS=3 tasks")
        #expect(messages[1].hasPrefix("RELOADING=1\nMONOTONIC_USEC="))
        #expect(messages[2] == "EXTEND_TIMEOUT_USEC=90000000")
        #expect(messages[3] == "STOPPING=1")
    }

    @Test func `a status is sent once and cannot inject another field`() {
        let sent = Sent()
        let supervisor = sent.supervisor()
        supervisor.status("a\nMAINPID=1")
        supervisor.status("a\nMAINPID=1")
        #expect(sent.messages.withLock { $0 } == ["STATUS=a MAINPID=1"])
    }

    @Test func `a busy loop feeds the watchdog four times an interval at most`() {
        let sent = Sent()
        let supervisor = sent.supervisor(watchdog: .seconds(10))
        let start = ContinuousClock.now
        for turn in 0..<10_000 { supervisor.alive(now: start + .milliseconds(turn)) }
        #expect(sent.messages.withLock { $0 } == ["WATCHDOG=1", "WATCHDOG=1", "WATCHDOG=1", "WATCHDOG=1"])
    }

    /// The real calls read the environment of the process, so this is the only test that sets it.
    @Test func `real messages reach the socket of the supervisor, and only with one`() throws {
        let path = "/tmp/ferry-notify-" + SystemRandom.hex(8)
        defer { _ = try? FileSystem.remove(path) }
        let raw = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        let receiver = FileDescriptor(owning: raw, path: path)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let bound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(raw, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        #expect(bound == 0)
        Supervisor().ready()
        setenv("NOTIFY_SOCKET", path, 1)
        setenv("WATCHDOG_USEC", "3000000", 1)
        setenv("WATCHDOG_PID", "\(getpid())", 1)
        defer {
            for name in ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"] { unsetenv(name) }
        }
        let supervisor = Supervisor()
        #expect(supervisor.watchdogInterval == .seconds(3))
        supervisor.ready(status: "up")
        var buffer = [UInt8](repeating: 0, count: 100)
        let count = try buffer.withUnsafeMutableBytes { try receiver.read(into: $0) }
        #expect(String(decoding: buffer[..<count], as: UTF8.self) == "READY=1\nSTATUS=up")
        setenv("WATCHDOG_PID", "1", 1)
        #expect(Supervisor().watchdogInterval == nil)
    }

    @Test func `sockets meant for another process are not taken`() {
        #expect(InheritedSocket.takeAll().isEmpty)
    }
}
