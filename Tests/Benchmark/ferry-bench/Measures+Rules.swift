import DocumentModel
import RulesLanguage

/// The time of decisions by rules in the rules language, on one processor.
extension Bench {
    func measureRules() throws {
        let functions = (0..<100).map { number in
            """
            function f\(number)(a) { let b = a.data.n + \(number); \
            return b > \(number) && a.data.title.size() < 100 && a.data.get('owner', '') == request.auth.uid; }
            """
        }
        let rules = try Ruleset(
            parsing: """
                rules_version = '2';
                service cloud.firestore {
                  match /databases/{database}/documents {
                    \(functions.joined(separator: "\n"))
                    match /tasks/{task} {
                      allow get: if \((0..<36).map { "f\($0)(resource)" }.joined(separator: " && "));
                      allow delete: if f99(resource);
                    }
                  }
                }
                """)
        let name = try DocumentName(database: Self.database, path: "tasks/one")
        let document = Document(
            name: name, fields: ["owner": .string("ann"), "n": .integer(1), "title": .string("Milk")],
            createTime: Timestamp(microseconds: 0), updateTime: Timestamp(microseconds: 0))
        for (method, what) in [(RulesMethod.delete, "one of 100 functions"), (.get, "36 of 100 functions")] {
            let request = RulesRequest(
                method, name, by: RulesAuthentication(userID: "ann"), at: Timestamp(microseconds: 0), before: document)
            guard rules.decide(request) == .allowed else { throw Failure(description: "The rules refuse.") }
            let times = (0..<10_000).map { _ in
                let start = ContinuousClock.now
                _ = rules.decide(request)
                return (ContinuousClock.now - start).inSeconds * 1e6
            }
            say("a decision by rules that calls \(what), median", "\(median(times).text(1)) µs", "≤ 200 µs")
        }
    }
}
