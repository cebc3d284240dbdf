import CommandLineTool
import Control
import JSON

/// What became of a command that names several things: each is done or fails by itself.
struct Outcome<Result> {
    var results: [Result] = []
    var failures: [(name: String, report: ErrorReport)] = []

    /// 8 where some failed; where all did, the status of the first.
    var status: ExitStatus {
        guard let first = failures.first else { return .success }
        return results.isEmpty ? first.report.status : .partlyDone
    }
}

extension CommandContext {
    /// Does something with each of several things. The failures are written to standard error;
    /// where only one thing is named, its error is thrown.
    func each<Result>(_ names: [String], _ body: (String) async throws -> Result) async throws -> Outcome<Result> {
        var outcome = Outcome<Result>()
        for name in names {
            do {
                outcome.results.append(try await body(name))
            } catch is CancellationError {
                throw CancellationError()
            } catch {
                guard names.count > 1 else { throw error }
                let report = ErrorReport(error, program: "ferry")
                report.write(to: terminal, asJSON: wantsJSON, isVerbose: arguments.has("verbose"))
                outcome.failures.append((name, report))
            }
        }
        return outcome
    }

    /// Prints what a command did to tasks, and for programs what it did not.
    func show(_ outcome: Outcome<TaskSummary>) -> ExitStatus {
        guard wantsJSON, !outcome.failures.isEmpty else {
            show(outcome.results)
            return outcome.status
        }
        print(
            document: ("tasks", outcome.results.json),
            (
                "failed",
                .array(
                    outcome.failures.map {
                        ["name": .string($0.name), "error": $0.report.json["error"] ?? .null]
                    })
            ))
        return outcome.status
    }
}
