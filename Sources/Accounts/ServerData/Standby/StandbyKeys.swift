import Cryptography
package import JSON
import SystemIO

/// The keys with which standbys copy a server's data.
///
/// Each is a file of its own with its label and the SHA-256 of its secret, so a running server knows at once what was
/// added or removed. Backups and standbys have none of them.
package struct StandbyKeys: Sendable {
    package struct Key: Sendable {
        package let id: String
        package let label: String
        fileprivate let digest: String
    }

    private static let type = "ferry_standby"
    private let path: String

    package init(_ layout: DataLayout) { path = "\(layout.path)/accounts/standby-keys" }

    /// Creates a key. Returns its file, which has the only copy of the secret.
    package func add(label: String) throws -> JSON {
        let (id, secret) = (Hex.encode(RandomBytes.make(10)), RandomBytes.token())
        let key: JSON = ["label": .string(label), "sha256": .string(Self.digest(secret))]
        try FileSystem.makeDirectories(path, mode: 0o700)
        try FileSystem.replace("\(path)/\(id)", with: key.bytes, mode: 0o600)
        return ["type": .string(Self.type), "id": .string(id), "secret": .string(secret)]
    }

    package func list() throws -> [Key] {
        guard FileSystem.exists(path) else { return [] }
        return try Directory(path: path).entries().map(\.name).sorted().compactMap(key)
    }

    /// Removes a key. Returns false if there is none.
    package func remove(_ id: String) throws -> Bool {
        guard try key(id) != nil else { return false }
        return try FileSystem.remove("\(path)/\(id)")
    }

    private func key(_ id: String) throws -> Key? {
        guard Hex.decode(id)?.isEmpty == false, let bytes = try FileSystem.readIfPresent("\(path)/\(id)"),
            let json = try? JSON(parsing: bytes), let digest = json["sha256"]?.stringValue
        else { return nil }
        return Key(id: id, label: json["label"]?.stringValue ?? "", digest: digest)
    }

    /// Returns the value of the `Authorization` header for a key's file; nil if the file is none.
    static func authorization(_ file: JSON) -> String? {
        guard file["type"]?.stringValue == type, let id = file["id"]?.stringValue,
            let secret = file["secret"]?.stringValue
        else { return nil }
        return "Bearer \(id).\(secret)"
    }

    /// Returns the key that an `Authorization` header has; nil if there is none.
    func key(authorizedBy header: String?) throws -> Key? {
        guard let words = header?.split(separator: " "), words.count == 2, words[0].lowercased() == "bearer" else {
            return nil
        }
        let parts = words[1].split(separator: ".", maxSplits: 1)
        guard parts.count == 2, let key = try key(String(parts[0])),
            ConstantTime.areEqual(Self.digest(String(parts[1])), key.digest)
        else { return nil }
        return key
    }

    private static func digest(_ secret: String) -> String { Hex.encode(SHA256.hash(Array(secret.utf8)).bytes) }
}
