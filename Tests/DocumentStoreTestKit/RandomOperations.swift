package import DocumentModel
package import DocumentStore

/// A small random number generator whose sequence depends only on its seed (SplitMix64).
package struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) {
        state = seed &* 0x9E37_79B9_7F4A_7C15 &+ 1
    }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }
}

/// Random writes and queries with few names and few values, so that they often concern the same
/// documents.
package struct RandomOperations: Sendable {
    private var generator: SeededGenerator
    private let database: DatabaseName

    package init(seed: UInt64, database: DatabaseName) {
        generator = SeededGenerator(seed: seed)
        self.database = database
    }

    package mutating func number(below limit: Int) -> Int { Int.random(in: 0..<limit, using: &generator) }

    package mutating func name() throws -> DocumentName {
        let collection = pick(["a", "a", "a", "b", "a/1/c", "a/2/c", "b/1/c/2/d"])
        return try DocumentName(database: database, path: "\(collection)/\(number(below: 7))")
    }

    package mutating func value() -> Value {
        let long = String(repeating: "long", count: 30)
        return pick([
            .null, .boolean(false), .boolean(true), .integer(0), .integer(1), .integer(2), .integer(.max), .double(1),
            .double(-0.0), .double(1.5), .double(.nan), .double(0x1p63), .string(""), .string("x"),
            .string("é"), .string(long + "1"), .string(long + "2"), .bytes([]), .bytes([0, 255]),
            .timestamp(Timestamp(microseconds: 5)), .geoPoint(GeoPoint(latitude: 1, longitude: 2)),
            .reference("\(database.documentsRoot)/a/1"), .array([]), .array([.integer(1), .string("x"), .null]),
            .array([.double(1), .double(.nan)]), .map([:]), .map(["x": .integer(1)]), .map(["x": .string("x")]),
        ])
    }

    package mutating func fields() -> [String: Value] {
        var fields: [String: Value] = [:]
        for key in ["x", "y", "z"] where number(below: 3) > 0 { fields[key] = value() }
        return fields
    }

    package mutating func write() throws -> Write {
        let name = try name()
        let precondition: Precondition? = pick([nil, nil, nil, nil, .exists(true), .exists(false)])
        switch number(below: 10) {
        case 0, 1: return Write(.delete(name), precondition: precondition)
        case 2: return Write(.verify(name), precondition: precondition)
        case 3, 4:
            return Write(
                .update(name, fields: fields()), mask: [FieldPath(key: "x"), try FieldPath(["y", "x"])],
                precondition: precondition)
        case 5:
            let transform: FieldTransform.Operation = pick([
                .increment(.integer(1)), .maximum(.double(1)), .appendMissingElements([.integer(1), .null]),
                .removeAllFromArray([.double(1)]),
            ])
            let transforms = [FieldTransform(FieldPath(key: "x"), transform)]
            return Write(.update(name, fields: [:]), mask: [], transforms: transforms, precondition: precondition)
        default: return Write(.update(name, fields: fields()), precondition: precondition)
        }
    }

    package mutating func commit() throws -> [Write] {
        var writes: [Write] = []
        for _ in 0...number(below: 3) { writes.append(try write()) }
        return writes
    }

    package mutating func query(forListening: Bool = false) throws -> Query {
        var query = Query(parent: ParentName(database), collectionID: pick(["a", "a", "a", "b", "c"]))
        switch number(below: 8) {
        case 0: query.allDescendants = true
        case 1 where !forListening:
            query.collectionID = nil
            query.allDescendants = true
        case 2: query.parent = ParentName(try DocumentName(database: database, path: "a/1"))
        default: break
        }
        if forListening, query.allDescendants { query.parent = ParentName(database) }
        query.filter = pick([nil, try filter(), try filter(), try filter()])
        for path in ["x", "y"] where number(below: 4) == 0 {
            query.orders.append(Query.Order(FieldPath(key: path), descending: number(below: 2) == 0))
        }
        if number(below: 6) == 0 { query.orders.append(Query.Order(.documentName, descending: number(below: 2) == 0)) }
        if number(below: 3) == 0 { query.limit = Int32(number(below: 6)) }
        if number(below: 5) == 0 { query.offset = Int32(number(below: 3)) }
        if query.orders.first.map({ !$0.path.isDocumentName }) ?? false, number(below: 3) == 0 {
            query.start = Query.Cursor([value()], before: number(below: 2) == 0)
        }
        if query.orders.first.map({ !$0.path.isDocumentName }) ?? false, number(below: 4) == 0 {
            query.end = Query.Cursor([value()], before: number(below: 2) == 0)
        }
        if query.start == nil, query.end == nil, number(below: 3) == 0 { try cutByName(&query) }
        if !forListening, number(below: 5) == 0 {
            query.projection = pick([[], [FieldPath(key: "x")], [.documentName]])
        }
        return query
    }

    /// Sets cursors with a value for every order, as clients create them from a document.
    private mutating func cutByName(_ query: inout Query) throws {
        guard let plan = try? QueryPlan(query) else { return }
        for isStart in [true, false] where number(below: 2) == 0 {
            var values: [Value] = []
            for order in plan.orders {
                values.append(order.path.isDocumentName ? .reference(try name().description) : value())
            }
            let cursor = Query.Cursor(values, before: number(below: 2) == 0)
            if isStart { query.start = cursor } else { query.end = cursor }
        }
    }

    package mutating func listing() -> DocumentListing {
        var listing = DocumentListing(
            parent: ParentName(database), collectionID: pick(["", "a", "a", "b"]), pageSize: Int32(number(below: 4)),
            showMissing: number(below: 2) == 0)
        if !listing.showMissing, !listing.collectionID.isEmpty, number(below: 2) == 0 {
            listing.orders = [Query.Order(FieldPath(key: "x"), descending: number(below: 2) == 0)]
        }
        return listing
    }

    private mutating func filter(depth: Int = 0) throws -> Query.Filter {
        let path = pick([FieldPath(key: "x"), FieldPath(key: "x"), FieldPath(key: "y"), try FieldPath(["z", "x"])])
        switch number(below: depth < 2 ? 14 : 11) {
        case 0: return .field(path, .lessThan, value())
        case 1: return .field(path, .greaterThanOrEqual, value())
        case 2: return .field(path, .notEqual, value())
        case 3: return .field(path, .arrayContains, value())
        case 4: return .field(path, .in, .array([value(), value()]))
        case 5: return .field(path, .arrayContainsAny, .array([value(), value()]))
        case 6: return .unary(path, pick([.isNull, .isNaN, .isNotNull, .isNotNaN]))
        case 7:
            return .field(
                .documentName, pick([.equal, .lessThan, .greaterThanOrEqual]), .reference(try name().description))
        case 11, 12: return .and([try filter(depth: depth + 1), try filter(depth: depth + 1)])
        case 13: return .or([try filter(depth: depth + 1), try filter(depth: depth + 1)])
        default: return .field(path, .equal, value())
        }
    }

    private mutating func pick<Element>(_ elements: [Element]) -> Element {
        elements[number(below: elements.count)]
    }
}
