import SQLite
import SystemIO
import SystemService

/// A service that keeps the data open until the ports are closed. It starts first and stops last.
struct DataService: Service {
    let server: Server
    let supervisor: Supervisor
    let logger: Logger

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
        await GracefulStop.wait()
        beating.cancel()
        await beating.value
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
