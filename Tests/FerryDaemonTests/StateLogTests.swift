import Control
import SystemService
import Testing

@testable import FerryDaemon

@Suite struct StateLogTests {
    private func status(
        _ state: DaemonStatus.State = .running, held: Int = 0, conflicts: Int = 0, problems: [Problem] = []
    ) -> DaemonStatus {
        var status = DaemonStatus(version: "1", state: state, tasksDirectory: "/t")
        status.reason = state == .running ? nil : "because"
        status.heldDeletes = held
        status.conflicts = conflicts
        status.problems = problems
        return status
    }

    @Test func `a state is logged once when it begins and once when it ends`() {
        var log = StateLog()
        #expect(log.lines(for: status(.starting)).isEmpty)
        #expect(log.lines(for: status(.running)).map(\.text) == ["connected to the server"])
        for held in 1...40 { #expect(log.lines(for: status(held: held)).count == (held == 1 ? 1 : 0)) }
        #expect(log.lines(for: status()).map(\.text) == ["no deletes are held for review any more"])
        var reverted = status()
        reverted.heldReverts = 12
        #expect(log.lines(for: reverted).count == 1 && log.lines(for: reverted).isEmpty)
        #expect(log.lines(for: status()).map(\.text) == ["no reverts are held any more"])
        #expect(log.lines(for: status(.offline)).map(\.text) == ["because"])
        // Trying again is no news, and coming back is.
        #expect(log.lines(for: status(.starting)).isEmpty && log.lines(for: status(.offline)).isEmpty)
        #expect(log.lines(for: status()).count == 1)
        #expect(log.lines(for: status(conflicts: 1)).count == 1 && log.lines(for: status(conflicts: 2)).isEmpty)
    }

    @Test func `many problems with one cause are logged in one line`() {
        var log = StateLog()
        _ = log.lines(for: status())
        let full = (0..<20).map { Problem(code: "not-written", subject: "\($0).md", message: "no space") }
        #expect(
            log.lines(for: status(problems: Array(full.prefix(2)))).map(\.text) == [
                "not-written: 0.md: no space (and 1 more)"
            ])
        #expect(log.lines(for: status(problems: full)).isEmpty)
        let other = Problem(code: "symlink", subject: "a.md", message: "is a link")
        #expect(log.lines(for: status(problems: full + [other])).map(\.text) == ["symlink: a.md: is a link"])
        #expect(log.lines(for: status(problems: [other])).map(\.text) == ["not-written: over"])
    }

    @Test func `a root that is missing and back is logged`() {
        var log = StateLog()
        _ = log.lines(for: status())
        #expect(log.lines(for: status(.rootHeld)).map(\.level) == [.error])
        #expect(log.lines(for: status()).map(\.text) == ["the tasks directory is back"])
    }
}
