import FerryKit
import FerryKitTestSupport
import Foundation
import Testing

enum Priority: Int, Codable, Comparable, Sendable {
    case high, medium, low
    static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

struct Item: DocumentModel, Equatable {
    static let collection = "tasks"
    struct Detail: Codable, Sendable, Equatable {
        var notes = ""
        var due: Date?
    }
    var title: String
    var priority: Priority? = .medium
    var isDone = false
    var tags: [String] = []
    var views = 0
    var detail = Detail()
    var listId: Reference<TaskList>?
    var createdTime = ServerTime.pending
    var photo: FileReference?
    var userId: String?
    enum CodingKeys: String, CodingKey {
        case title, priority, tags, views, detail, listId, createdTime, photo, userId
        case isDone = "completed"
    }
    static var merging: Merging<Item> { Merging().text(\.detail.notes).set(\.tags).history("history") }
}

struct TaskList: DocumentModel, Equatable {
    static let collection = "lists"
    var name: String
    var userId: String?
}

struct Subtask: DocumentModel, Equatable {
    typealias Parent = Item
    static let collection = "subtasks"
    var name: String
    var isDone = false
    var userId: String
}

struct Note: DocumentModel, Equatable {
    static let collection = "notes"
    var text: String
    var meaning: VectorValue?
    var place: VectorValue = [0]
}

/// Directories that are removed together with this object.
final class Directories: Sendable {
    private let root = FileManager.default.temporaryDirectory.appending(path: "ferrykit-\(UUID().uuidString)")

    subscript(name: String) -> URL { root.appending(path: name) }

    deinit { try? FileManager.default.removeItem(at: root) }
}

/// Opens a machine of a user, who is signed in anonymously.
func openMachine(
    _ server: Server, _ directories: Directories, _ name: String = "machine"
) async throws -> (ferry: Ferry, user: User) {
    let ferry = try await Ferry.open(server, state: directories[name], models: [Item.self])
    return (ferry, try await ferry.account.signInAnonymously())
}

/// Returns the first value of a sequence that satisfies a condition.
func first<Element>(
    of snapshots: Snapshots<Element>, where condition: (Element) -> Bool
) async throws -> Element {
    for try await snapshot in snapshots where condition(snapshot) { return snapshot }
    throw FerryError(.closed, "The sequence has ended.")
}
