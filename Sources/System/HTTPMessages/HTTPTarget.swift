/// The target of a request line, parsed strictly: a target with illegal bytes, broken escapes, NUL
/// or text that is not UTF-8 is invalid.
package struct HTTPTarget: Hashable, Sendable, CustomStringConvertible {
    /// The path as it was sent. Signatures are computed over `rawPath` and `rawQuery`.
    package let rawPath: String
    package let rawQuery: String?

    /// The decoded path. An escaped slash becomes a slash; use `segments` to tell them apart.
    package let path: String

    /// The parts between slashes, each decoded; `/a//b/` is `a`, ``, `b`, ``. They may include `.`
    /// and `..`.
    package let segments: [String]

    /// The items of the query in order. A `+` in them is decoded to a space.
    package let query: [QueryItem]

    package struct QueryItem: Hashable, Sendable {
        package let name: String
        /// The value, or nil for an item without `=`, as in S3's `?uploads`.
        package let value: String?
    }

    /// Parses the origin form (`/path?query`), the absolute form, whose authority is dropped, and
    /// `*`.
    package init?(_ text: String) {
        guard !text.isEmpty, text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "#") }) else {
            return nil
        }
        var rest = text[...]
        if !rest.hasPrefix("/"), rest != "*" {
            guard let scheme = ["http://", "https://"].first(where: { rest.hasPrefix($0) }) else { return nil }
            rest = rest.dropFirst(scheme.count)
            rest = rest.firstIndex(where: { $0 == "/" || $0 == "?" }).map { rest[$0...] } ?? ""
        }
        let mark = rest.utf8.firstIndex(of: UInt8(ascii: "?"))
        let rawPath = rest[..<(mark ?? rest.endIndex)]
        self.rawPath = rawPath.isEmpty ? "/" : String(rawPath)
        rawQuery = mark.map { String(rest[rest.index(after: $0)...]) }
        guard let path = PercentEncoding.decode(self.rawPath), let query = Self.items(of: rawQuery ?? "") else {
            return nil
        }
        self.path = path
        self.query = query
        var segments: [String] = []
        let parts = self.rawPath.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        for part in parts.dropFirst() {
            guard let segment = PercentEncoding.decode(Substring(part)) else { return nil }
            segments.append(segment)
        }
        self.segments = segments
    }

    /// The value of the first item with that name; empty for an item without `=`.
    package subscript(query name: String) -> String? {
        query.first { $0.name == name }.map { $0.value ?? "" }
    }

    /// Returns the items of a query or of a form body (`application/x-www-form-urlencoded`), or nil
    /// if it is malformed.
    package static func items(of text: String) -> [QueryItem]? {
        var items: [QueryItem] = []
        for part in text.split(separator: "&") {
            let equals = part.firstIndex(of: "=")
            guard let name = PercentEncoding.decode(part[..<(equals ?? part.endIndex)], plusIsSpace: true) else {
                return nil
            }
            var value: String?
            if let equals {
                value = PercentEncoding.decode(part[part.index(after: equals)...], plusIsSpace: true)
                if value == nil { return nil }
            }
            items.append(QueryItem(name: name, value: value))
        }
        return items
    }

    package var description: String { rawQuery.map { "\(rawPath)?\($0)" } ?? rawPath }
}
