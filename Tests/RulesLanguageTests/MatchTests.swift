import DocumentModel
import RulesLanguage
import Testing

/// Tests which matches take which paths.
@Suite struct MatchTests {
    private func allows(_ body: String, _ method: RulesMethod, _ path: String, version: Int = 2) throws -> Bool {
        let rules = try Ruleset(
            parsing: """
                rules_version = '\(version)';
                service cloud.firestore { match /databases/{database}/documents { \(body) } }
                """)
        let request = RulesRequest(method, try Sample.name(path), by: Sample.ann, at: Sample.time)
        return rules.decide(request) == .allowed
    }

    @Test func methods() throws {
        let body = "match /a/{b} { allow get, update; allow write: if false; }"
        #expect(try allows(body, .get, "a/1"))
        #expect(try !allows(body, .list, "a/1"))
        #expect(try allows(body, .update, "a/1"))
        #expect(try !allows(body, .delete, "a/1"))
        #expect(try allows("match /a/{b} { allow read }", .list, "a/1"))
    }

    @Test func nestedMatchesAndWildcards() throws {
        let body = """
            match /cities/{city} {
              allow read: if city != 'secret';
              match /landmarks/{landmark} { allow read: if city == 'SF' && landmark == 'bridge'; }
            }
            """
        #expect(try allows(body, .get, "cities/SF"))
        #expect(try !allows(body, .get, "cities/secret"))
        #expect(try allows(body, .get, "cities/SF/landmarks/bridge"))
        #expect(try !allows(body, .get, "cities/LA/landmarks/bridge"))
        #expect(try !allows(body, .get, "cities/SF/other/bridge"))
    }

    @Test func recursiveWildcards() throws {
        let below = "match /cities/{document=**} { allow read; }"
        #expect(try allows(below, .get, "cities/SF"))
        #expect(try allows(below, .get, "cities/SF/landmarks/bridge"))
        #expect(try !allows(below, .get, "towns/SF"))
        let within = "match /cities/{city} { match /{rest=**} { allow read: if rest is path; } }"
        #expect(try allows(within, .get, "cities/SF"))
        #expect(try !allows(within, .get, "cities/SF", version: 1))
        #expect(try allows(within, .get, "cities/SF/landmarks/bridge", version: 1))
        let middle = "match /{path=**}/songs/{song} { allow read: if song == 's'; }"
        #expect(try allows(middle, .get, "songs/s"))
        #expect(try allows(middle, .get, "bands/b/songs/s"))
        #expect(try !allows(middle, .get, "bands/b/albums/s"))
    }

    /// A path of 100 segments against many recursive wildcards ends.
    @Test func matchingIsBounded() throws {
        let path = (0..<50).map { "a/\($0)" }.joined(separator: "/")
        let pattern = (0..<12).map { "{w\($0)=**}" }.joined(separator: "/")
        #expect(try !allows("match /\(pattern)/end { allow read; }", .get, path))
    }

    /// The rules for validation of what is written.
    @Test func writesSeeBothStates() throws {
        let rules = try Sample.rules(
            """
            request.resource.data.keys().hasOnly(['name', 'n'])
              && request.resource.data.name is string && request.resource.data.name.size() <= 5
              && (resource == null || request.resource.data.diff(resource.data).affectedKeys().hasOnly(['n'])
                && request.resource.data.n == resource.data.n + 1)
            """)
        func allows(_ method: RulesMethod, _ before: [String: Value]?, _ after: [String: Value]?) throws -> Bool {
            let request = RulesRequest(
                method, try Sample.name("docs/one"), by: Sample.ann, at: Sample.time,
                before: try before.map { try Sample.document("docs/one", $0) },
                after: try after.map { try Sample.document("docs/one", $0) })
            return rules.decide(request) == .allowed
        }
        let one: [String: Value] = ["name": .string("x"), "n": .integer(1)]
        #expect(try allows(.create, nil, one))
        #expect(try !allows(.create, nil, ["name": .string("longer"), "n": .integer(1)]))
        #expect(try !allows(.create, nil, ["name": .string("x"), "other": .null]))
        #expect(try allows(.update, one, ["name": .string("x"), "n": .integer(2)]))
        #expect(try !allows(.update, one, ["name": .string("y"), "n": .integer(2)]))
        #expect(try !allows(.update, one, ["name": .string("x"), "n": .integer(3)]))
        #expect(try !allows(.delete, one, nil))
    }
}
