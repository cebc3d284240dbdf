package import PostgreSQL
import SystemIO

/// The PostgreSQL server that holds the documents and accounts.
package struct DatabaseServer: Sendable, Hashable {
    package enum Refusal: Error {
        case url
        case passwordInURL
    }

    /// The name of systemd's credential with the password.
    private static let credential = "database-password"

    package let url: String
    /// The file with the password; nil for none.
    package let passwordFile: String?

    /// Checks the URL.
    ///
    /// - Parameter credentialsDirectory: The value of `$CREDENTIALS_DIRECTORY`, where the service
    ///   manager puts the credentials of the unit; used if no file is named.
    package init(url: String, passwordFile: String?, credentialsDirectory: String?) throws(Refusal) {
        guard url.hasPrefix("postgres://") || url.hasPrefix("postgresql://") else { throw .url }
        guard !PostgresConfiguration(url: url).hasPasswordInURL else { throw .passwordInURL }
        self.url = url
        let provided = credentialsDirectory.map { "\($0)/\(Self.credential)" }
        self.passwordFile = passwordFile ?? provided.flatMap { FileSystem.exists($0) ? $0 : nil }
    }

    /// Returns what is needed to connect, with the password from its file.
    package func connection() throws -> PostgresConfiguration {
        var password: String?
        if let passwordFile {
            do {
                let bytes = try FileSystem.read(passwordFile, limit: 4096)
                password = String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
            } catch {
                throw ServerError(
                    .configuration, "The password of the database cannot be read from \(passwordFile): \(error).",
                    cause: error)
            }
        }
        return PostgresConfiguration(url: url, password: password)
    }
}
