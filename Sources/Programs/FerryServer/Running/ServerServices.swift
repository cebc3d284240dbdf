import SQLite
import SystemIO
import SystemService

/// Holds the data open until the ports are closed; the first to start and the last to stop.
struct DataService: Service {
    let server: Server
    let supervisor: Supervisor
    let logger: Logger

    /// Between two looks at the data where nobody watches.
    private static let interval = Duration.seconds(30)

    /// Feeds the watchdog for as long as the stores answer.
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

/// The HTTP port.
struct WebService: Service {
    let server: Server

    func run() async throws {
        await GracefulStop.wait()
        await server.stopWeb()
    }
}

/// The documents port; the first to stop, since its streams go on until then.
struct DocumentService: Service {
    let server: Server

    func run() async throws {
        await GracefulStop.wait()
        await server.stopDocuments()
    }
}
