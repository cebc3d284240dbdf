import JSON
import SystemIO

/// What a user is called and signs in with, kept on this machine, so that it is known offline.
struct ProfileFile: Sendable {
    struct Profile: Equatable {
        var name: String?
        var providers: [String] = []
    }

    let path: String

    /// Returns the profile of a user; an empty one if it is not known.
    func load(_ user: String) -> Profile {
        guard let bytes = try? FileSystem.readIfPresent(path, limit: 64 << 10), let json = try? JSON(parsing: bytes),
            json["user"]?.stringValue == user
        else { return Profile() }
        return Profile(
            name: json["name"]?.stringValue, providers: json["providers"]?.arrayValue?.compactMap(\.stringValue) ?? [])
    }

    /// Changes the profile of a user, and forgets that of another one.
    func change(_ user: String, _ body: (inout Profile) -> Void) throws {
        var profile = load(user)
        body(&profile)
        var json: JSONObject = [
            "user": .string(user), "providers": .array(profile.providers.map { .string($0) }),
        ]
        json["name"] = profile.name.map { .string($0) }
        try FileSystem.replace(path, with: JSON.object(json).bytes, mode: 0o600)
    }
}
