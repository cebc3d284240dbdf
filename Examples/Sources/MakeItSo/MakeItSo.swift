// A task app in the terminal: a list that follows every change, wherever it was made.
//
//     swift run MakeItSo http://localhost:8080 ~/.makeitso
//
// Commands: add TITLE · done N · high N · title N TEXT · note N TEXT · delete N
//           attach N PATH · detach N NAME · open N NAME · pause · resume
//           link EMAIL PASSWORD · login EMAIL PASSWORD · who · sync · quit
//
// ferryd shows the tasks of the same account as files, with their attachments, and its changes show here.

import FerryKit
import Foundation

enum Priority: Int, Codable, Comparable, Sendable {
    case high, medium, low
    static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

struct Item: DocumentModel {
    static let collection = "tasks"
    var title: String
    var priority = Priority.medium
    var isDone = false
    var notes: String?
    var createdTime = ServerTime.pending
    var attachments: [String: FileReference]? = [:]
    var userId: String
    enum CodingKeys: String, CodingKey {
        case title, priority, notes, createdTime, attachments, userId
        case isDone = "completed"
    }
    static var merging: Merging<Item> { Merging().text(\.notes) }

    var files: [FileReference] { (attachments ?? [:]).values.sorted { $0.name < $1.name } }
}

/// What the app does, apart from its screen.
struct TaskApp: Sendable {
    let ferry: Ferry

    /// The tasks of a user, the most urgent ones first.
    func tasks(of user: User) -> Query<Item> {
        ferry.collection(Item.self).where { $0.userId == user.id }.order(by: \.priority).order(by: \.createdTime)
    }

    func run(_ line: String) async throws {
        guard let user = await ferry.account.user else { return }
        let words = line.split(separator: " ", maxSplits: 2).map(String.init)
        let text = words.dropFirst(2).joined()
        switch (words.first, words.count) {
        case ("add", 2...):
            let title = words.dropFirst().joined(separator: " ")
            try await ferry.collection(Item.self).add(Item(title: title, userId: user.id))
        case ("done", 2): try await item(words[1]).update { $0.isDone = true }
        case ("high", 2): try await item(words[1]).update { $0.priority = .high }
        case ("title", 3): try await item(words[1]).update { $0.title = text }
        case ("delete", 2): try await item(words[1]).delete()
        case ("note", 3):
            // Edits of a copy are merged line by line with what another window wrote meanwhile.
            guard var copy = try await item(words[1]).get() else { return }
            copy.notes = (copy.notes ?? "") + text + "\n"
            try await copy.save()
        case ("attach", 3):
            let transfer = try await item(words[1]).attachments(\.attachments).attach(URL(filePath: text))
            Task { await showProgress(of: transfer) }
        case ("detach", 3): try await item(words[1]).attachments(\.attachments).remove(text)
        case ("open", 3):
            let files = try await item(words[1]).get()?.files
            guard let file = files?.first(where: { $0.name == text }) else { throw Mistake() }
            say("opened \(try await ferry.files.local(file).path)")
        case ("pause", 1): for transfer in await transfers() { transfer.pause() }
        case ("resume", 1): for transfer in await transfers() { transfer.resume() }
        case ("link", 3):
            try await link(words[1], text)
        case ("login", 3): try await ferry.account.signIn(with: .password(email: words[1], text))
        case ("who", 1): say("\(user.email ?? "anonymous") \(user.id)")
        case ("sync", 1):
            try await ferry.waitForPendingWrites()
            say("in step")
        default: say("unknown command: \(line)")
        }
    }

    private func link(_ email: String, _ password: String) async throws {
        do {
            try await ferry.account.link(with: .password(email: email, password))
        } catch .credentialInUse(_) {
            say("This address has an account: login \(email) PASSWORD")
        }
    }

    /// The transfers in progress.
    private func transfers() async -> [Transfer] {
        for await transfers in ferry.files.transfers { return transfers }
        return []
    }

    private func showProgress(of transfer: Transfer) async {
        for await progress in transfer.progress {
            say("\(transfer.name): \(progress.state) \(Int((progress.fraction ?? 0) * 100)) %")
        }
    }

    /// The task with a number of the list.
    private func item(_ number: String) async throws -> Reference<Item> {
        guard let user = await ferry.account.user, let index = Int(number) else { throw Mistake() }
        let shown = try await tasks(of: user).get(.cache)
        guard shown.indices.contains(index - 1) else { throw Mistake() }
        return shown[index - 1].reference
    }

    struct Mistake: Error, CustomStringConvertible {
        var description: String { "There is no task with this number." }
    }
}

/// The list on the screen.
func show(_ snapshot: QuerySnapshot<Item>) {
    var lines = ["-- \(snapshot.count) tasks\(snapshot.hasPendingWrites ? ", not all sent" : "")"]
    for (index, item) in snapshot.enumerated() {
        let mark = item.isDone ? "x" : " "
        let urgent = item.priority == .high ? " !" : ""
        lines.append("\(index + 1). [\(mark)] \(item.title)\(urgent)")
        lines += (item.notes ?? "").split(separator: "\n").map { "      \($0)" }
        lines += item.files.map { "      + \($0.name), \($0.size) bytes\($0.isUploading ? ", uploading" : "")" }
    }
    say(lines.joined(separator: "\n"))
}

/// Writes at once, also into a pipe.
func say(_ text: String) { FileHandle.standardOutput.write(Data((text + "\n").utf8)) }

@main struct MakeItSo {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 3, let url = URL(string: arguments[1]) else {
            say("usage: MakeItSo URL DIRECTORY")
            exit(2)
        }
        let ferry = try await Ferry.open(.ferry(url), state: URL(filePath: arguments[2]), models: [Item.self])
        try await ferry.account.signInAnonymously()
        let app = TaskApp(ferry: ferry)

        // The list follows the account that is signed in.
        let screen = Task {
            var list: Task<Void, any Error>?
            for await user in ferry.account.users {
                list?.cancel()
                guard let user else { continue }
                list = Task { for try await snapshot in app.tasks(of: user).snapshots { show(snapshot) } }
            }
            list?.cancel()
        }
        while let line = await nextLine(), line != "quit" {
            do { try await app.run(line) } catch { say("error: \(error)") }
        }
        screen.cancel()
        await ferry.close()
    }

    /// Reads a line of standard input on a thread of its own.
    private static func nextLine() async -> String? {
        await withCheckedContinuation { continuation in
            Thread { continuation.resume(returning: readLine()) }.start()
        }
    }
}
