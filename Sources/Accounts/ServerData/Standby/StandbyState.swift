import JSON
import SystemIO

/// The knowledge that a standby has of its copy, in a file of the data directory. The file makes the directory
/// one of a standby, on which no server runs until the file is removed.
package struct StandbyState: Sendable {
    static let file = "standby.json"

    /// The URL of the server whose data is copied.
    package var source: String
    /// The time up to which the copy has all that the server had acknowledged, by the server's clock in microseconds
    /// since 1970; nil before the first complete copy.
    package var asOf: Int64?
    /// The microseconds by which the server's clock was ahead of this machine's, or less.
    package var lead: Int64 = 0
    /// The tags of the databases that the copy has.
    var tags: [String: String] = [:]
    /// The databases whose deltas belong to this state and may not be applied yet.
    var ready: [String] = []

    /// The microseconds by which the clocks of the server and of this machine may differ: a day.
    static let leadLimit: Int64 = 86_400_000_000

    package init(source: String) { self.source = source }

    /// Whether a data directory is that of a standby.
    package static func exists(in path: String) -> Bool { FileSystem.exists("\(path)/\(file)") }

    /// Whether a name is that of a server's database. Another one might lead to any file.
    static func isDatabase(_ name: String) -> Bool {
        let file = name.dropFirst("documents/".count)
        return [DataLayout.accounts, DataLayout.index].contains(name)
            || name.hasPrefix("documents/") && file.hasSuffix(".db") && !file.contains("/") && !file.hasPrefix(".")
    }

    /// Reads the state; nil if the directory is not that of a standby.
    package init?(in layout: DataLayout) throws {
        guard let bytes = try FileSystem.readIfPresent("\(layout.path)/\(Self.file)") else { return nil }
        let json = try? JSON(parsing: bytes)
        let lead = json?["lead"]?.integerValue ?? 0
        let ready = json?["ready"]?.arrayValue?.compactMap(\.stringValue) ?? []
        guard let json, let source = json["from"]?.stringValue, (0...Self.leadLimit).contains(lead),
            ready.allSatisfy(Self.isDatabase)
        else {
            throw ServerError(
                .damaged, "\(layout.path)/\(Self.file) cannot be read. Remove the directory to copy again.")
        }
        self.source = source
        asOf = json["asOf"]?.integerValue
        (self.lead, self.ready) = (lead, ready)
        for (name, tag) in json["tags"]?.objectValue ?? [:] { tags[name] = tag.stringValue }
    }

    func write(in layout: DataLayout) throws {
        var tags: JSONObject = [:]
        for (name, tag) in self.tags.sorted(by: { $0.key < $1.key }) { tags[name] = .string(tag) }
        var json: JSONObject = [
            "from": .string(source), "lead": .integer(lead), "tags": .object(tags),
            "ready": .array(ready.map { .string($0) }),
        ]
        if let asOf { json["asOf"] = .integer(asOf) }
        try FileSystem.replace("\(layout.path)/\(Self.file)", with: JSON.object(json).bytes, mode: 0o600)
    }
}
