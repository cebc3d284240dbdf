import DocumentModel
import RulesLanguage
import Testing

/// The operators, functions and methods of conditions.
@Suite struct ConditionTests {
    @Test(arguments: [
        "true", "!false", "1 == 1.0", "'a' == \"a\"", "null == null", "1 != '1'", "2 > 1", "'b' > 'a'", "-1 < 0",
        "1 + 2 * 3 == 7", "(1 + 2) * 3 == 9", "7 / 2 == 3", "7 % 3 == 1", "7.0 / 2 == 3.5", "'a' + 'b' == 'ab'",
        "true || false && false", "1 in [1, 2]", "!(3 in [1, 2])", "'a' in {'a': 1}", "2 in [1, 2].toSet()",
        "true ? true : false", "false || (1 / 0 == 1 || true)", "!(1 / 0 == 1 && false)", "0x10 == 16", "1e3 == 1000.0",
        "[1, 2] == [1, 2]", "[1, 2] != [2, 1]", "{'a': 1} == {'a': 1}", "[1, 2][1] == 2", "[1, 2, 3][0:2] == [1, 2]",
        "'hello'[1] == 'e'", "'hello'[1:3] == 'el'", "{'a': {'b': 2}}.a.b == 2", "{'a': 2}['a'] == 2",
        "1 is int", "1 is number", "1.5 is float", "!(1 is float)", "'x' is string", "[] is list", "{} is map",
        "true is bool", "/a/b is path", "request.time is timestamp", "duration.value(1, 'h') is duration",
        "latlng.value(1, 2) is latlng", "b'a' is bytes", "!(null is string)", "[1].toSet() is set",
    ])
    func operators(_ condition: String) throws {
        #expect(try Sample.allowsGet(condition))
    }

    @Test(arguments: [
        "'Abc'.lower() == 'abc'", "'Abc'.upper() == 'ABC'", "'  a '.trim() == 'a'", "'héllo'.size() == 5",
        "'héllo'.toUtf8().size() == 6", "'a,b'.split(',') == ['a', 'b']", "'foo'.replace('o', 'a') == 'faa'",
        "'user@domain.com'.matches('.*@domain[.]com')", "!'user@domain.com'.matches('domain')",
        "'banana'.matches('(an|b|a)+')", "b'ab'.toBase64() == 'YWI='", "b'ab'.toHexString() == '6162'",
        "['a', 'b'].join('-') == 'a-b'", "[1, 2].hasAll([1])", "[1, 2].hasAny([2, 3])", "[1].hasOnly([1, 2])",
        "!([1, 3].hasOnly([1, 2]))", "[1].concat([2]) == [1, 2]", "[1, 2, 1].removeAll([1]) == [2]", "[].size() == 0",
        "[1, 1].toSet().size() == 1", "[1].toSet().union([2].toSet()).size() == 2",
        "[1, 2].toSet().intersection([2].toSet()) == [2].toSet()",
        "[1, 2].toSet().difference([2].toSet()) == [1].toSet()",
        "{'b': 1, 'a': 2}.keys() == ['a', 'b']", "{'b': 1, 'a': 2}.values() == [2, 1]", "{'a': 1}.size() == 1",
        "{'a': 1}.get('b', 5) == 5", "{'a': {'b': 3}}.get(['a', 'b'], 0) == 3",
        "{'a': 1, 'b': 2}.diff({'b': 3, 'c': 4}).addedKeys() == ['a'].toSet()",
        "{'a': 1, 'b': 2}.diff({'b': 3, 'c': 4}).changedKeys() == ['b'].toSet()",
        "{'a': 1, 'b': 2}.diff({'b': 3, 'c': 4}).removedKeys() == ['c'].toSet()",
        "{'a': 1, 'b': 2}.diff({'b': 3, 'c': 4}).affectedKeys().hasOnly(['a', 'b', 'c'])",
        "{'a': 1, 'b': 2}.diff({'a': 1, 'c': 4}).unchangedKeys() == ['a'].toSet()",
        "math.abs(-3) == 3", "math.ceil(1.2) == 2", "math.floor(-1.2) == -2", "math.round(1.5) == 2",
        "math.pow(2, 10) == 1024.0", "math.sqrt(4) == 2.0", "math.isNaN(0.0 / 0.0)", "math.isInfinite(1.0 / 0)",
        "int('12') == 12", "int(2.9) == 2", "float('1.5') == 1.5", "string(12) == '12'", "bool('true')",
        "path('/a/b')[1] == 'b'", "debug(1) == 1",
        "hashing.md5('a').toHexString() == '0cc175b9c0f1b6a831c399e269772661'",
        "hashing.sha256('').toHexString().matches('e3b0c442.*')", "hashing.crc32('a').toHexString() == 'e8b7be43'",
        "hashing.crc32c('a').toHexString() == 'c1d04330'",
    ])
    func methods(_ condition: String) throws {
        #expect(try Sample.allowsGet(condition))
    }

    @Test(arguments: [
        "timestamp.date(2024, 2, 29).month() == 2", "timestamp.date(2024, 2, 29).dayOfYear() == 60",
        "timestamp.date(2026, 11, 28).dayOfWeek() == 6", "timestamp.value(1500).toMillis() == 1500",
        "timestamp.value(-1).nanos() == 999000000", "timestamp.date(1969, 12, 31).day() == 31",
        "timestamp.date(2026, 1, 2) - timestamp.date(2026, 1, 1) == duration.value(1, 'd')",
        "timestamp.date(2026, 1, 1) + duration.time(25, 30, 0, 0) > timestamp.date(2026, 1, 2)",
        "(timestamp.date(2026, 1, 1) + duration.time(1, 30, 15, 0)).minutes() == 30",
        "(timestamp.date(2026, 1, 1) + duration.time(1, 30, 15, 0)).time() == duration.value(5415, 's')",
        "duration.value(90, 'm').seconds() == 5400", "duration.abs(-duration.value(1, 's')) == duration.value(1, 's')",
        "duration.value(1, 'w') == duration.value(7, 'd')", "request.time < timestamp.date(2100, 1, 1)",
        "latlng.value(52.52, 13.405).distance(latlng.value(48.137, 11.575)) > 500000",
        "latlng.value(1, 2).longitude() == 2.0",
    ])
    func times(_ condition: String) throws {
        #expect(try Sample.allowsGet(condition))
    }

    /// None of these has a value, so none allows anything.
    @Test(arguments: [
        "1", "null", "1 / 0 == 0", "9223372036854775807 + 1 > 0", "1 < 'a'", "resource.data.missing == 1",
        "resource.nothing", "request.resource.data.x == 1", "[1][1] == 1", "'abc'[5] == 'a'", "{'a': 1}['b'] == 1",
        "int('x') == 1", "timestamp.date(2025, 2, 29).day() == 29", "[1][0:3] == [1]",
        "latlng.value(100, 0).latitude() == 100.0", "duration.value(1, 'y') == duration.value(365, 'd')", "!1",
        "true && 1", "-'a' == 'a'", "'a' in 'abc'", "path(1) == /a", "get(/a/b).data.x == 1",
        "exists(/databases/other/documents/docs/two)", "/a/$([1]) == /a/b", "{1: 2}.size() == 1", "[1].join(1) == '1'",
    ])
    func errorsDeny(_ condition: String) throws {
        #expect(try !Sample.allowsGet(condition))
    }

    @Test func accountsAndResources() throws {
        let owned: [String: Value] = ["owner": .string("ann"), "tags": .array([.string("a")]), "n": .integer(3)]
        for condition in [
            "request.auth != null", "request.auth.uid == 'ann'", "request.auth.token.email == 'ann@example.org'",
            "request.auth.token.admin == true", "resource.data.owner == request.auth.uid", "'a' in resource.data.tags",
            "'owner' in resource.data", "resource.id == 'one'", "id == 'one'", "database == '(default)'",
            "resource.data.keys().hasOnly(['owner', 'tags', 'n'])", "resource.data.n > 2", "request.method == 'get'",
            "resource['data']['n'] == 3", "request.path == /databases/(default)/documents/docs/one",
            "resource.__name__ == request.path", "resource.data.get('missing', 1) == 1",
        ] {
            #expect(try Sample.allowsGet(condition, owned), "\(condition)")
        }
        #expect(try !Sample.allowsGet("request.auth.uid == 'ann'", owned, by: nil))
        #expect(try Sample.allowsGet("request.auth == null", owned, by: nil))
        #expect(try Sample.allowsGet("resource == null", nil))
        #expect(try !Sample.allowsGet("resource.data.owner == 'ann'", nil))
    }

    @Test func otherDocuments() throws {
        let others: [String: [String: Value]] = ["users/ann": ["role": .string("editor")]]
        for condition in [
            "get(/databases/$(database)/documents/users/$(request.auth.uid)).data.role == 'editor'",
            "exists(/databases/$(database)/documents/users/ann)", "!exists(/databases/$(database)/documents/users/bob)",
            "get(/databases/$(database)/documents/users/ann).id == 'ann'",
            "existsAfter(/databases/$(database)/documents/users/ann)",
        ] {
            #expect(try Sample.allowsGet(condition, others: others), "\(condition)")
        }
        let rules = try Sample.rules("exists(/databases/$(database)/documents/users/ann)")
        let request = RulesRequest(.get, try Sample.name("docs/one"), by: nil, at: Sample.time)
        let needed = NeededDocument(try Sample.name("users/ann"), after: false)
        #expect(rules.decide(request) { _ in nil } == .needs(needed))
    }

    @Test func functionsSeeTheirScope() throws {
        let functions = """
            function isSignedIn() { return request.auth != null; }
            function isOwner(owner) { let user = request.auth.uid; return isSignedIn() && owner == user; }
            function inDatabase() { return database == '(default)'; }
            """
        let owned: [String: Value] = ["owner": .string("ann")]
        #expect(try Sample.allowsGet("isOwner(resource.data.owner)", owned, functions: functions))
        #expect(try !Sample.allowsGet("isOwner(resource.data.owner)", owned, by: nil, functions: functions))
        #expect(try Sample.allowsGet("inDatabase()", functions: functions))
    }
}
