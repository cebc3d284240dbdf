import CivilTime
import CommandLineTool
import Control
import Testing

@testable import FerryCLI

@Suite struct WaitingStateTests {
    /// A status for each row of the manual's table, by the row's text.
    private static let samples: [String: @Sendable (inout DaemonStatus) -> Void] = [
        "paused: ": { $0.state = .paused }, "offline: ": { $0.state = .offline },
        "starting: ": { $0.state = .starting },
        "stopping: ": { $0.state = .stopping }, "needs-sign-in: ": { $0.state = .needsSignIn },
        "configuration-error: ": { $0.state = .configurationError },
        "root-held: ": { $0.state = .rootHeld }, "server-held: ": { $0.state = .serverHeld },
        "rejected": { $0.rejected = 1 },
        "held": { $0.heldDeletes = 1 }, "older version": { $0.heldReverts = 1 }, "conflicts": { $0.conflicts = 1 },
        " paused": { $0.pausedTransfers = 1 },
        " failed": { $0.failedTransfers = 1 }, "problem": { $0.problems = [Problem(code: "x", message: "m")] },
        "another file system": {
            $0.problems = [Problem(code: "other-file-system", message: "It is on another file system than before.")]
        },
        "to send": { $0.pendingUp = 2 }, "to write": { $0.pendingDown = 2 }, " waiting": { $0.waitingTransfers = 1 },
    ]

    private var context: CommandContext {
        get throws {
            guard case .run(_, let arguments) = try FerryTool.command.parse(["status"]) else {
                throw CancellationError()
            }
            return CommandContext(
                service: ControlClient(socketPath: "/none"), terminal: Terminal(color: "never"), arguments: arguments,
                due: DueWords(today: CalendarDay(clampingDaysSinceEpoch: 0)))
        }
    }

    @Test func `every row of the manual's table agrees with status and its check`() throws {
        #expect(Set(WaitingState.all.map(\.says)) == Set(Self.samples.keys))
        let page = FerryTool.command.manualPage(section: 1, version: "1", date: "d", extra: FerryTool.manualSections)
        let terminal = try context.terminal
        for row in WaitingState.all {
            let sample = try #require(Self.samples[row.says])
            var status = DaemonStatus(version: "1", state: .running, tasksDirectory: "/t")
            sample(&status)
            if status.state != .running { status.reason = "Why." }
            let lines = StatusScreen(terminal: terminal).lines(of: status)
            #expect(lines.contains { $0.contains(row.says) }, "\(row.name): \(lines)")
            #expect(status.exitStatus.code == row.check.code, "\(row.name)")
            #expect(page.contains(row.name.replacing("-", with: "\\-")), "\(row.name)")
        }
        #expect(DaemonStatus(version: "1", state: .running, tasksDirectory: "/t").exitStatus.code == 0)
    }

    @Test func `only a connected or connecting daemon syncs`() {
        for (state, code) in [
            (DaemonStatus.State.paused, 5), (.offline, 5), (.stopping, 5), (.needsSignIn, 7), (.rootHeld, 6),
            (.serverHeld, 6),
        ] as [(DaemonStatus.State, Int32)] {
            #expect(DaemonStatus(version: "1", state: state, tasksDirectory: "/t").standstill?.status.code == code)
        }
        for state in [DaemonStatus.State.running, .starting, .unknown] {
            #expect(DaemonStatus(version: "1", state: state, tasksDirectory: "/t").standstill == nil)
        }
    }
}
