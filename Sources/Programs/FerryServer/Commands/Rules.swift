import CommandLineTool
import JSON
import RulesLanguage
import ServerData
import SystemIO

extension Command {
    static let rules: Command = Command(
        "rules", summary: "checks and tests security rules", group: "Administration",
        subcommands: [
            Command(
                "check", summary: "reads rules and names the line of the first mistake",
                arguments: [Argument("FILE", summary: "the rules", completion: .files)],
                action: { try checkRules($0) }),
            Command(
                "test", summary: "decides the requests of a file and compares with what is expected",
                discussion: """
                    CASES is an array of JSON. Each case has a method, a path and whether it should be allowed:

                        [{"name": "owners read", "allow": true, "method": "get", "path": "notes/1",
                          "auth": {"uid": "ann"}, "before": {"owner": "ann"}}]

                    Other members are: token (in auth), after, time, documents, and query with where, orderBy, limit and group.
                    The exit status is 1 if a case is not decided as expected.
                    """,
                arguments: [
                    Argument("FILE", summary: "the rules", completion: .files),
                    Argument("CASES", summary: "the cases, JSON", completion: .files),
                ],
                action: { try testRules($0) }),
        ])
}

private func checkRules(_ arguments: ParsedArguments) throws -> ExitStatus {
    let path = arguments.argument("FILE") ?? ""
    _ = try RulesFile.read(path)
    Console().print("\(path): no mistakes")
    return .success
}

private func testRules(_ arguments: ParsedArguments) throws -> ExitStatus {
    let rules = try RulesFile.read(arguments.argument("FILE") ?? "")
    let path = arguments.argument("CASES") ?? ""
    let cases: [RulesCase]
    do { cases = try RulesCase.parse(try JSON(parsing: try FileSystem.read(path, limit: 16 << 20))) } catch {
        throw ServerError(.configuration, "The cases in \(path) cannot be read: \(error)", cause: error)
    }
    var failed = 0
    for test in cases {
        let decision = test.decide(by: rules)
        let isAllowed = decision == .allowed
        guard isAllowed != test.allows else { continue }
        failed += 1
        Console().print(
            "\(test.name): \(isAllowed ? "allowed" : "denied"), expected to be \(test.allows ? "allowed" : "denied")")
        if case .denied(let failures) = decision {
            for failure in failures { Console().print("  \(failure)") }
            if failures.isEmpty { Console().print("  no match has an allow for this method and path") }
        }
    }
    Console().print("\(cases.count) cases, \(failed) failed")
    return failed == 0 ? .success : .failure
}
