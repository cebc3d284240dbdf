import DocumentClient
package import DocumentCoding
package import DocumentModel

/// The name of a document, by which it is read, watched and changed.
///
/// A reference is also a value of documents: a property of this type refers to another document, and
/// when it was read from a document, it can be used at once.
public struct Reference<Model: DocumentModel>: Identifiable, Sendable {
    /// The path of the document: ids of collections and documents in turn, such as `tasks/abc`.
    public let path: String
    private let owner: Ferry?

    init(checked path: String, in ferry: Ferry?) {
        self.path = path
        owner = ferry
    }

    init(_ path: String, in ferry: Ferry) throws {
        do {
            let name = try DocumentName(database: DatabaseName(project: "any"), path: path)
            guard name.collectionID == Model.collection else {
                throw FerryError(.invalid, "\(path) is not a document of the collection \(Model.collection).")
            }
        } catch let error as NameError {
            throw FerryError(.invalid, error.message, cause: error)
        }
        self.init(checked: path, in: ferry)
    }

    /// The id of the document: the last part of its path.
    public var id: String { path.split(separator: "/").last.map(String.init) ?? path }

    /// The object that the reference belongs to.
    ///
    /// - Throws: `FerryError` with `invalid` for a reference that was decoded from something else
    ///   than a document; make it usable with `Ferry.reference(to:)`.
    var ferry: Ferry {
        get throws {
            guard let owner else {
                throw FerryError(
                    .invalid, "The reference to \(path) was not read from a document. Use Ferry.reference(to:).")
            }
            return owner
        }
    }

    // MARK: Reading

    /// Returns the document; nil if it does not exist.
    ///
    /// - Throws: `FerryError`; `DecodingError` if the document does not fit the model.
    public func get(_ source: Source = .cacheElseServer) async throws -> Document<Model>? {
        let ferry = try ferry
        return try await FerryError.translating {
            let session = try ferry.session
            let snapshot = try await session.document(try session.name(path), source)
            return try Document(snapshot, in: ferry)
        }
    }

    /// The document as it is on this machine; nil if it is not known or does not exist.
    public var cached: Document<Model>? { get async throws { try await get(.cache) } }

    /// The document now, and again whenever it changes; nil while it does not exist.
    ///
    /// The sequence ends when the `Ferry` is closed or the account is signed out. It throws
    /// `FerryError` if the server refuses to show the document.
    public var snapshots: Snapshots<Document<Model>?> {
        Snapshots { DocumentSource(reference: self) }
    }

    // MARK: Writing

    /// Sets the content of the document, and creates it if it does not exist.
    @discardableResult public func set(_ model: Model) async throws -> Write {
        try await ferry.batch { $0.set(model, self) }
    }

    /// Changes fields of the document.
    ///
    ///     try await item.update { $0.isDone = true; $0.increment(\.views, by: 1) }
    ///
    /// - Throws: `FerryError` with `notFound` if the document is known not to exist.
    @discardableResult public nonisolated(nonsending) func update(_ body: (inout Edit<Model>) throws -> Void)
        async throws -> Write
    {
        try await ferry.batch { try $0.update(self, body) }
    }

    /// Deletes the document. An edit that the server received before the delete is kept.
    @discardableResult public func delete() async throws -> Write {
        try await ferry.batch { $0.delete(self) }
    }

    // MARK: Below the document

    /// Returns a collection below the document.
    public func collection<Child: DocumentModel>(
        _ type: Child.Type = Child.self
    ) -> DocumentCollection<Child> where Child.Parent == Model {
        owner?.register(type)
        return DocumentCollection(owner: owner, path: "\(path)/\(Child.collection)")
    }

    /// Returns the files of a dictionary of the document.
    public func attachments(_ field: any KeyPath<Model, [String: FileReference]> & Sendable) -> Attachments {
        Attachments(self, Result { try FieldNames.path(of: field) }, isDictionary: true)
    }

    /// Returns the files of a dictionary of the document, which may be absent.
    public func attachments(_ field: any KeyPath<Model, [String: FileReference]?> & Sendable) -> Attachments {
        Attachments(self, Result { try FieldNames.path(of: field) }, isDictionary: true)
    }

    /// Returns the file of a field of the document.
    public func attachment(_ field: any KeyPath<Model, FileReference?> & Sendable) -> Attachments {
        Attachments(self, Result { try FieldNames.path(of: field) }, isDictionary: false)
    }
}

extension Reference: Hashable {
    /// Whether both name the same document.
    public static func == (left: Reference, right: Reference) -> Bool { left.path == right.path }

    /// Hashes the path.
    public func hash(into hasher: inout Hasher) { hasher.combine(path) }
}

extension Reference: Codable {
    /// Decodes a path.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let path = try container.decode(String.self)
        guard (try? DocumentName(database: DatabaseName(project: "any"), path: path)) != nil else {
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: "The string is not the path of a document.")
        }
        self.init(checked: path, in: nil)
    }

    /// Encodes the path.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(path)
    }
}

extension Reference: ValueCodable {
    package static func decoded(from value: Value, in context: CodingContext) throws -> Reference {
        guard case .reference(let text) = value else { throw ValueMismatch(expected: "a reference", found: value) }
        guard let name = try? DocumentName(parsing: text) else {
            throw ValueMismatch("The reference is not the name of a document.")
        }
        return Reference(checked: name.path, in: context.owner as? Ferry)
    }

    package func encoded(in context: CodingContext) throws -> EncodedValue {
        guard let database = (context.owner as? Ferry ?? owner)?.database else {
            throw ValueMismatch("The reference to \(path) belongs to no Ferry. Use Ferry.reference(to:).")
        }
        return .value(.reference("\(database.documentsRoot)/\(path)"))
    }

    package static var examples: (Reference, Reference) {
        let ferry = Ferry.example
        return (Reference(checked: "a/a", in: ferry), Reference(checked: "a/b", in: ferry))
    }
}
