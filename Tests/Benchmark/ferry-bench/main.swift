import CommandLineTool
import Foundation

/// Measures the document store on a real `ferry-server` over gRPC on loopback, and the processor
/// time of attachments, and prints a table. It needs an idle machine and release builds of both
/// programs.
let command = Command(
    "ferry-bench", summary: "measures ferry-server's documents, and what attachments cost a processor",
    discussion: """
        Without a MEASURE, all are taken: commits, gets, queries, listeners, initial, memory, hashing, rules,
        engines, storm.

            ferry-bench --server .build/release/ferry-server commits gets
        """,
    arguments: [Argument("MEASURE", .any, summary: "what to measure")],
    options: [
        Option("server", value: "PATH", summary: "the server; the one beside this program by default"),
        Option("seconds", value: "N", summary: "how long each rate is taken, 5 by default"),
        Option("clients", value: "N", summary: "how many clients commit and read at once, 64 by default"),
        Option("documents", value: "N", summary: "how many documents the largest collection has, 1000000 by default"),
        Option("listeners", value: "N", summary: "how many listeners share or divide a commit, 1000 by default"),
        Option(
            "idle", value: "N", summary: "how many listeners are idle, or machines come back at once, 10000 by default"),
        Option("initial", value: "N", summary: "how many documents a first listen brings, 100000 by default"),
    ],
    action: { arguments in
        let measures = arguments.arguments("MEASURE")
        let bench = Bench(
            program: arguments.value("server") ?? beside("ferry-server"),
            duration: .seconds(try arguments.integer("seconds", in: 1...600) ?? 5),
            clients: try arguments.integer("clients", in: 1...1000) ?? 64,
            documents: try arguments.integer("documents", in: 1000...10_000_000) ?? 1_000_000,
            listeners: try arguments.integer("listeners", in: 1...10_000) ?? 1000,
            idle: try arguments.integer("idle", in: 10...20_000) ?? 10_000,
            initial: try arguments.integer("initial", in: 100...10_000_000) ?? 100_000)
        try await bench.run(measures.isEmpty ? Bench.Measure.allCases.map(\.rawValue) : measures)
        return .success
    })

func beside(_ program: String) -> String {
    let path = CommandLine.arguments[0]
    return (path.lastIndex(of: "/").map { String(path[...$0]) } ?? "./") + program
}

do {
    switch try command.parse(Array(CommandLine.arguments.dropFirst())) {
    case .run(_, let arguments): _ = try await command.action?(arguments)
    case .help(let text): print(text)
    case .version: break
    }
} catch {
    FileHandle.standardError.write(Data("ferry-bench: \(error)\n".utf8))
    exit(1)
}
