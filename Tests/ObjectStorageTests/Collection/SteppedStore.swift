import Synchronization
import SystemTestKit

@testable import ObjectStorage

/// A store whose operations take effect and return when the test says so, with a clock that only
/// moves when it is set. All code that uses it runs on the thread of the test.
///
/// Like a real store it rejects a request that is older than a quarter of an hour.
final class SteppedStore: Sendable {
    private struct Stored {
        var content: [UInt8]
        var modified: Int64
    }

    private enum Answer {
        case nothing
        case info(ObjectInfo?)
        case content([UInt8]?)
        case page([ObjectInfo])
    }

    private struct Operation {
        let owner: Int
        let issued: Int64
        /// A value that makes some operations much slower than others.
        let slowness: Int
        var answer: Result<Answer, any Error>?
        /// The continuation of the caller; nil if the caller no longer waits.
        var asker: CheckedContinuation<Answer, any Error>?
        let perform: @Sendable (inout [ObjectKey: Stored], Int64) -> Answer
    }

    private struct State {
        var objects: [ObjectKey: Stored] = [:]
        var now: Int64
        var operations: [Operation] = []
        var random: SeededGenerator
    }

    private static let patience: Int64 = 900

    private let state: Mutex<State>
    let executor = HandExecutor()

    init(now: Int64, seed: UInt64) { state = Mutex(State(now: now, random: SeededGenerator(seed: seed))) }

    var now: Int64 { state.withLock { $0.now } }

    func advance(by seconds: Int64) { state.withLock { $0.now += seconds } }

    var keys: [ObjectKey] { state.withLock { $0.objects.keys.sorted() } }

    func has(_ key: ObjectKey) -> Bool { state.withLock { $0.objects[key] != nil } }

    var isIdle: Bool { state.withLock { $0.operations.isEmpty } }

    /// Lets one of the operations take effect or return, and runs what follows.
    func step(using random: inout SeededGenerator) {
        let asker: (CheckedContinuation<Answer, any Error>, Result<Answer, any Error>)? = state.withLock { state in
            guard let index = state.operations.indices.randomElement(using: &random),
                Int.random(in: 0...state.operations[index].slowness, using: &random) == 0
            else { return nil }
            if let answer = state.operations[index].answer {
                let operation = state.operations.remove(at: index)
                return operation.asker.map { ($0, answer) }
            }
            let operation = state.operations[index]
            state.operations[index].answer =
                if state.now - operation.issued > Self.patience {
                    .failure(ObjectStorageError(.transient, "the request is too old"))
                } else {
                    .success(operation.perform(&state.objects, state.now))
                }
            return nil
        }
        asker?.0.resume(with: asker?.1 ?? .failure(CancellationError()))
        executor.drain()
    }

    /// Kills a client. It makes no more requests, but those in flight may still take effect.
    func kill(_ owner: Int) {
        let askers = state.withLock { state in
            state.operations.indices.filter { state.operations[$0].owner == owner }.compactMap { index in
                defer { state.operations[index].asker = nil }
                return state.operations[index].asker
            }
        }
        for asker in askers { asker.resume(throwing: CancellationError()) }
        executor.drain()
    }

    /// Returns the store as seen by one of its clients.
    func face(of owner: Int) -> some ObjectStore { Face(store: self, owner: owner) }

    /// Performs an operation that does nothing.
    func pause(_ owner: Int) async throws { _ = try await ask(owner) { _, _ in .nothing } }

    private func ask(
        _ owner: Int, _ perform: @escaping @Sendable (inout [ObjectKey: Stored], Int64) -> Answer
    ) async throws -> Answer {
        try Task.checkCancellation()
        return try await withCheckedThrowingContinuation { asker in
            state.withLock { state in
                state.operations.append(
                    Operation(
                        owner: owner, issued: state.now,
                        slowness: Int.random(in: 0..<20, using: &state.random) == 0 ? 40 : 0,
                        asker: asker, perform: perform))
            }
        }
    }

    private struct Face: ObjectStore {
        let store: SteppedStore
        let owner: Int

        func put(_ key: ObjectKey, _ content: [UInt8], type: MIMEType, hash: ContentHash?) async throws {
            _ = try await store.ask(owner) { objects, now in
                objects[key] = Stored(content: content, modified: now)
                return .nothing
            }
        }

        func get(_ key: ObjectKey, range: Range<Int64>?) async throws -> ObjectContent {
            let answer = try await store.ask(owner) { objects, _ in .content(objects[key]?.content) }
            guard case .content(let content?) = answer else {
                throw ObjectStorageError(.notFound, "there is no object \(key)")
            }
            let left = Mutex<[UInt8]?>(content)
            return ObjectContent(info: ObjectInfo(key: key, size: Int64(content.count)), length: Int64(content.count)) {
                left.withLock { left in
                    defer { left = nil }
                    return left
                }
            }
        }

        func head(_ key: ObjectKey) async throws -> ObjectInfo? {
            let answer = try await store.ask(owner) { objects, _ in .info(objects[key].map { Self.info(key, $0) }) }
            return if case .info(let info) = answer { info } else { nil }
        }

        func list(prefix: String, after: ObjectKey?, limit: Int) async throws -> ObjectPage {
            let answer = try await store.ask(owner) { objects, _ in
                .page(objects.filter { $0.key.text.hasPrefix(prefix) }.map { Self.info($0.key, $0.value) })
            }
            guard case .page(let page) = answer else { return ObjectPage(objects: [], next: nil) }
            return ObjectPage(objects: page, next: nil)
        }

        func delete(_ key: ObjectKey) async throws {
            _ = try await store.ask(owner) { objects, _ in
                objects[key] = nil
                return .nothing
            }
        }

        private static func info(_ key: ObjectKey, _ stored: Stored) -> ObjectInfo {
            ObjectInfo(
                key: key, size: Int64(stored.content.count), version: ContentHash(of: stored.content).hex,
                modified: stored.modified)
        }
    }
}
