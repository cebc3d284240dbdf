/// The methods of paths.
enum PathMethods {
    static func call(
        _ name: String, on segments: [String], _ arguments: [RuleValue]
    ) throws(OperationError) -> RuleValue {
        guard name == "bind" else { throw .unsupported("method \"\(name)\"", on: .path(segments)) }
        guard case .map(let map)? = arguments.first, let values = map.entries else {
            throw OperationError("\"bind\" takes a map.")
        }
        var bound: [String] = []
        for segment in segments {
            guard segment.hasPrefix("$") else {
                bound.append(segment)
                continue
            }
            guard case .string(let text)? = values[String(segment.dropFirst())] else {
                throw OperationError("\"bind\" has no string for \"\(segment)\".")
            }
            bound.append(text)
        }
        return .path(bound)
    }
}
