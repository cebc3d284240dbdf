/// The methods of maps and of the differences between maps.
enum MapMethods {
    static func call(
        _ name: String, on map: RuleValue.Map, _ arguments: [RuleValue], _ counter: inout WorkCounter
    ) throws(OperationError) -> RuleValue {
        try counter.spend(elements: map.count ?? 1)
        switch name {
        case "size": return map.count.map { .integer(Int64($0)) } ?? .unknown(.anything)
        case "keys": return map.keys.map(RuleValue.strings) ?? .unknown(.anything)
        case "values":
            guard let keys = map.keys, let entries = map.entries else { return .unknown(.anything) }
            return .list(.built(keys.compactMap { entries[$0] }))
        case "get": return try value(of: arguments, in: map)
        case "diff":
            switch arguments.first {
            case .map(let other)?:
                guard map.count != nil, other.count != nil else { return .unknown(.anything) }
                return .mapDifference(map, other)
            default: throw OperationError("\"diff\" takes a map.")
            }
        default: throw .unsupported("method \"\(name)\"", on: .map(map))
        }
    }

    /// Calls a method of `new.diff(old)`.
    static func call(
        _ name: String, from old: RuleValue.Map, to new: RuleValue.Map, _ counter: inout WorkCounter
    ) throws(OperationError) -> RuleValue {
        let (old, new) = (old.entries ?? [:], new.entries ?? [:])
        try counter.spend(elements: old.count + new.count)
        func isEqual(_ key: String) -> Bool {
            guard let before = old[key], let after = new[key] else { return false }
            return before == after
        }
        let keys: [String]
        switch name {
        case "addedKeys": keys = new.keys.filter { old[$0] == nil }
        case "removedKeys": keys = old.keys.filter { new[$0] == nil }
        case "changedKeys": keys = new.keys.filter { old[$0] != nil && !isEqual($0) }
        case "unchangedKeys": keys = new.keys.filter(isEqual)
        case "affectedKeys": keys = new.keys.filter { !isEqual($0) } + old.keys.filter { new[$0] == nil }
        default: throw OperationError("A map difference has no method \"\(name)\".")
        }
        return .set(Set(keys.map(RuleValue.string)))
    }

    /// `get(key, default)`, where `key` may be a list of keys that lead into maps.
    private static func value(of arguments: [RuleValue], in map: RuleValue.Map) throws(OperationError) -> RuleValue {
        guard let key = arguments.first, let other = arguments.last else { return .null }
        let path: [String]
        switch key {
        case .string(let key): path = [key]
        case .list(let keys):
            path = keys.elements.compactMap { if case .string(let key) = $0 { key } else { nil } }
            guard path.count == keys.count else { throw OperationError("The keys of a map are strings.") }
        case .unknown: return .unknown(.anything)
        default: throw OperationError("The keys of a map are strings.")
        }
        var value = RuleValue.map(map)
        for key in path {
            switch value {
            case .map(let inner):
                guard let has = inner.hasKey(key) else { return .unknown(.anything) }
                guard has, let found = inner.value(of: key) else { return other }
                value = found
            case .unknown: return .unknown(.anything)
            default: return other
            }
        }
        return value
    }
}
