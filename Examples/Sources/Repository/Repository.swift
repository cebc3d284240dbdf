// An app that does not know where its tasks are: a protocol with two implementations, and one
// program that runs with both.
//
//     swift run Repository http://localhost:8080 /tmp/repository

import FerryKit
import Foundation
import Synchronization

struct Item: DocumentModel, Equatable {
    static let collection = "tasks"
    var title: String
    var isDone = false
    var userId: String?
}

protocol TaskRepository: Sendable {
    func add(_ title: String) async throws -> String
    func complete(_ id: String) async throws
    func open() async throws -> [String]
}

/// Tasks in memory, for tests of the app.
final class MemoryRepository: TaskRepository {
    private let items = Mutex<[String: Item]>([:])

    func add(_ title: String) -> String {
        let id = UUID().uuidString
        items.withLock { $0[id] = Item(title: title) }
        return id
    }

    func complete(_ id: String) { items.withLock { $0[id]?.isDone = true } }

    func open() -> [String] {
        items.withLock { $0.values.filter { !$0.isDone }.map(\.title).sorted() }
    }
}

/// Tasks of a user, here and on the server.
struct FerryRepository: TaskRepository {
    let tasks: DocumentCollection<Item>
    let user: User

    func add(_ title: String) async throws -> String {
        try await tasks.add(Item(title: title, userId: user.id)).id
    }

    func complete(_ id: String) async throws { try await tasks[id].update { $0.isDone = true } }

    func open() async throws -> [String] {
        let (user, isDone) = (user.id, false)
        return try await tasks.where { $0.userId == user && $0.isDone == isDone }.order(by: \.title).get(.cache).map(
            \.title)
    }
}

/// The part of the app that uses the repository.
func useTasks(_ repository: any TaskRepository) async throws -> [String] {
    let milk = try await repository.add("Buy milk")
    _ = try await repository.add("Call Ada")
    try await repository.complete(milk)
    return try await repository.open()
}

@main struct Repository {
    static func main() async throws {
        print("memory:", try await useTasks(MemoryRepository()))
        guard CommandLine.arguments.count == 3, let url = URL(string: CommandLine.arguments[1]) else { return }
        let ferry = try await Ferry.open(.ferry(url), state: URL(filePath: CommandLine.arguments[2]))
        let user = try await ferry.account.signInAnonymously()
        print("ferry:", try await useTasks(FerryRepository(tasks: ferry.collection(), user: user)))
        try await ferry.waitForPendingWrites()
        await ferry.close()
    }
}
