package import JSON

/// A file that the daemon shall copy into a task's attachments.
package struct FileToAttach: JSONCodable, Hashable {
    /// Absolute.
    package var path: String
    /// The attachment's name; nil for the file's own.
    package var name: String?

    package init(path: String, name: String? = nil) {
        self.path = path
        self.name = name
    }

    package init(json: JSON) throws(ControlError) {
        self.init(path: try json.string("path"), name: json["name"]?.stringValue)
    }

    package var json: JSON { .members(("path", path.asJSON), ("name", name?.asJSON)) }
}
