import SystemService

/// The engine as a service. It stops last.
struct EngineService: Service {
    let engine: SyncEngine

    func run() async throws {
        await GracefulStop.wait()
        await engine.stop()
    }
}
