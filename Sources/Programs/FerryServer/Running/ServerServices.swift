import SQLite
import SystemIO
import SystemService

/// A service that keeps the data open until the ports are closed. It starts first and stops last.
struct DataService: Service {
    let server: Server
    let supervisor: Supervisor
    let logger: Logger
    /// Called after another server has changed accounts.
    let onAccountChange: @Sendable () -> Void

    /// The time between two checks of the data without a watchdog.
    private static let interval = Duration.seconds(30)

    /// Notifies the watchdog as long as the stores respond.
    func run() async throws {
        let interval = supervisor.watchdogInterval.map { min($0 / 4, Self.interval) } ?? Self.interval
        let beating = Task {
            var checkpoint = IdleCheckpoint()
            while !Task.isCancelled {
                do {
                    try await server.probe()
                    supervisor.alive()
                    checkpoint = try await server.moveIdleLogs(checkpoint)
                } catch is CancellationError {
                    return
                } catch {
                    logger.error("the data cannot be used", ["error": "\(error)"])
                }
                try? await Task.sleep(for: interval)
            }
        }
        let following = Task { await server.followAccounts(logger, onChange: onAccountChange) }
        await GracefulStop.wait()
        beating.cancel()
        following.cancel()
        await beating.value
        await following.value
        await server.close()
    }
}

/// The service of the HTTP port.
struct WebService: Service {
    let server: Server

    func run() async throws {
        await GracefulStop.wait()
        await server.stopWeb()
    }
}

/// The service of the documents port. It stops first, because its streams have no end of their own.
struct DocumentService: Service {
    let server: Server

    func run() async throws {
        await GracefulStop.wait()
        await server.stopDocuments()
    }
}
