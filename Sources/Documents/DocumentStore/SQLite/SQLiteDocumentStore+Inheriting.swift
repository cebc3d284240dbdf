import SQLite

extension SQLiteDocumentStore {
    /// Updates documents that were stored before a field became inherited, once.
    func alignInheritedFields() async throws {
        for field in configuration.inheritedFields.sorted() {
            let setting = "inherits \(field)"
            guard try await writer.withExclusiveAccess({ try $0.setting(setting) }) == 0 else { continue }
            try await alignInherited(field)
            try await writer.withExclusiveAccess { tables in
                try tables.sqlite.execute(
                    "INSERT OR REPLACE INTO setting VALUES(?,1)", [.text(setting)])
            }
        }
    }
}
