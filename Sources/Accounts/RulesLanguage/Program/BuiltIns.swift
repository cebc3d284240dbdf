/// The functions and methods of the language, with the numbers of arguments that they take.
enum BuiltIns {
    static let functions: [String: Int] = [
        "get": 1, "getAfter": 1, "exists": 1, "existsAfter": 1, "string": 1, "int": 1, "float": 1, "bool": 1, "path": 1,
        "debug": 1,
    ]

    static let namespaces: [Program.Namespace: [String: Int]] = [
        .math: ["abs": 1, "ceil": 1, "floor": 1, "isInfinite": 1, "isNaN": 1, "pow": 2, "round": 1, "sqrt": 1],
        .timestamp: ["date": 3, "value": 1],
        .duration: ["abs": 1, "time": 4, "value": 2],
        .latlng: ["value": 2],
        .hashing: ["crc32": 1, "crc32c": 1, "md5": 1, "sha256": 1],
    ]

    static let methods: [String: ClosedRange<Int>] = [
        // Strings and bytes
        "lower": 0...0, "matches": 1...1, "replace": 2...2, "split": 1...1, "toUtf8": 0...0, "trim": 0...0,
        "upper": 0...0, "toBase64": 0...0, "toHexString": 0...0, "size": 0...0,
        // Lists and sets
        "concat": 1...1, "hasAll": 1...1, "hasAny": 1...1, "hasOnly": 1...1, "join": 1...1, "removeAll": 1...1,
        "toSet": 0...0, "difference": 1...1, "intersection": 1...1, "union": 1...1,
        // Maps and their differences
        "diff": 1...1, "get": 2...2, "keys": 0...0, "values": 0...0, "addedKeys": 0...0, "affectedKeys": 0...0,
        "changedKeys": 0...0, "removedKeys": 0...0, "unchangedKeys": 0...0,
        // Times
        "date": 0...0, "day": 0...0, "dayOfWeek": 0...0, "dayOfYear": 0...0, "hours": 0...0, "minutes": 0...0,
        "month": 0...0, "nanos": 0...0, "seconds": 0...0, "time": 0...0, "toMillis": 0...0, "year": 0...0,
        // Points and paths
        "distance": 1...1, "latitude": 0...0, "longitude": 0...0, "bind": 1...1,
    ]
}
