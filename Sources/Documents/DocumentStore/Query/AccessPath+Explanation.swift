import DocumentModel

extension AccessPath {
    /// Returns the indexes that are read, each once, in no defined order.
    func indexes(for query: Query) -> [IndexUse] {
        let scans: [Scan] =
            switch self {
            case .nothing: []
            case .ordered(let scan, _, _): [scan]
            case .merged(let inputs): inputs.map(\.scan)
            case .gathered(let scans): scans
            }
        return Set(scans.map(\.properties)).sorted().map {
            IndexUse(isCollectionGroup: query.allDescendants, properties: $0)
        }
    }
}

extension Scan {
    fileprivate var properties: String {
        let direction = descending ? "DESC" : "ASC"
        guard case .field(let column) = column else { return "(__name__ \(direction))" }
        if let index = CompositeIndex(path: column) {
            let parts = index.parts.map { part in
                switch part {
                case .value(let path): "\(path) ASC"
                case .element(let path): "\(path) CONTAINS"
                case .order(let path, let inverted): "\(path) \(inverted == descending ? "ASC" : "DESC")"
                }
            }
            return "(\(parts.joined(separator: ", ")), __name__ \(direction))"
        }
        let path = column.dropFirst().withUnsafeBytes { KeyBytes.decodePath($0) } ?? ""
        let field = (try? FieldPath(path.split(separator: "/").map(String.init)).description) ?? path
        let kind = column.first == UInt8(ascii: "@") ? "CONTAINS" : range.singleKey == nil ? direction : "ASC"
        return "(\(field) \(kind), __name__ \(direction))"
    }
}
