import Testing

@testable import DocumentModel

/// Documents and queries in one small database.
struct QuerySample {
    let database = DatabaseName(project: "p", database: "d")

    var root: ParentName { ParentName(database) }

    func document(_ path: String, _ fields: [String: Value] = [:]) throws -> Document {
        Document(
            name: try DocumentName(database: database, path: path), fields: fields,
            createTime: Timestamp(microseconds: 1), updateTime: Timestamp(microseconds: 1))
    }

    /// Returns `c/00`, `c/01` … with the field `f`, or without it for nil.
    func documents(_ values: [Value?]) throws -> [Document] {
        try values.enumerated().map { index, value in
            try document("c/\(index / 10)\(index % 10)", value.map { ["f": $0] } ?? [:])
        }
    }

    func reference(_ path: String) -> Value { .reference("\(database.documentsRoot)/\(path)") }

    /// Returns the ids of the results, in order.
    func ids(_ query: Query, among documents: [Document]) throws -> [String] {
        try QueryPlan(query).results(among: documents.shuffled()).documents.map(\.name.id)
    }

    func query(_ filter: Query.Filter? = nil, orders: [Query.Order] = []) -> Query {
        Query(parent: root, collectionID: "c", filter: filter, orders: orders)
    }
}

extension FieldPath {
    static let f = FieldPath(key: "f")
    static let g = FieldPath(key: "g")
}
