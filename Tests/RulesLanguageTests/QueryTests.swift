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
