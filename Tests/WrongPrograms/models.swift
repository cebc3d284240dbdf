// What the programs beside this file use. It compiles, and so does each program without its mistake.
import FerryKit
import Foundation

struct Item: DocumentModel {
    static let collection = "tasks"
    struct Detail: Codable, Sendable, Equatable {
        var notes = ""
        var due: Date?
    }
    var title: String
    var views = 0
    var isDone = false
    var tags: [String] = []
    var detail = Detail()
    var list: Reference<TaskList>?
    var createdTime = ServerTime.pending
    var photo: FileReference?
    var attachments: [String: FileReference] = [:]
    let userId: String
}
struct TaskList: DocumentModel {
    static let collection = "lists"
    var name: String
}
struct Subtask: DocumentModel {
    typealias Parent = Item
    static let collection = "subtasks"
    var name: String
}
final class Counter { var count = 0 }
