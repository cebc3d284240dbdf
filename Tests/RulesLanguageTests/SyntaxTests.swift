import DocumentModel
import RulesLanguage
import Testing

/// Tests what is refused before any request comes, and where.
@Suite struct SyntaxTests {
    @Test(arguments: [
        ("", 1, 1), ("service cloud.firestore {", 1, 26), ("service cloud.firestore { allow read; }", 1, 27),
        ("rules_version = '3';", 1, 17), ("service firebase.storage { }", 1, 1),
        ("service cloud.firestore {\n  match a { }\n}", 2, 9),
        ("service cloud.firestore {\n  match /a/{b} { allow fly; }\n}", 2, 24),
        ("service cloud.firestore {\n  match /a/{b} { allow read: if ; }\n}", 2, 33),
        ("service cloud.firestore {\n  match /a/{b} { allow read: if x == 1; }\n}", 2, 33),
        ("service cloud.firestore {\n  match /a/{b} { allow read: if f(1); }\n}", 2, 33),
        ("service cloud.firestore {\n  match /a/{b} { allow read: if 'a'.fly(); }\n}", 2, 36),
        ("service cloud.firestore {\n  match /a/{b} { allow read: if 'a'.matches('('); }\n}", 2, 45),
        ("service cloud.firestore {\n  match /a/{b} { allow read: if b is fish; }\n}", 2, 38),
        ("service cloud.firestore {\n  match /a/{b} { allow read: if 'a; }\n}", 2, 33),
        ("service cloud.firestore {\n  /* no end", 2, 3),
        ("service cloud.firestore {\n  match /a/{b=**}/c { allow read; }\n}", 2, 3),
        ("service cloud.firestore {\n  match /a/{b} { allow read: if math.fly(1) == 1; }\n}", 2, 37),
        ("service cloud.firestore {\n  match /a/{b} { allow read: if math.abs() == 1; }\n}", 2, 37),
        ("service cloud.firestore {\n  match /a/{b} { allow read: if 99999999999999999999 == 1; }\n}", 2, 33),
    ])
    func mistakesHaveAPlace(_ source: String, _ line: Int, _ column: Int) throws {
        let error = #expect(throws: RulesSyntaxError.self) { try Ruleset(parsing: source) }
        #expect(error?.position == SourcePosition(line: line, column: column), "\(source): \(error?.description ?? "")")
    }

    @Test(arguments: [
        "function f() { return f(); }", "function f() { return g(); } function g() { return f(); }",
        "function f(a, a) { return a; }", "function f() { return 1; } function f() { return 2; }",
        "function get(a) { return a; }", "function f(a, b, c, d, e, f, g, h) { return a; }",
        "function f() { let a = b; return a; }", "function f() { let a = 1; }",
    ])
    func functionsAreChecked(_ functions: String) throws {
        #expect(throws: RulesSyntaxError.self) { try Sample.rules("true", functions: functions) }
    }

    /// Tests forms of published files: a semicolon is missing after a condition or before a comment,
    /// lists end with a comma, methods are on lines of their own, functions are outside the service.
    @Test func publishedFormsAreRead() throws {
        let rules = try Ruleset(
            parsing: """
                \u{FEFF}rules_version = "2"
                function isKnown(user) { let id = user.uid return id != null }
                service cloud.firestore {
                  match /databases/{database}/documents {
                    match /a/{id} {
                      allow get,
                        list // one more
                        , create
                        : if isKnown(request.auth) && id in ['one', 'two',]
                      allow update; // anyone
                      /* not yet */ allow delete
                      match /b/{c} { allow read: if (true) }
                    }
                  }
                }
                service firebase.storage { match /b/{bucket}/o { match /{name=**} { allow read } } }
                """)
        func allows(_ method: RulesMethod, _ path: String) throws -> Bool {
            rules.decide(RulesRequest(method, try Sample.name(path), by: Sample.ann, at: Sample.time)) == .allowed
        }
        #expect(
            try allows(.get, "a/one") && allows(.update, "a/x") && allows(.delete, "a/x") && allows(.get, "a/x/b/c"))
        #expect(try !allows(.get, "a/three"))
    }

    @Test func depthIsBounded() throws {
        let deep = String(repeating: "(", count: 5000) + "true" + String(repeating: ")", count: 5000)
        #expect(throws: RulesSyntaxError.self) { try Sample.rules(deep) }
        #expect(throws: RulesSyntaxError.self) { try Sample.rules(String(repeating: "!", count: 5000) + "true") }
        #expect(throws: RulesSyntaxError.self) { try Ruleset(parsing: String(repeating: " ", count: 300_000)) }
    }

    @Test func evaluationIsBounded() throws {
        let many = (0..<600).map { _ in "true" }.joined(separator: " && ")
        #expect(try !Sample.allowsGet(many + " && " + many))
        // The limit ends the decision even where the other operand would allow.
        #expect(try !Sample.allowsGet("(\(many) && \(many)) || true"))
        let functions = (0..<25).map { "function f\($0)() { return \($0 == 24 ? "true" : "f\($0 + 1)()"); }" }
        #expect(try !Sample.allowsGet("f0()", functions: functions.joined(separator: "\n")))
        #expect(try Sample.allowsGet("f10()", functions: functions.joined(separator: "\n")))
        let gets = (0..<11).map { "exists(/databases/$(database)/documents/a/\($0)) == false" }
        #expect(try !Sample.allowsGet(gets.joined(separator: " && ")))
        #expect(try Sample.allowsGet(gets.dropFirst().joined(separator: " && ")))
        let doubling = (0..<10).map { "let s\($0 + 1) = s\($0) + s\($0);" }.joined(separator: " ")
        let grow = "function grow(s0) { \(doubling) return s10; }"
        #expect(try !Sample.allowsGet("grow(grow(grow('aaaaaaaa'))).size() > 0", functions: grow))
        let large = Value.array((0..<90_000).map { .integer($0) })
        let costly = (0..<20).map { _ in "resource.data.a.toSet().size() > 0" }.joined(separator: " && ")
        #expect(try !Sample.allowsGet(costly, ["a": large]))
    }
}
