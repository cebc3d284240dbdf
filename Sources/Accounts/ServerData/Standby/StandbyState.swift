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

    package init(source: String) { self.source = source }

    /// Whether a data directory is that of a standby.
    package static func exists(in path: String) -> Bool { FileSystem.exists("\(path)/\(file)") }

    /// Reads the state; nil if the directory is not that of a standby.
    package init?(in layout: DataLayout) throws {
        guard let bytes = try FileSystem.readIfPresent("\(layout.path)/\(Self.file)") else { return nil }
        guard let json = try? JSON(parsing: bytes), let source = json["from"]?.stringValue else {
            throw ServerError(
                .damaged, "\(layout.path)/\(Self.file) cannot be read. Remove the directory to copy again.")
        }
        self.source = source
        asOf = json["asOf"]?.integerValue
        lead = json["lead"]?.integerValue ?? 0
        for (name, tag) in json["tags"]?.objectValue ?? [:] { tags[name] = tag.stringValue }
    }

    func write(in layout: DataLayout) throws {
        var tags: JSONObject = [:]
        for (name, tag) in self.tags.sorted(by: { $0.key < $1.key }) { tags[name] = .string(tag) }
        var json: JSONObject = ["from": .string(source), "lead": .integer(lead), "tags": .object(tags)]
        if let asOf { json["asOf"] = .integer(asOf) }
        try FileSystem.replace("\(layout.path)/\(Self.file)", with: JSON.object(json).bytes, mode: 0o600)
    }
}
