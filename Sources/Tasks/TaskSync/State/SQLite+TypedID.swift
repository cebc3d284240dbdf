import SQLite
import TaskModel

extension SQLiteValue {
    /// The text of an id.
    static func id(_ id: some TypedID) -> SQLiteValue { .text(id.rawValue) }

    /// The text of an id, or null.
    static func id(_ id: (some TypedID)?) -> SQLiteValue { .optional(id?.rawValue) }
}

extension SQLiteStatement {
    /// The id in a column of text.
    func id<ID: TypedID>(_ column: Int32) -> ID { ID(text(column)) }

    /// The id in a column of text; nil for null.
    func optionalID<ID: TypedID>(_ column: Int32) -> ID? { optionalText(column).map { ID($0) } }
}
