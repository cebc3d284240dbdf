import DocumentModel
import RulesLanguage
import Testing

/// Tests which queries prove a condition for whatever is stored.
@Suite struct QueryTests {
    private func field(_ path: String, _ test: Query.FieldOperator, _ value: Value) throws -> Query.Filter {
        try Sample.field(path, test, value)
    }

    @Test func equalityProves() throws {
        let mine = "resource.data.owner == request.auth.uid"
        #expect(try Sample.allowsQuery(mine, field("owner", .equal, .string("ann"))))
        #expect(try !Sample.allowsQuery(mine, field("owner", .equal, .string("bob"))))
        #expect(try !Sample.allowsQuery(mine, nil))
        #expect(try !Sample.allowsQuery(mine, field("other", .equal, .string("ann"))))
        #expect(
            try Sample.allowsQuery(
                mine, .and([field("n", .greaterThan, .integer(1)), field("owner", .equal, .string("ann"))])))
        #expect(
            try !Sample.allowsQuery(
                mine, .or([field("n", .equal, .integer(1)), field("owner", .equal, .string("ann"))])))
        #expect(try Sample.allowsQuery(mine, field("owner", .in, .array([.string("ann")]))))
        #expect(try !Sample.allowsQuery(mine, field("owner", .in, .array([.string("ann"), .string("bob")]))))
    }

    @Test func alternativesAreEachProven() throws {
        let visible = "resource.data.visibility == 'public' || resource.data.owner == request.auth.uid"
        let isPublic = try field("visibility", .equal, .string("public"))
        let isMine = try field("owner", .equal, .string("ann"))
        #expect(try Sample.allowsQuery(visible, isPublic))
        #expect(try Sample.allowsQuery(visible, .or([isPublic, isMine])))
        #expect(try !Sample.allowsQuery(visible, .or([isPublic, isMine, field("n", .equal, .integer(1))])))
        let many = try (0..<40).map { try field("n", .equal, .integer($0)) }
        #expect(try !Sample.allowsQuery("true", .or(many)))
    }

    @Test func rangesProve() throws {
        let old = "resource.data.age >= 18"
        #expect(try Sample.allowsQuery(old, field("age", .greaterThanOrEqual, .integer(18))))
        #expect(try Sample.allowsQuery(old, field("age", .greaterThan, .integer(18))))
        #expect(try Sample.allowsQuery(old, field("age", .greaterThan, .double(20.5))))
        #expect(try !Sample.allowsQuery(old, field("age", .greaterThan, .integer(17))))
        #expect(try !Sample.allowsQuery(old, field("age", .lessThan, .integer(30))))
        #expect(try Sample.allowsQuery("resource.data.age < 10", field("age", .lessThan, .integer(10))))
        #expect(try !Sample.allowsQuery("resource.data.age < 10", field("age", .lessThanOrEqual, .integer(10))))
        #expect(try Sample.allowsQuery("resource.data.age != 5", field("age", .greaterThan, .integer(5))))
        #expect(try Sample.allowsQuery("resource.data.age != 5", field("age", .notEqual, .integer(5))))
        #expect(try Sample.allowsQuery("10 > resource.data.age", field("age", .lessThan, .integer(10))))
        #expect(try Sample.allowsQuery("resource.data.age is number", field("age", .lessThan, .integer(10))))
        #expect(try !Sample.allowsQuery("resource.data.age is int", field("age", .lessThan, .integer(10))))
        #expect(try Sample.allowsQuery("!(resource.data.age in [1, 2])", field("age", .greaterThan, .integer(2))))
    }

    @Test func arraysProve() throws {
        let member = "request.auth.uid in resource.data.members"
        #expect(try Sample.allowsQuery(member, field("members", .arrayContains, .string("ann"))))
        #expect(try !Sample.allowsQuery(member, field("members", .arrayContains, .string("bob"))))
        #expect(
            try !Sample.allowsQuery(
                member, field("members", .arrayContainsAny, .array([.string("ann"), .string("bob")]))))
        #expect(
            try Sample.allowsQuery(
                "resource.data.members.hasAny(['ann', 'x'])", field("members", .arrayContains, .string("ann"))))
    }

    /// Parts that a query leaves open stay open in lists, maps and sets, and numbers have an open type.
    @Test(arguments: [
        "[resource.data.owner] != ['bob']", "!([resource.data.owner] == ['bob'])",
        "![resource.data.owner].hasAny(['bob'])",
        "!(['bob'].hasAny([resource.data.owner]))", "!(resource.data.owner in ['bob'].toSet())",
        "{'a': resource.data.owner} != {'a': 'bob'}", "!('bob' in {'a': resource.data.owner}.values())",
        "!('bob' in [resource.data.owner])", "!([resource.data.owner] in [['bob']])",
        "{'a': 1}.diff({'a': resource.data.owner}).changedKeys().size() == 0",
        "[resource.data.owner].toSet().size() == 2",
        "{'a': resource.data} == {'a': resource.data.inner}", "[resource.data] == [{}]", "resource.data != {'n': 3}",
        "resource.data.n is int", "!(resource.data.n is float)", "resource.data.n / 2 == 1",
        "resource.data.l[0] is int",
        "resource.data.l != [4] && resource.data.l[0] is int", "string(resource.data.n) == '3'",
        "[resource.data.owner].size() == 1", "[resource.data.owner] is list", "'y' in [resource.data.owner, 'y']",
        "{'a': 1}.get('a', resource.data.owner) == 1",
    ])
    func openPartsStayOpen(_ condition: String) throws {
        let filter = Query.Filter.and([
            try field("n", .equal, .integer(3)), try field("l", .equal, .array([.integer(3)])),
            try field("inner.x", .equal, .string("y")),
        ])
        #expect(try !Sample.allowsQuery(condition, filter))
    }

    @Test(arguments: [
        "resource.data.n == 3", "resource.data.n == 3.0", "resource.data.n != 4", "resource.data.n in [1, 3]",
        "!(resource.data.n in [1, 2])", "resource.data.n > 2", "resource.data.n <= 3", "!(resource.data.n < 3)",
        "resource.data.n is number", "!(resource.data.n is string)", "resource.data.l.size() == 1",
        "3 in resource.data.l",
        "!(4 in resource.data.l)", "'y' in [resource.data.n, resource.data.inner.x]", "resource.data.inner is map",
        "[resource.data.n, 1].size() == 2", "{'a': resource.data.n}.keys() == ['a']", "resource.data.n != null",
    ])
    func equalityOfNumbersProves(_ condition: String) throws {
        let filter = Query.Filter.and([
            try field("n", .equal, .integer(3)), try field("l", .equal, .array([.integer(3)])),
            try field("inner.x", .equal, .string("y")),
        ])
        #expect(try Sample.allowsQuery(condition, filter))
    }

    /// A function has no value where a field is absent that it was called with.
    @Test func argumentsMayBeAbsent() throws {
        func allows(_ condition: String) throws -> Bool {
            let rules = try Sample.rules(condition, functions: "function f(a) { let b = a; return true; }")
            let query = Query(
                parent: ParentName(Sample.database), collectionID: "docs", filter: try field("n", .equal, .integer(3)))
            return rules.decide(RulesRequest(query, by: Sample.ann, at: Sample.time)) == .allowed
        }
        #expect(try allows("f(resource.data.n)"))
        #expect(try allows("f(resource)"))
        #expect(try !allows("f(resource.data.owner)"))
        #expect(try allows("f(id) && f(resource.id) && f(request.path)"))
    }

    /// Firestore orders lists and references; the language does not.
    @Test func boundsWithoutOrderProveNothing() throws {
        let filter = try field("l", .greaterThan, .array([.integer(1)]))
        #expect(try !Sample.allowsQuery("resource.data.l != [2]", filter))
        #expect(try Sample.allowsQuery("resource.data.l != 'text' && resource.data.l is list", filter))
        #expect(try !Sample.allowsQuery("resource.data.n > 0.0 / 0.0", field("n", .greaterThan, .integer(5))))
    }

    @Test func nestedFieldsAndKeys() throws {
        let filter = try field("access.owner", .equal, .string("ann"))
        #expect(try Sample.allowsQuery("resource.data.access.owner == 'ann'", filter))
        #expect(try Sample.allowsQuery("'access' in resource.data", filter))
        #expect(try !Sample.allowsQuery("'other' in resource.data", filter))
        #expect(try Sample.allowsQuery("resource.data.get('access', {}).owner == 'ann'", filter))
        #expect(try !Sample.allowsQuery("resource.data.keys().hasOnly(['access'])", filter))
        #expect(try !Sample.allowsQuery("!(resource.data.keys().hasOnly(['access']))", filter))
        #expect(try !Sample.allowsQuery("resource.data.size() > 0", filter))
    }

    @Test func limitsAndUnknownNames() throws {
        #expect(try Sample.allowsQuery("request.query.limit <= 10", nil, limit: 10))
        #expect(try !Sample.allowsQuery("request.query.limit <= 10", nil, limit: 11))
        #expect(try !Sample.allowsQuery("request.query.limit <= 10", nil))
        #expect(try !Sample.allowsQuery("id == 'one'", nil))
        #expect(try !Sample.allowsQuery("id != 'one'", nil))
        #expect(try !Sample.allowsQuery("exists(/databases/$(database)/documents/users/$(id))", nil))
        #expect(try Sample.allowsQuery("request.auth != null && resource != null", nil))
    }

    @Test func groupsNeedARecursiveWildcard() throws {
        func allows(_ pattern: String) throws -> Bool {
            let rules = try Ruleset(
                parsing: """
                    rules_version = '2';
                    service cloud.firestore { match /databases/{d}/documents { match \(pattern) { allow list; } } }
                    """)
            let query = Query(parent: ParentName(Sample.database), collectionID: "songs", allDescendants: true)
            return rules.decide(RulesRequest(query, by: nil, at: Sample.time)) == .allowed
        }
        #expect(try allows("/{path=**}/songs/{song}"))
        #expect(try !allows("/bands/{band}/songs/{song}"))
        #expect(try !allows("/songs/{song}"))
        #expect(try allows("/{any=**}"))
    }
}
