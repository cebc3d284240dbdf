import CommandLineTool
import Control
import JSON

/// The result of a command with several operands, each of which succeeds or fails separately.
struct Outcome<Result> {
    var results: [Result] = []
    var failures: [(name: String, report: ErrorReport)] = []

    /// The exit status: 8 if some operands failed; if all failed, that of the first.
    var status: ExitStatus {
        guard let first = failures.first else { return .success }
        return results.isEmpty ? first.report.status : .partlyDone
    }
}

extension CommandContext {
    /// Runs `body` for each operand. Failures are printed on standard error; the error of a single
    /// operand is thrown.
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

    /// Prints the tasks that a command has changed and, as JSON, the failures.
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
