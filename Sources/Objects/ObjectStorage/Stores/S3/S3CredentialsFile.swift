import SystemIO

/// A file with credentials for an S3 store, in the format of `~/.aws/credentials`. Only the profile
/// `default` is used.
package struct S3CredentialsFile: Sendable {
    /// The path of the file.
    package let path: String
    /// The purpose of the credentials, for messages.
    private let place: String
    private let credentialsDirectory: String?

    /// The number of seconds for which credentials are used before the file is read again. A
    /// changed file therefore needs no restart.
    private static let interval: Int64 = 60
    /// The number of seconds before their expiry at which the store replaces credentials.
    private static let margin: Int64 = 300

    /// Creates a reference to a file.
    ///
    /// - Parameter credentialsDirectory: The value of `$CREDENTIALS_DIRECTORY`, where the service
    ///   manager puts files for this service alone. It gives the service access by an access
    ///   control list, which shows in the group bits of the mode of the file.
    package init(path: String, for place: String, credentialsDirectory: String?) {
        self.path = path
        self.place = place
        self.credentialsDirectory = credentialsDirectory
    }

    /// Reads the credentials from the file.
    ///
    /// - Parameter now: The current time in seconds since 1970.
    /// - Throws: `ObjectStorageError` with `.permission` if the file cannot be read, has no
    ///   credentials, or can be read by other users.
    package func credentials(now: Int64) throws(ObjectStorageError) -> S3Credentials {
        let (text, mode): (String, UInt32)
        do throws(SystemError) {
            // Non-blocking, because the open of a pipe could block forever.
            let descriptor = try FileDescriptor(path: path, [.read, .nonBlocking])
            let status = try descriptor.status()
            guard status.kind == .file else {
                throw SystemError(.unsupported, operation: "read", path: path, remedy: "This is not a regular file")
            }
            mode = status.mode
            text = String(decoding: try descriptor.readAll(limit: 1 << 16), as: UTF8.self)
        } catch {
            throw ObjectStorageError(
                .permission, "the keys for \(place) cannot be read: \(error.message)", cause: error)
        }
        let isHandedOver = FileSystem.split(path).parent == credentialsDirectory
        guard mode & (isHandedOver ? 0o037 : 0o077) == 0 else {
            throw ObjectStorageError(
                .permission, "the keys in \(path) can be read by others; chmod 600 it, and get new keys")
        }
        guard let keys = Self.keys(in: text, expires: now + Self.interval + Self.margin) else {
            throw ObjectStorageError(
                .permission, "\(path) has no aws_access_key_id and aws_secret_access_key in its profile 'default'")
        }
        return keys
    }

    /// Parses the credentials of the profile `default`, or of the lines before the first profile.
    static func keys(in text: String, expires: Int64?) -> S3Credentials? {
        var values: [String: String] = [:]
        var isDefault = true
        for line in text.split(whereSeparator: \.isNewline) {
            let line = line.trimmed
            if line.hasPrefix("[") {
                isDefault = line.dropFirst().prefix { $0 != "]" }.trimmed == "default"
            } else if isDefault, !line.hasPrefix("#"), !line.hasPrefix(";"), let equals = line.firstIndex(of: "=") {
                values[line[..<equals].trimmed.lowercased()] = line[line.index(after: equals)...].trimmed
            }
        }
        func value(_ key: String) -> String? { values[key].flatMap { $0.isEmpty ? nil : $0 } }
        guard let accessKey = value("aws_access_key_id"), let secretKey = value("aws_secret_access_key") else {
            return nil
        }
        return S3Credentials(
            accessKey: accessKey, secretKey: secretKey, sessionToken: value("aws_session_token"), expires: expires)
    }
}

extension Substring {
    fileprivate var trimmed: String {
        var text = drop(while: \.isWhitespace)
        while text.last?.isWhitespace == true { text.removeLast() }
        return String(text)
    }
}
