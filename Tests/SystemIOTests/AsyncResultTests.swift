import SystemIO
import Testing

@Suite(.timeLimit(.minutes(1)))
struct AsyncResultTests {
    private struct Failure: Error, Equatable { let number: Int }

    @Test func `a result that is set before the wait is returned at once, also to a cancelled task`() async throws {
        let result = AsyncResult<Int>()
        #expect(result.result == nil)
        result.resolve(.success(1))
        #expect(try await result.value() == 1)
        let cancelled = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await result.value()
        }
        #expect(try await cancelled.value == 1)
        #expect(try await AsyncResult(.success(2)).value() == 2)
    }

    @Test func `only the first result counts`() async throws {
        let result = AsyncResult<Int>()
        result.resolve(.failure(Failure(number: 1)))
        result.resolve(.success(2))
        await #expect(throws: Failure(number: 1)) { try await result.value() }
    }

    @Test func `all tasks that wait get the result`() async throws {
        let result = AsyncResult<Int>()
        let (started, starts) = AsyncStream.makeStream(of: Void.self)
        let waiting = (0..<50).map { _ in
            Task {
                starts.yield()
                return try await result.value()
            }
        }
        var count = 0
        for await _ in started.prefix(waiting.count) { count += 1 }
        #expect(count == waiting.count)
        result.resolve(.success(3))
        for task in waiting { #expect(try await task.value == 3) }
    }

    @Test func `a cancellation ends the wait of one task, and not of the others`() async throws {
        let result = AsyncResult<Int>()
        let waiting = Task { try await result.value() }
        let cancelled = Task { try await result.value() }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        let late = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await result.value()
        }
        await #expect(throws: CancellationError.self) { try await late.value }
        #expect(result.result == nil)
        result.resolve(.success(4))
        #expect(try await waiting.value == 4)
    }

    @Test func `a result and a cancellation at the same time end a wait once`() async {
        for number in 0..<500 {
            let result = AsyncResult<Int>()
            let waiting = Task { try await result.value() }
            let resolving = Task { result.resolve(.success(number)) }
            waiting.cancel()
            await resolving.value
            switch await waiting.result {
            case .success(let value): #expect(value == number)
            case .failure(let error): #expect(error is CancellationError)
            }
        }
    }
}
