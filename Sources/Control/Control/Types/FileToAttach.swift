package import JSON

/// A file to copy into the attachments of a task.
package struct FileToAttach: JSONCodable, Hashable {
    /// The absolute path of the file.
    package var path: String
    /// The name of the attachment; nil for the name of the file.
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
