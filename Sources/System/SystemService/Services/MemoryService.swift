import SystemIO

/// Gives memory back to the system after a peak.
package struct MemoryService: Service {
    private static let interval = Duration.seconds(4)

    package init() {}

    package func run() async throws {
        let watching = Task {
            var detector = PeakDetector()
            func isPast() -> Bool {
                detector.isPast(inUse: ProcessMemory.inUse, resident: ProcessMemory.resident ?? 0)
            }
            repeat {
                guard isPast() else { continue }
                ProcessMemory.trim()
                // Records what the trim has left.
                _ = isPast()
            } while (try? await Task.sleep(for: Self.interval, tolerance: .seconds(1))) != nil
        }
        await GracefulStop.wait()
        watching.cancel()
        await watching.value
    }
}
