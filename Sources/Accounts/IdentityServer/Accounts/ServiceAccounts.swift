/// A key with which a program of an administrator's proves itself. The server has its public half.
package struct ServiceAccountKey: Sendable, Hashable {
    package let keyID: String
    /// The name of the account, in the form of an e-mail address.
    package let email: String
    package let modulus: [UInt8]
    package let exponent: [UInt8]
    package let label: String
    /// The time of creation in seconds since 1970.
    package let createdAt: Int64
}

/// The keys of administrators' programs.
struct ServiceAccounts: Sendable {
    let database: any AccountDatabase

    func add(_ key: ServiceAccountKey) async throws {
        try await database.transaction { database in
            try database.execute(
                "INSERT INTO service_account(key_id, email, modulus, exponent, label, created_at) VALUES(?,?,?,?,?,?)",
                [
                    .text(key.keyID), .text(key.email), .blob(key.modulus), .blob(key.exponent), .text(key.label),
                    .integer(key.createdAt),
                ])
            try database.notifyServers()
        }
    }

    func all() async throws -> [ServiceAccountKey] {
        try await database.read { database in
            var keys: [ServiceAccountKey] = []
            let sql =
                "SELECT key_id, email, modulus, exponent, label, created_at FROM service_account ORDER BY created_at"
            try database.query(sql) { row in
                keys.append(
                    ServiceAccountKey(
                        keyID: row.text(0), email: row.text(1), modulus: row.bytes(2), exponent: row.bytes(3),
                        label: row.text(4), createdAt: row.int64(5)))
            }
            return keys
        }
    }

    /// Removes a key. Returns false if there is none.
    func remove(_ keyID: String) async throws -> Bool {
        try await database.transaction { database in
            try database.notifyServers()
            return try database.execute("DELETE FROM service_account WHERE key_id=?", [.text(keyID)]) > 0
        }
    }
}
