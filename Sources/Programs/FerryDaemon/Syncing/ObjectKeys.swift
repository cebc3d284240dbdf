import ObjectStorage
import SystemIO

/// This machine's keys for a store of objects that is not the server's.
struct ObjectKeys: Sendable {
    /// As `~/.aws/credentials`; nil: they are in the environment.
    let file: String?
    /// The bucket they are for, in messages.
    let place: String

    /// So long keys count before they are looked up again: who mends them need not restart anything.
    private static let interval: Int64 = 60
    /// So long before their end the store replaces keys.
    private static let margin: Int64 = 300

    /// - Throws: `ObjectStorageError` with `.permission`.
    func credentials(now: Int64) throws(ObjectStorageError) -> S3Credentials {
        guard let file else {
            guard let keys = S3Credentials.fromEnvironment() else {
                throw ObjectStorageError(
                    .permission,
                    "attachments are kept in \(place), and this machine has no keys for it; name a file with them as objects-keys "
                        + "in ferryd.yaml")
            }
            return keys
        }
        let (text, mode): (String, UInt32)
        do throws(SystemError) {
            // It is read again and again, and a pipe would let its reader wait for ever.
            let descriptor = try FileDescriptor(path: file, [.read, .nonBlocking])
            let status = try descriptor.status()
            guard status.kind == .file else {
                throw SystemError(.unsupported, operation: "read", path: file, remedy: "This is no regular file")
            }
            mode = status.mode
            text = String(decoding: try descriptor.readAll(limit: 1 << 16), as: UTF8.self)
        } catch {
            throw ObjectStorageError(
                .permission, "the keys for \(place) cannot be read: \(error.message)", cause: error)
        }
        guard mode & 0o077 == 0 else {
            throw ObjectStorageError(
                .permission, "the keys in \(file) can be read by others; chmod 600 it, and get new keys")
        }
        guard let keys = Self.keys(in: text, expires: now + Self.interval + Self.margin) else {
            throw ObjectStorageError(
                .permission, "\(file) has no aws_access_key_id and aws_secret_access_key in its profile 'default'")
        }
        return keys
    }

    /// Those of the profile `default`, or of lines before any profile.
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
