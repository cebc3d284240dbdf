import Cryptography
import IdentityProtocol
package import PostgreSQL
import SQLite
import SystemIO

extension IdentityService {
    /// Examines the state in `directory`, also while a server runs on it, and changes nothing.
    ///
    /// The check covers whether each key verifies its own signatures, and whether the tables are
    /// consistent with each other.
    ///
    /// - Returns: The problems found, one line each.
    /// - Throws: `SQLiteError` if the accounts cannot be read, for example because the disk is
    ///   full.
    package static func check(directory: String) throws -> [String] {
        var problems: [String] = []
        let keys = "\(directory)/signing-keys.pem"
        if FileSystem.exists(keys) {
            do { problems += try SigningKeys(path: keys).selfTest() } catch {
                problems.append("\(error)")
            }
        }
        let accounts = "\(directory)/accounts.sqlite"
        guard FileSystem.exists(accounts) else { return problems }
        let database = try SQLiteDatabase(path: accounts)
        defer { database.close() }
        let damage = try database.quickCheck()
        problems += damage
        guard damage.isEmpty else { return problems }
        guard try database.schemaVersion("identity") > 0 else {
            problems.append("accounts.sqlite has no accounts: its write-ahead log is missing, or was another's")
            return problems
        }
        var orphans = 0
        try database.query("PRAGMA foreign_key_check") { _ in orphans += 1 }
        if orphans > 0 { problems.append("\(orphans) sessions belong to accounts that are not there") }
        let bad = "SELECT id FROM account WHERE id='' OR (password IS NULL) <> (password_cost IS NULL)"
        try database.query(bad) { problems.append("the account \($0.text(0)) contradicts itself") }
        if try database.first("SELECT count(*) FROM secret", [], { $0.int(0) }) ?? 0 == 0 {
            problems.append("the secret of storage keys is missing")
        }
        return problems
    }
}

extension IdentityService {
    /// Examines the state in a database, also while servers use it, and changes nothing.
    ///
    /// - Returns: The problems found, one line each.
    package static func check(_ server: PostgresConfiguration) async throws -> [String] {
        let database: PostgresAccountDatabase
        do { database = try PostgresAccountDatabase(server, environment: .system) {} } catch {
            throw AccountsUnavailable(cause: error)
        }
        let store = AccountStore(database)
        var problems: [String] = []
        do {
            problems += try await SigningKeyStorage.database(store).keys().selfTest()
        } catch let error as IdentityError {
            problems.append("\(error)")
        }
        problems += try await database.transaction { database in
            var problems: [String] = []
            let bad = "SELECT id FROM account WHERE id='' OR (password IS NULL) <> (password_cost IS NULL)"
            try database.query(bad) { problems.append("the account \($0.text(0)) contradicts itself") }
            if try database.first("SELECT value FROM generation", [], { _ in true }) == nil {
                problems.append("the generation of the accounts is missing")
            }
            return problems
        }
        await database.close()
        return problems
    }
}

extension SigningKeys {
    /// Returns the problems of keys that could be read: numbers that do not belong together, and
    /// signatures that the public half does not verify.
    fileprivate func selfTest() throws -> [String] {
        let message = Array("ferry self-test".utf8)
        return try keys.compactMap { key in
            let isGood = try key.key.publicKey.isValid(key.key.sign(message), for: message)
            return isGood && key.key.isConsistent
                ? nil
                : "the signing key \(key.id) is damaged. Restore signing-keys.pem, or remove it: a new key is made"
        }
    }
}
