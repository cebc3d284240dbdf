import DocumentClient
import DocumentModel
public import FoundationEssentials
import ObjectStorage

/// The place for files in a document: one field, or a dictionary of them.
///
///     let transfer = try await milk.attachments(\.attachments).attach(photo)
///     for await progress in transfer.progress { show(progress.fraction) }
///
/// The document has an entry for a new file at once, and everybody who sees the document sees that it
/// is being uploaded. When the content is on the server, the entry refers to it.
public struct Attachments: Sendable {
    private let ferry: Result<Ferry, any Error>
    private let place: Result<Place, any Error>

    init<Model: DocumentModel>(_ reference: Reference<Model>, _ field: Result<FieldPath, any Error>, isDictionary: Bool)
    {
        ferry = Result { try reference.ferry }
        place = field.map { Place(document: reference.path, field: $0, isDictionary: isDictionary) }
    }

    /// Adds a file to the document.
    ///
    /// In a dictionary, a file replaces that of the same name. The version before stays until the new
    /// one is on the server. The upload continues in the next run of the program if necessary, and
    /// reads the file while it runs, so leave it where it is until the transfer is finished.
    ///
    /// - Parameters:
    ///   - file: the URL of a file on this machine.
    ///   - name: the name; nil for the last component of the URL.
    ///   - type: the media type; nil to derive it from the name, or else from the first bytes.
    /// - Throws: `FerryError`: with `file` if the file cannot be read, `notFound` if the document is not
    ///   on this machine.
    @discardableResult public func attach(
        _ file: URL, name: String? = nil, type: String? = nil
    ) async throws -> Transfer {
        try await attach { try Self.file(at: file, name: name, type: type) }
    }

    /// Adds a file with this content to the document. The content is on the disk when this returns.
    @discardableResult public func attach(
        _ data: Data, name: String, type: String? = nil
    ) async throws -> Transfer {
        try await attach { File(name: name, bytes: [UInt8](data), type: type.flatMap { MIMEType($0) }) }
    }

    /// Removes the file with a name, or all of them, from the document, and ends their uploads.
    ///
    /// The server removes content to which no document refers after a while.
    @discardableResult public func remove(_ name: String? = nil) async throws -> Write {
        try await FerryError.translating {
            Write(handle: try await ferry.get().session.fileService.remove(name, from: place.get()))
        }
    }

    private func attach(_ file: () throws -> File) async throws -> Transfer {
        try await FerryError.translating {
            try await ferry.get().session.fileService.attach(try file(), to: place.get())
        }
    }

    static func file(at url: URL, name: String? = nil, type: String? = nil) throws -> File {
        guard url.isFileURL else { throw FerryError(.invalid, "\(url) is not the URL of a file.") }
        return try File(path: url.path, name: name, type: type.flatMap { MIMEType($0) })
    }

    /// The place for this object's methods and for batches.
    func resolved() throws -> Place { try place.get() }

    /// A place for files, without types.
    struct Place: Sendable {
        /// The path of the document.
        let document: String
        let field: FieldPath
        let isDictionary: Bool

        /// Returns the entries of a document at this place, in the order of their keys.
        func entries(in fields: [String: Value]) -> [(label: UploadLabel, file: FileReference)] {
            guard let map = fields.value(at: field.segments[...])?.mapValue else { return [] }
            guard isDictionary else {
                return [(UploadLabel(document: document, entry: field), FileReference(fields: map))]
            }
            return map.sorted { $0.key < $1.key }.compactMap { key, value in
                value.mapValue.map {
                    (UploadLabel(document: document, entry: field.appending(key)), FileReference(fields: $0))
                }
            }
        }

        /// Returns the label of an upload: that of the file that it replaces, if there is one.
        func label(of name: String, in fields: [String: Value]) -> UploadLabel {
            guard isDictionary else { return UploadLabel(document: document, entry: field) }
            return entries(in: fields).first { $0.file.name == name }?.label ?? newLabel()
        }

        /// Returns the label of an upload that replaces nothing.
        func newLabel() -> UploadLabel {
            UploadLabel(document: document, entry: isDictionary ? field.appending(DocumentID.make()) : field)
        }
    }
}
