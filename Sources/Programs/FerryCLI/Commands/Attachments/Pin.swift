import CommandLineTool
import Control

extension Command {
    static let pin = Command.daemon(
        "pin", group: "Attachments", summary: "keeps all attachments of a task on this machine",
        discussion: """
            For machines that do not download all attachments automatically (the setting 'download'): those of a pinned
            task are downloaded nevertheless, including later ones. 'ferry unpin' ends that and removes nothing.
            """,
        arguments: [.task(.some)], options: [Option("no-wait", summary: "return at once; the daemon continues"), .json]
    ) { context in
        let outcome = try await context.each(context.arguments.arguments("TASK")) { word in
            try await context.service.setPinned(try await context.task(word), true)
        }
        var transfers = outcome.results.flatMap { $0 }
        if !context.arguments.has("no-wait") { transfers = try await context.watch(transfers) }
        if context.wantsJSON { context.print(document: ("transfers", transfers.json)) }
        let status = context.status(of: transfers)
        return status == .success ? outcome.status : status
    }

    static let unpin = Command.daemon(
        "unpin", group: "Attachments", summary: "stops keeping later attachments of a task on this machine",
        arguments: [.task(.some)]
    ) { context in
        try await context.each(context.arguments.arguments("TASK")) { word in
            try await context.service.setPinned(try await context.task(word), false)
        }.status
    }
}
