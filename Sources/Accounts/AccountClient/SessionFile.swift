import IdentityProtocol
import JSON
import SystemIO

/// A session that is kept across processes, in a JSON file of mode 0600.
///
///     {"version": 1, "server": URL, "userId": …, "email": … or absent, "refreshToken": …}
package struct SessionFile: Sendable {
    package struct Content: Sendable, Hashable {
        /// The URL of the server that the session is for.
        package let server: String
        package let userID: String
        package let email: String?
        package let refreshToken: String

        package init(server: String, userID: String, email: String?, refreshToken: String) {
            self.server = server
            self.userID = userID
            self.email = email
            self.refreshToken = refreshToken
        }
    }

    package let path: String

    package init(path: String) { self.path = path }

    /// Returns the content; nil if there is no file. Throws `.damagedFile` for a file that other
    /// users may read, or that has another format.
    package func load() throws -> Content? {
        guard let bytes = try FileSystem.readIfPresent(path, limit: 64 << 10) else { return nil }
        guard try FileSystem.status(path).mode & 0o077 == 0 else {
            throw IdentityError(.damagedFile, "\(path) can be read by others. Run `chmod 600 \(path)`.")
        }
        guard let content = try? JSON(parsing: bytes, depth: 4), content["version"] == 1,
            let server = content["server"]?.stringValue, let user = content["userId"]?.stringValue,
            let token = content["refreshToken"]?.stringValue
        else {
            throw IdentityError(.damagedFile, "\(path) is damaged. Remove it and sign in again with `ferry login`.")
        }
        return Content(server: server, userID: user, email: content["email"]?.stringValue, refreshToken: token)
    }

    package func save(_ content: Content) throws {
        var members: JSONObject = [
            "version": 1, "server": .string(content.server), "userId": .string(content.userID),
        ]
        members["email"] = content.email.map { .string($0) }
        members["refreshToken"] = .string(content.refreshToken)
        try FileSystem.replace(path, with: JSON.object(members).bytes, mode: 0o600)
    }

    /// Removes the file, if it exists.
    package func remove() throws { _ = try FileSystem.remove(path) }
}
