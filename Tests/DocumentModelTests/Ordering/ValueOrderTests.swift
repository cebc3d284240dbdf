import Testing

@testable import DocumentModel

@Suite struct ValueOrderTests {
    private static func vector(_ elements: Double...) -> Value {
        .map(["__type__": .string("__vector__"), "value": .array(elements.map { .double($0) })])
    }

    private static let prefix = "projects/p/databases/d/documents"

    /// The values of §3.4 of the contract; the values in one row are equal.
    private static let ascending: [[Value]] = [
        [.null],
        [.boolean(false)], [.boolean(true)],
        [.double(.nan), .double(-.nan)],
        [.double(-.infinity)], [.double(-9.3e18)], [.integer(.min), .double(-9.223372036854775808e18)],
        [.integer(.min + 1)],
        [.integer(-1), .double(-1)], [.double(-0.5)], [.integer(0), .double(0), .double(-0.0)],
        [.double(.leastNonzeroMagnitude)],
        [.integer(3), .double(3)], [.double(9007199254740992), .integer(9007199254740992)],
        [.integer(9007199254740993)],
        [.integer(9223372036854774784), .double(9223372036854774784)], [.integer(.max - 1)], [.integer(.max)],
        [.double(9.223372036854775808e18)], [.double(.infinity)],
        [.timestamp(Timestamp(microseconds: -1))], [.timestamp(Timestamp(microseconds: 0))],
        [.string("")], [.string("\u{0}")], [.string("a")], [.string("a\u{0}")], [.string("ab")], [.string("e\u{301}")],
        [.string("\u{e9}")], [.string("\u{FFFD}")], [.string("😀")],
        [.bytes([])], [.bytes([0])], [.bytes([0, 0])], [.bytes([0, 255])], [.bytes([1])], [.bytes([255])],
        [.reference("\(prefix)/c/__id-9223372036854775808__")], [.reference("\(prefix)/c/__id9__")],
        [.reference("\(prefix)/c/__id10__")], [.reference("\(prefix)/c/a")], [.reference("\(prefix)/c/a/x/y")],
        [.reference("\(prefix)/c/a-b")], [.reference("\(prefix)/c-d/a")],
        [.reference("projects/q/databases/d/documents/a/b")],
        [.geoPoint(GeoPoint(latitude: -1, longitude: 5))],
        [.geoPoint(GeoPoint(latitude: 0, longitude: -1)), .geoPoint(GeoPoint(latitude: -0.0, longitude: -1))],
        [.geoPoint(GeoPoint(latitude: 0, longitude: 0))],
        [.array([])], [.array([.null])], [.array([.integer(1)]), .array([.double(1)])], [.array([.integer(1), .null])],
        [.array([.integer(2)])], [.array([.string("")])], [.array([.map([:])])],
        [vector()], [vector(9)], [vector(-1, 5)], [vector(1, 1)], [vector(1, 2)],
        [.map([:])], [.map(["a": .null])], [.map(["a": .null, "b": .null])], [.map(["a": .integer(1)])],
        [.map(["a": .integer(1), "aa": .null])], [.map(["aa": .null])], [.map(["b": .null])],
    ]

    @Test func `the order is the one of the contract, by comparison and by key`() {
        for (i, row) in Self.ascending.enumerated() {
            for (j, other) in Self.ascending.enumerated() {
                for a in row {
                    for b in other {
                        #expect(Value.compare(a, b).signum() == (i - j).signum(), "\(a) \(b)")
                        #expect(a.isEqual(to: b) == (i == j))
                        let (first, second) = (OrderingKey(a), OrderingKey(b))
                        #expect((first < second) == (i < j) && (first == second) == (i == j), "\(a) \(b)")
                    }
                }
            }
        }
    }

    @Test func `strict equality distinguishes values that are equal in queries`() {
        #expect(Value.integer(3) != .double(3))
        #expect(Value.double(0) != .double(-0.0))
        #expect(Value.double(.nan) == .double(-.nan))
        #expect(Value.string("\u{e9}") != .string("e\u{301}"))
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func `the order is total, and the keys of ascending and descending parts agree with it`(seed: UInt64) {
        var generator = ValueGenerator(seed: seed)
        let values = (0..<60).map { _ in generator.value() }
        let keys = values.map { OrderingKey($0) }
        var descending: [OrderingKey] = []
        for value in values {
            var key = OrderingKey()
            key.append(value, descending: true)
            key.append(.boolean(true))
            descending.append(key)
        }
        for (i, a) in values.enumerated() {
            for (j, b) in values.enumerated() {
                let answer = Value.compare(a, b).signum()
                #expect(answer == -Value.compare(b, a).signum(), "seed \(seed): \(a) \(b)")
                let byKey = order(keys[i], keys[j])
                #expect(byKey == answer, "seed \(seed): \(a) \(b)")
                #expect(order(descending[i], descending[j]) == -answer, "seed \(seed): \(a) \(b)")
                if a == b { #expect(answer == 0 && a.hashValue == b.hashValue, "seed \(seed): \(a)") }
                for c in values where answer <= 0 && Value.compare(b, c) <= 0 {
                    #expect(Value.compare(a, c) <= 0, "seed \(seed): \(a) \(b) \(c)")
                }
            }
        }
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func `keys cut short never contradict the order`(seed: UInt64) {
        var generator = ValueGenerator(seed: seed)
        let values = (0..<60).map { _ in generator.value() }
        for limit in [1, 2, 5, 9, 14] {
            let keys = values.map { OrderingKey($0, limit: limit) }
            for (i, a) in values.enumerated() {
                for (j, b) in values.enumerated() {
                    let byKey = order(keys[i], keys[j])
                    if byKey == 0 {
                        let answer = Value.compare(a, b)
                        #expect(answer == 0 || keys[i].isTruncated && keys[j].isTruncated, "seed \(seed): \(a) \(b)")
                    } else {
                        #expect(byKey == Value.compare(a, b).signum(), "seed \(seed): \(a) \(b)")
                    }
                }
            }
        }
    }

    @Test func `a key has at most the limit and says when it was cut`() {
        let long = OrderingKey(.string(String(repeating: "x", count: 5000)))
        #expect(long.bytes.count == 1500 && long.isTruncated)
        let short = OrderingKey(.string(String(repeating: "x", count: 1497)))
        #expect(short.bytes.count == 1500 && !short.isTruncated)
    }

    @Test func `a cut key of a large map is the beginning of the whole one`() {
        var generator = ValueGenerator(seed: 7)
        for count in [1, 10, 40, 400, 2000] {
            var fields: [String: Value] = ["": .null]
            for number in 0..<count { fields[String(number, radix: 36)] = generator.value() }
            let whole = OrderingKey(.map(fields), limit: 1 << 20)
            #expect(!whole.isTruncated)
            for limit in [0, 1, 2, 3, 4, 5, 8, 9, 80, 300, whole.bytes.count - 1] where limit < whole.bytes.count {
                let key = OrderingKey(.map(fields), limit: limit)
                #expect(key.isTruncated && key.bytes.elementsEqual(whole.bytes.prefix(limit)), "\(count) \(limit)")
            }
        }
    }

    @Test func `the range of a type holds its values and no other's`() {
        for typeClass in TypeClass.allCases {
            for isDescending in [false, true] {
                let (lower, upper) = OrderingKey.range(of: typeClass, descending: isDescending)
                for value in Self.ascending.joined() {
                    var key = OrderingKey()
                    key.append(value, descending: isDescending)
                    let inside = UTF8Order.compare(lower, key.bytes) <= 0 && UTF8Order.compare(key.bytes, upper) < 0
                    #expect(inside == (value.typeClass == typeClass))
                }
            }
        }
    }

    @Test func `names sort by segment, not by character`() throws {
        let database = DatabaseName(project: "p", database: "d")
        let paths = ["c/__id-1__", "c/__id2__", "c/a", "c/a/x/y", "c/a!", "c/a-b", "c-d/a"]
        let names = try paths.map { path throws in try DocumentName(database: database, path: path) }
        #expect(names.reversed().sorted() == names)
        #expect(names.reversed().sorted { OrderingKey(name: $0) < OrderingKey(name: $1) } == names)
    }
}
