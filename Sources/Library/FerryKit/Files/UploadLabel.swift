import DocumentModel
import JSON

/// The place in a document to which an upload belongs. It is the upload's label in the queue, so
/// that it is known after a restart.
struct UploadLabel: Hashable {
    /// The path of the document.
    let document: String
    /// The path of the entry in the document.
    let entry: FieldPath

    init(document: String, entry: FieldPath) {
        self.document = document
        self.entry = entry
    }

    /// Parses the text of a label; nil for any other text.
    init?(_ text: String) {
        guard let json = try? JSON(parsing: Array(text.utf8), depth: 4), let document = json["document"]?.stringValue,
            let segments = json["entry"]?.arrayValue?.compactMap(\.stringValue), let entry = try? FieldPath(segments)
        else { return nil }
        self.init(document: document, entry: entry)
    }

    var text: String {
        let json: JSON = ["document": .string(document), "entry": .array(entry.segments.map { .string($0) })]
        return String(decoding: json.bytes, as: UTF8.self)
    }
}
