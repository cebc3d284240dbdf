import ObjectStorage
import SystemIO
import SystemService

/// A service that notifies the watchdog as long as the working parts respond, and detects that the
/// machine has slept.
struct Heartbeat: Service {
    let supervisor: Supervisor
    let logger: Logger
    /// Returns when every working part has responded.
    let turn: @Sendable () async -> Void
    /// Returns a number that is different whenever something has been done.
    let moment: @Sendable () -> UInt64
    let onWake: @Sendable () async -> Void

    /// The longest time between two beats.
    private static let interval = Duration.seconds(30)

    func run() async throws {
        let beating = Task { await beat() }
        await withTaskCancellationHandler {
            await GracefulStop.wait()
        } onCancel: {
            beating.cancel()
        }
        beating.cancel()
        await beating.value
    }

    private func beat() async {
        let interval = supervisor.watchdogInterval.map { min($0 * 2 / 5, Self.interval) } ?? Self.interval
        var slept = Clocks.sleptMilliseconds()
        var trimmed = moment()
        while !Task.isCancelled {
            await turn()
            supervisor.alive()
            try? await Task.sleep(for: interval)
            let now = Clocks.sleptMilliseconds()
            if now - slept > 1000 {
                logger.info("the machine was asleep", ["seconds": "\((now - slept) / 1000)"])
                await onWake()
            }
            slept = now
            let latest = moment()
            if latest != trimmed {
                BufferPool.shared.giveBack()
                ProcessMemory.giveBack()
            }
            trimmed = latest
        }
    }
}
