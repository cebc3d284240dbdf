import Control
import TaskModel
import TaskSync

extension DaemonService {
    func attach(_ task: String, _ files: [FileToAttach]) async throws -> [TransferSummary] {
        guard files.allSatisfy({ $0.path.hasPrefix("/") && !$0.path.utf8.contains(0) }) else {
            throw ControlError(.invalidArgument, "The path of a file to attach must begin with /.")
        }
        let id = try await lookup.resolve(task)
        return try await asking { sync in
            let transfers = Set(try await sync.attach(id, files.map { ($0.path, $0.name) }))
            return await sync.allTransfers.filter { transfers.contains($0.id) }.map(TransferSummary.init)
        }
    }

    func detach(_ task: String, attachment: String) async throws {
        let id = try await lookup.resolve(task)
        try await asking { try await $0.detach(id, attachment: attachment) }
    }

    func fetch(_ task: String, attachment: String) async throws -> TransferSummary {
        let id = try await lookup.resolve(task)
        return try await asking { sync in
            if let transfer = try await sync.fetch(id, attachment: attachment) {
                return try await Self.transfer(transfer, of: sync)
            }
            guard let (key, file) = try await sync.detail(id).item.attachment(meantBy: attachment) else {
                throw ControlError(.notFound, "The task has no attachment '\(attachment)'.")
            }
            let size = file.size ?? 0
            return TransferSummary(
                id: key.rawValue, direction: .download, state: .done, taskID: id.rawValue, name: file.name,
                bytesDone: size,
                bytesTotal: size, bytesDeduplicated: size)
        }
    }

    func setPinned(_ task: String, _ isPinned: Bool) async throws -> [TransferSummary] {
        let id = try await lookup.resolve(task)
        return try await asking { sync in
            let transfers = Set(try await sync.setPinned(id, isPinned))
            return await sync.allTransfers.filter { transfers.contains($0.id) }.map(TransferSummary.init)
        }
    }

    private static func transfer(_ id: String, of sync: TaskSync) async throws -> TransferSummary {
        guard let transfer = await sync.allTransfers.first(where: { $0.id == id }) else {
            throw ControlError(.notFound, "The transfer \(id) does not exist any more.")
        }
        return TransferSummary(transfer)
    }

    // MARK: Transfers

    func transfers() async throws -> [TransferSummary] {
        try await stack().sync.allTransfers.map(TransferSummary.init)
    }

    func changeTransfers(_ action: TransferAction, ids: [String]) async throws -> [TransferSummary] {
        let command: TaskSync.TransferCommand =
            switch action {
            case .pause: .pause
            case .resume: .resume
            case .cancel: .cancel
            }
        return try await asking { sync in
            let all = await sync.allTransfers
            let chosen =
                try ids.isEmpty
                ? all.filter { !$0.phase.isOver || (command == .resume && $0.phase.hasFailed) }.map(\.id)
                : ids.map { try Self.transfer($0, all) }
            try await sync.command(command, chosen)
            return await sync.allTransfers.filter { chosen.contains($0.id) }.map(TransferSummary.init)
        }
    }

    /// Returns the id of the transfer with this prefix.
    private static func transfer(_ prefix: String, _ all: [Transfer]) throws -> String {
        let found = all.filter { $0.id.hasPrefix(prefix) }
        guard !prefix.isEmpty, let first = found.first else {
            throw ControlError(
                .notFound, "There is no transfer '\(prefix)'.", hint: "'ferry transfers' shows them.")
        }
        guard found.count == 1 else {
            throw ControlError(
                .ambiguous, "Several transfers begin with '\(prefix)'.", hint: "Use more letters of the id.")
        }
        return first.id
    }
}
