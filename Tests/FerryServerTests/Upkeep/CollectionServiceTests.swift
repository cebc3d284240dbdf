import Synchronization
import SystemIO
import SystemService
import Testing

@testable import FerryServer
@testable import ServerData

struct CollectionServiceTests {
    private struct Failure: Error {}

    @Test(.timeLimit(.minutes(1)))
    func `collects repeatedly, also after a failure, until it is stopped`() async throws {
        let (rounds, next) = AsyncStream.makeStream(of: Int.self)
        let count = Atomic(0)
        let others = Atomic(0)
        var service = CollectionService(
            [
                {
                    try await SerialThread.runOnce { isCancelled in
                        let round = count.add(1, ordering: .relaxed).newValue
                        next.yield(round)
                        if round == 1 { throw Failure() }
                        // The third collection is still working when the service stops.
                        while round == 3, !isCancelled() {}
                        if isCancelled() { throw CancellationError() }
                        return CollectionReport()
                    }
                },
                {
                    others.add(1, ordering: .relaxed)
                    return CollectionReport()
                },
            ], logger: .silent)
        service.delay = .zero
        service.interval = .zero
        let group = ServiceGroup([.init("objects", service)])
        let running = Task { try await group.run(signals: nil) }
        for await round in rounds where round == 3 { break }
        running.cancel()
        try await running.value
        #expect(count.load(ordering: .relaxed) == 3)
        // A failure in one place does not affect the others.
        #expect(others.load(ordering: .relaxed) >= 2)
    }

    @Test(.timeLimit(.minutes(1)))
    func `reclaims space at each request, also after a failure`() async throws {
        let (rounds, next) = AsyncStream.makeStream(of: Int.self)
        let (requests, request) = AsyncStream.makeStream(of: Void.self)
        let count = Atomic(0)
        var service = CollectionService([], logger: .silent)
        service.requests = requests
        service.reclaimSpace = {
            let round = count.add(1, ordering: .relaxed).newValue
            next.yield(round)
            if round == 1 { throw Failure() }
            return ["a problem"]
        }
        let group = ServiceGroup([.init("objects", service)])
        let running = Task { try await group.run(signals: nil) }
        for _ in 0..<3 { request.yield() }
        for await round in rounds where round == 3 { break }
        running.cancel()
        try await running.value
        #expect(count.load(ordering: .relaxed) == 3)
    }
}
