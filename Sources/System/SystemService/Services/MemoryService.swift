import SystemIO

/// Gives memory back to the system after a peak.
package struct MemoryService: Service {
    private static let interval = Duration.seconds(4)

    package init() {}

    package func run() async throws {
        let watching = Task {
            var detector = PeakDetector()
            while (try? await Task.sleep(for: Self.interval, tolerance: .seconds(1))) != nil {
                guard let resident = ProcessMemory.resident else { continue }
                if detector.isPast(inUse: ProcessMemory.inUse, resident: resident) { ProcessMemory.trim() }
            }
        }
        await GracefulStop.wait()
        watching.cancel()
        await watching.value
    }
}
