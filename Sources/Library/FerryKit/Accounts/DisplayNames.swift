import JSON
import SystemIO

/// The name that a user has chosen, kept on this machine, so that it is known offline.
struct DisplayNames: Sendable {
    let path: String

    func name(of user: String) -> String? {
        guard let bytes = try? FileSystem.readIfPresent(path, limit: 64 << 10), let json = try? JSON(parsing: bytes),
            json["user"]?.stringValue == user
        else { return nil }
        return json["name"]?.stringValue
    }

    func set(_ name: String?, of user: String) throws {
        guard let name else {
            _ = try FileSystem.remove(path)
            return
        }
        let json: JSON = ["user": .string(user), "name": .string(name)]
        try FileSystem.replace(path, with: json.bytes, mode: 0o600)
    }
}
