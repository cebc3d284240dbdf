import DocumentModel
import RulesLanguage
import Testing

/// Decisions about the situations of Google's documentation: basic and role-based access, conditions,
/// fields that may be written, queries, and reads of other documents.
///
/// https://firebase.google.com/docs/firestore/security/rules-conditions, …/rules-query, …/rules-fields,
/// …/solutions/role-based-access
@Suite struct DocumentedCasesTests {
    /// A request and its expected decision.
    struct Case: Sendable, CustomStringConvertible {
        let description: String
        let allows: Bool
        let decide: @Sendable (DocumentedCasesTests) throws -> Bool

        init(
            _ description: String, _ allows: Bool,
            _ decide: @escaping @Sendable (DocumentedCasesTests) throws -> Bool
        ) {
            self.description = description
            self.allows = allows
            self.decide = decide
        }
    }

    private let rules: Ruleset

    init() throws {
        rules = try Ruleset(
            parsing: """
                rules_version = '2';
                service cloud.firestore {
                  match /databases/{database}/documents {
                    function isSignedIn() { return request.auth != null; }
                    function team(id) { return get(/databases/$(database)/documents/teams/$(id)).data; }
                    function isOneOf(story, roles) { return story.data.roles[request.auth.uid] in roles; }

                    // Each of these is allowed or refused whole.
                    match /open/{id} { allow read, write: if true; }
                    match /closed/{id} { allow read, write: if false; }
                    match /members/{id} { allow read, write: if isSignedIn(); }
                    match /profiles/{user} {
                      allow read, update, delete: if isSignedIn() && request.auth.uid == user;
                      allow create: if isSignedIn();
                    }
                    match /verified/{id} { allow read: if request.auth.token.email_verified; }
                    match /towns/{town} {
                      allow read: if resource.data.visibility == 'public';
                      allow create: if request.resource.data.people > 0;
                      allow update: if request.resource.data.people > 0
                        && request.resource.data.name == resource.data.name;
                    }
                    // A document is created only together with another one.
                    match /pairs/{pair} {
                      allow create: if exists(/databases/$(database)/documents/profiles/$(request.auth.uid))
                        && getAfter(/databases/$(database)/documents/pairs/$(request.resource.data.other)).data.other == pair;
                      allow delete: if team('admins').members[request.auth.uid] == true;
                    }

                    // Which fields a document may have.
                    match /places/{place} {
                      allow create: if request.resource.data.keys().hasAll(['name', 'street', 'city'])
                        && request.resource.data.keys().hasOnly(['name', 'street', 'city', 'phone'])
                        && request.resource.data.name is string && request.resource.data.get('phone', '') is string;
                      allow update: if !request.resource.data.diff(resource.data).affectedKeys()
                          .hasAny(['stars', 'votes'])
                        && request.resource.data.diff(resource.data).changedKeys().hasOnly(['name', 'street'])
                        && !request.resource.data.diff(resource.data).removedKeys().hasAny(['city']);
                    }
                    match /notes/{note} {
                      allow create: if !request.resource.data.keys().hasAny(['score', 'rank']);
                      allow update: if request.resource.data.tags[0] is string
                        && request.resource.data.tags[0].size() < 8 && request.resource.data.count is int
                        && (!('link' in request.resource.data) || request.resource.data.link.matches('https://.*'));
                    }

                    // Queries.
                    match /stories/{story} {
                      allow get: if isOneOf(resource, ['owner', 'writer', 'reader']);
                      allow list: if resource.data.author == request.auth.uid && request.query.limit <= 10;
                      allow create: if request.resource.data.roles[request.auth.uid] == 'owner';
                      allow update: if isOneOf(resource, ['owner'])
                        || isOneOf(resource, ['writer'])
                          && request.resource.data.diff(resource.data).affectedKeys().hasOnly(['title', 'text'])
                      match /comments/{comment} {
                        allow read: if isOneOf(get(/databases/$(database)/documents/stories/$(story)), ['owner', 'reader']);
                        allow create: if isOneOf(get(/databases/$(database)/documents/stories/$(story)), ['reader'])
                          && request.resource.data.user == request.auth.uid;
                      }
                    }
                    match /posts/{post} {
                      allow read: if resource.data.published == true || resource.data.author == request.auth.uid;
                    }
                    match /{path=**}/replies/{reply} {
                      allow read: if isSignedIn();
                      allow write: if request.auth.uid == resource.data.author;
                    }
                    match /sales/{sale} {
                      allow list: if resource.data.region in ['north', 'south'] && request.query.orderBy.day == 'ASC';
                    }
                  }
                }
                """)
    }

    private func one(
        _ method: RulesMethod, _ path: String, by user: String? = "ann", token: [String: Value] = [:],
        before: [String: Value]? = nil, after: [String: Value]? = nil, others: [String: [String: Value]] = [:],
        othersAfter: [String: [String: Value]] = [:]
    ) throws -> Bool {
        let request = RulesRequest(
            method, try Sample.name(path), by: user.map { RulesAuthentication(userID: $0, token: token) },
            at: Sample.time,
            before: try before.map { try Sample.document(path, $0) },
            after: try after.map { try Sample.document(path, $0) })
        func known(_ documents: [String: [String: Value]]) throws -> [DocumentName: Document] {
            try Dictionary(
                uniqueKeysWithValues: documents.map { (try Sample.name($0.key), try Sample.document($0.key, $0.value)) }
            )
        }
        let (now, then) = (try known(others), try known(others.merging(othersAfter) { $1 }))
        return rules.decide(request) { .some(($0.after ? then : now)[$0.name]) } == .allowed
    }

    private func list(
        _ collection: String, where filters: [Query.Filter] = [], orders: [Query.Order] = [], limit: Int32? = nil,
        inGroup: Bool = false, by user: String? = "ann"
    ) throws -> Bool {
        var query = Query(
            parent: ParentName(Sample.database), collectionID: collection, allDescendants: inGroup,
            filter: filters.isEmpty ? nil : .and(filters))
        query.orders = orders
        query.limit = limit
        let account = user.map { RulesAuthentication(userID: $0) }
        return rules.decide(RulesRequest(query, by: account, at: Sample.time)) == .allowed
    }

    private static let story: [String: Value] = [
        "title": .string("t"),
        "roles": .map(["ann": .string("owner"), "bob": .string("writer"), "cal": .string("reader")]),
    ]
    private static let place: [String: Value] = [
        "name": .string("n"), "street": .string("s"), "city": .string("c"), "stars": .integer(5),
    ]

    private static func with(_ fields: [String: Value], _ key: String, _ value: Value?) -> [String: Value] {
        var fields = fields
        fields[key] = value
        return fields
    }

    private static func field(_ path: String, _ value: Value) throws -> Query.Filter {
        try Sample.field(path, .equal, value)
    }

    static let basics: [Case] = [
        Case("anyone reads what is open", true) { try $0.one(.get, "open/a", by: nil) },
        Case("anyone writes what is open", true) { try $0.one(.create, "open/a", by: nil, after: [:]) },
        Case("nobody reads what is closed", false) { try $0.one(.get, "closed/a", before: [:]) },
        Case("nobody deletes what is closed", false) { try $0.one(.delete, "closed/a", before: [:]) },
        Case("a path without a match is closed", false) { try $0.one(.get, "elsewhere/a", before: [:]) },
        Case("what lies below a match without {=**} is closed", false) { try $0.one(.get, "open/a/b/c", before: [:]) },
        Case("the signed in read", true) { try $0.one(.get, "members/a", before: [:]) },
        Case("strangers do not", false) { try $0.one(.get, "members/a", by: nil, before: [:]) },
        Case("the signed in list", true) { try $0.list("members") },
        Case("strangers do not list", false) { try $0.list("members", by: nil) },
        Case("a profile is read by its user", true) { try $0.one(.get, "profiles/ann", before: [:]) },
        Case("a profile is not read by another", false) { try $0.one(.get, "profiles/bob", before: [:]) },
        Case("a profile is created", true) { try $0.one(.create, "profiles/x", after: [:]) },
        Case("a profile is not changed by another", false) {
            try $0.one(.update, "profiles/bob", before: [:], after: [:])
        },
        Case("a profile is deleted by its user", true) { try $0.one(.delete, "profiles/ann", before: [:]) },
        Case("a verified address", true) { try $0.one(.get, "verified/a", token: ["email_verified": .boolean(true)]) },
        Case("an address that is not verified", false) {
            try $0.one(.get, "verified/a", token: ["email_verified": .boolean(false)])
        },
        Case("no address", false) { try $0.one(.get, "verified/a") },
    ]

    static let conditions: [Case] = [
        Case("a public town", true) { try $0.one(.get, "towns/a", before: ["visibility": .string("public")]) },
        Case("a private town", false) { try $0.one(.get, "towns/a", before: ["visibility": .string("private")]) },
        Case("a town without the field", false) { try $0.one(.get, "towns/a", before: [:]) },
        Case("a town that is not there", false) { try $0.one(.get, "towns/a") },
        Case("a town with people", true) { try $0.one(.create, "towns/a", after: ["people": .integer(1)]) },
        Case("a town without people", false) { try $0.one(.create, "towns/a", after: ["people": .integer(0)]) },
        Case("people in words", false) { try $0.one(.create, "towns/a", after: ["people": .string("many")]) },
        Case("a town that keeps its name", true) {
            let town: [String: Value] = ["people": .integer(1), "name": .string("a")]
            return try $0.one(.update, "towns/a", before: town, after: with(town, "people", .integer(2)))
        },
        Case("a town that changes its name", false) {
            let town: [String: Value] = ["people": .integer(1), "name": .string("a")]
            return try $0.one(.update, "towns/a", before: town, after: with(town, "name", .string("b")))
        },
        Case("a pair in one commit", true) {
            try $0.one(
                .create, "pairs/a", after: ["other": .string("b")], others: ["profiles/ann": [:]],
                othersAfter: ["pairs/b": ["other": .string("a")]])
        },
        Case("half a pair", false) {
            try $0.one(.create, "pairs/a", after: ["other": .string("b")], others: ["profiles/ann": [:]])
        },
        Case("a pair of one without a profile", false) {
            try $0.one(
                .create, "pairs/a", after: ["other": .string("b")], othersAfter: ["pairs/b": ["other": .string("a")]])
        },
        Case("an administrator deletes", true) {
            try $0.one(
                .delete, "pairs/a", before: [:], others: ["teams/admins": ["members": .map(["ann": .boolean(true)])]])
        },
        Case("another does not", false) {
            try $0.one(
                .delete, "pairs/a", before: [:], others: ["teams/admins": ["members": .map(["bob": .boolean(true)])]])
        },
        Case("there is no team", false) { try $0.one(.delete, "pairs/a", before: [:]) },
    ]

    static let fields: [Case] = [
        Case("all fields that must be there", true) {
            try $0.one(.create, "places/a", after: with(place, "stars", nil))
        },
        Case("and one that may", true) {
            try $0.one(.create, "places/a", after: with(with(place, "stars", nil), "phone", .string("1")))
        },
        Case("one is missing", false) {
            try $0.one(.create, "places/a", after: with(with(place, "stars", nil), "city", nil))
        },
        Case("one too many", false) { try $0.one(.create, "places/a", after: place) },
        Case("a name of another type", false) {
            try $0.one(.create, "places/a", after: with(with(place, "stars", nil), "name", .integer(1)))
        },
        Case("an optional field of another type", false) {
            try $0.one(.create, "places/a", after: with(with(place, "stars", nil), "phone", .integer(1)))
        },
        Case("a change of the name", true) {
            try $0.one(.update, "places/a", before: place, after: with(place, "name", .string("m")))
        },
        Case("a change of the stars", false) {
            try $0.one(.update, "places/a", before: place, after: with(place, "stars", .integer(1)))
        },
        Case("new votes", false) {
            try $0.one(.update, "places/a", before: place, after: with(place, "votes", .integer(1)))
        },
        Case("a change of the city", false) {
            try $0.one(.update, "places/a", before: place, after: with(place, "city", .string("d")))
        },
        Case("the removal of the city", false) {
            try $0.one(.update, "places/a", before: place, after: with(place, "city", nil))
        },
        Case("no change", true) { try $0.one(.update, "places/a", before: place, after: place) },
        Case("a note", true) { try $0.one(.create, "notes/a", after: ["text": .string("x")]) },
        Case("a note with a rank", false) { try $0.one(.create, "notes/a", after: ["rank": .integer(1)]) },
        Case("a short tag", true) { try $0.one(.update, "notes/a", before: [:], after: note()) },
        Case("a long tag", false) {
            try $0.one(.update, "notes/a", before: [:], after: note("tags", .array([.string("long enough")])))
        },
        Case("no tag", false) { try $0.one(.update, "notes/a", before: [:], after: note("tags", .array([]))) },
        Case("a float for an int", false) {
            try $0.one(.update, "notes/a", before: [:], after: note("count", .double(1)))
        },
        Case("a link", true) {
            try $0.one(.update, "notes/a", before: [:], after: note("link", .string("https://example.org")))
        },
        Case("a link that is not one", false) {
            try $0.one(.update, "notes/a", before: [:], after: note("link", .string("ftp://https://")))
        },
    ]

    private static func note(_ key: String = "count", _ value: Value = .integer(1)) -> [String: Value] {
        with(["tags": .array([.string("short")]), "count": .integer(1)], key, value)
    }

    static let roles: [Case] = [
        Case("an owner reads", true) { try $0.one(.get, "stories/a", before: story) },
        Case("a reader reads", true) { try $0.one(.get, "stories/a", by: "cal", before: story) },
        Case("one without a role does not", false) { try $0.one(.get, "stories/a", by: "dan", before: story) },
        Case("nobody does not", false) { try $0.one(.get, "stories/a", by: nil, before: story) },
        Case("the creator is the owner", true) { try $0.one(.create, "stories/a", after: story) },
        Case("the creator is a writer", false) { try $0.one(.create, "stories/a", by: "bob", after: story) },
        Case("an owner changes roles", true) {
            try $0.one(
                .update, "stories/a", before: story, after: with(story, "roles", .map(["ann": .string("owner")])))
        },
        Case("a writer changes the title", true) {
            try $0.one(.update, "stories/a", by: "bob", before: story, after: with(story, "title", .string("u")))
        },
        Case("a writer changes roles", false) {
            try $0.one(
                .update, "stories/a", by: "bob", before: story,
                after: with(story, "roles", .map(["bob": .string("owner")])))
        },
        Case("a reader changes the title", false) {
            try $0.one(.update, "stories/a", by: "cal", before: story, after: with(story, "title", .string("u")))
        },
        Case("a reader reads comments", true) {
            try $0.one(.get, "stories/a/comments/c", by: "cal", before: [:], others: ["stories/a": story])
        },
        Case("one without a role reads no comments", false) {
            try $0.one(.get, "stories/a/comments/c", by: "dan", before: [:], others: ["stories/a": story])
        },
        Case("a reader comments", true) {
            try $0.one(
                .create, "stories/a/comments/c", by: "cal", after: ["user": .string("cal")],
                others: ["stories/a": story])
        },
        Case("a reader comments as another", false) {
            try $0.one(
                .create, "stories/a/comments/c", by: "cal", after: ["user": .string("ann")],
                others: ["stories/a": story])
        },
        Case("a comment on no story", false) {
            try $0.one(.create, "stories/a/comments/c", by: "cal", after: ["user": .string("cal")])
        },
    ]

    static let queries: [Case] = [
        Case("all stories", false) { try $0.list("stories", limit: 10) },
        Case("my stories, ten", true) { try $0.list("stories", where: [field("author", .string("ann"))], limit: 10) },
        Case("my stories, eleven", false) {
            try $0.list("stories", where: [field("author", .string("ann"))], limit: 11)
        },
        Case("my stories without a limit", false) { try $0.list("stories", where: [field("author", .string("ann"))]) },
        Case("another's stories", false) {
            try $0.list("stories", where: [field("author", .string("bob"))], limit: 10)
        },
        Case("published posts", true) { try $0.list("posts", where: [field("published", .boolean(true))]) },
        Case("my posts", true) { try $0.list("posts", where: [field("author", .string("ann"))]) },
        Case("drafts", false) { try $0.list("posts", where: [field("published", .boolean(false))]) },
        Case("my drafts", true) {
            try $0.list("posts", where: [field("published", .boolean(false)), field("author", .string("ann"))])
        },
        Case("all posts", false) { try $0.list("posts") },
        Case("a group of replies", true) { try $0.list("replies", inGroup: true) },
        Case("a group of replies, by nobody", false) { try $0.list("replies", inGroup: true, by: nil) },
        Case("a group of stories", false) {
            try $0.list("stories", where: [field("author", .string("ann"))], limit: 10, inGroup: true)
        },
        Case("one reply below a post", true) { try $0.one(.get, "posts/p/replies/r", before: [:]) },
        Case("a reply is changed by its author", true) {
            try $0.one(.update, "posts/p/replies/r", before: ["author": .string("ann")], after: [:])
        },
        Case("a reply is changed by another", false) {
            try $0.one(.update, "posts/p/replies/r", before: ["author": .string("bob")], after: [:])
        },
        Case("sales of two regions by day", true) {
            try $0.list(
                "sales", where: [Sample.field("region", .in, .array([.string("north"), .string("south")]))],
                orders: [Query.Order(FieldPath(key: "day"))])
        },
        Case("sales of three regions by day", false) {
            try $0.list(
                "sales", where: [Sample.field("region", .in, .array([.string("north"), .string("west")]))],
                orders: [Query.Order(FieldPath(key: "day"))])
        },
        Case("sales in no order", false) {
            try $0.list("sales", where: [Sample.field("region", .in, .array([.string("north"), .string("south")]))])
        },
    ]

    @Test(arguments: basics + conditions + fields + roles + queries)
    func decidesAsDocumented(_ example: Case) throws {
        #expect(try example.decide(self) == example.allows)
    }
}
