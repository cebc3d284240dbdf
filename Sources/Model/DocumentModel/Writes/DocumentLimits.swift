/// The limits of a stored document (https://firebase.google.com/docs/firestore/quotas), checked
/// when it is written.
///
/// Map keys are compared by canonical equivalence, so "é" written as one scalar or as two is the
/// same field; the first spelling is kept.
package enum DocumentLimits {
    /// The maximum size of a document in bytes, as counted by `size(of:fields:)`.
    package static let maximumSize = 1_048_576
    /// The maximum size of one string or bytes value.
    package static let maximumValueSize = 1_048_487
    /// The maximum nesting depth of maps and arrays.
    package static let maximumDepth = 20
    package static let maximumDimension = 2048
    /// The maximum number of transforms of one document in one commit.
    package static let maximumTransforms = 500

    /// Checks fields against the limits.
    ///
    /// - Throws: `WriteError` with production's message for the first limit that `fields` exceeds.
    package static func check(_ fields: [String: Value], of name: DocumentName) throws(WriteError) {
        for (key, value) in fields {
            try checkName(key)
            try check(value, property: key, depth: 0, inArray: false)
        }
        let size = size(of: name, fields: fields)
        guard size <= maximumSize else {
            throw WriteError(
                .invalidArgument,
                "Document '\(name)' cannot be written because its size (\(grouped(size)) bytes) exceeds the maximum allowed "
                    + "size of \(grouped(maximumSize)) bytes.")
        }
    }

    package static func check(transformCount count: Int) throws(WriteError) {
        guard count <= maximumTransforms else {
            throw WriteError(
                .invalidArgument, "A document takes up to \(maximumTransforms) field transforms. Received: \(count)")
        }
    }

    /// Throws for names that only cursors may contain.
    package static func checkWritable(_ name: DocumentName) throws(WriteError) {
        guard let reserved = name.segments.first(where: { DocumentName.isReserved($0) }) else { return }
        throw WriteError(.invalidArgument, "Resource id \"\(reserved)\" is invalid because it is reserved.")
    }

    /// Throws for paths that no stored field can have.
    package static func checkWritable(_ path: FieldPath) throws(WriteError) {
        if let reserved = path.segments.first(where: { DocumentName.isReserved($0[...]) }) {
            throw WriteError(.invalidArgument, "Invalid reserved name in field path \(reserved)")
        }
        guard path.segments.reduce(0, { $0 + $1.utf8.count + 1 }) <= 1501 else {
            throw WriteError(.invalidArgument, "property path is longer than 1500 bytes.")
        }
        guard path.segments.count <= maximumDepth + 1 else {
            throw WriteError(.invalidArgument, "Property \(path.segments[0]) contains an invalid nested entity.")
        }
    }

    private static func checkName(_ key: String) throws(WriteError) {
        guard !key.isEmpty else { throw WriteError(.invalidArgument, "The property.name is the empty string.") }
        guard key.utf8.count <= 1500 else {
            throw WriteError(.invalidArgument, "The property.name is longer than 1500 bytes.")
        }
        guard !DocumentName.isReserved(key[...]) else {
            throw WriteError(.invalidArgument, "field name \(key) is reserved")
        }
    }

    private static func check(_ value: Value, property: String, depth: Int, inArray: Bool) throws(WriteError) {
        switch value {
        case .null, .boolean, .integer, .double: break
        case .timestamp(let time):
            guard time.isValid else {
                throw WriteError(.invalidArgument, "Property \(property) has an invalid timestamp.")
            }
        case .string(let value): try check(value.utf8.count, property: property)
        case .bytes(let value): try check(value.count, property: property)
        case .reference(let value):
            // Clients cannot read a document with an invalid reference.
            do throws(NameError) { _ = try DocumentName(parsing: value) } catch {
                throw WriteError(.invalidArgument, "Property \(property) has an invalid reference. \(error.message)")
            }
        case .geoPoint(let point):
            guard (-90.0...90.0).contains(point.latitude) else {
                throw outside("latitude", point.latitude, "-90.0 to 90.0")
            }
            guard (-180.0...180.0).contains(point.longitude) else {
                throw outside("longitude", point.longitude, "-180.0 to 180.0")
            }
        case .array(let elements):
            guard !inArray else { throw WriteError(.invalidArgument, "Nested arrays are not allowed") }
            try checkDepth(depth, property: property)
            for element in elements { try check(element, property: property, depth: depth + 1, inArray: true) }
        case .map(let fields):
            try checkDepth(depth, property: property)
            if fields["__type__"] != nil {
                try checkVector(value)
            } else {
                for (key, value) in fields {
                    try checkName(key)
                    try check(value, property: property, depth: depth + 1, inArray: false)
                }
            }
        }
    }

    private static func checkDepth(_ depth: Int, property: String) throws(WriteError) {
        guard depth < maximumDepth else {
            throw WriteError(.invalidArgument, "Property \(property) contains an invalid nested entity.")
        }
    }

    private static func check(_ size: Int, property: String) throws(WriteError) {
        guard size <= maximumValueSize else {
            throw WriteError(
                .invalidArgument, "The value of property \"\(property)\" is longer than \(maximumValueSize) bytes.")
        }
    }

    private static func checkVector(_ value: Value) throws(WriteError) {
        guard let elements = value.vectorElements else {
            throw WriteError(.invalidArgument, "field name __type__ is reserved")
        }
        guard (1...maximumDimension).contains(elements.count) else {
            throw WriteError(
                .invalidArgument, "Vectors must have 1 to \(maximumDimension) dimensions. Received: \(elements.count)")
        }
    }

    private static func outside(_ what: String, _ degrees: Double, _ range: String) -> WriteError {
        WriteError(.invalidArgument, "Geo point \(what) '\(degrees)' outside permitted range \(range).")
    }

    private static func grouped(_ number: Int) -> String {
        var digits = String(number)
        var groups: [Substring] = []
        while digits.count > 3 {
            groups.insert(digits.suffix(3), at: 0)
            digits.removeLast(3)
        }
        return ([digits[...]] + groups).joined(separator: ",")
    }
}
