import SystemService

/// The engine as a service; the last to stop.
struct EngineService: Service {
    let engine: SyncEngine

    func run() async throws {
        await GracefulStop.wait()
        await engine.stop()
    }
}
