import DocumentClient
import DocumentCoding
import DocumentModel

/// Writes that take effect together or not at all.
public struct Batch {
    private let session: Session
    private let encoder: DocumentEncoder
    private(set) var mutations: [Mutation] = []
    private(set) var edits: [DocumentEdit] = []
    private(set) var problem: (any Error)?

    init(ferry: Ferry, session: Session) {
        self.session = session
        encoder = DocumentEncoder(context: CodingContext(owner: ferry))
    }

    /// Adds a document with a random id to a collection.
    @discardableResult public mutating func add<Model: DocumentModel>(
        _ model: Model, to collection: DocumentCollection<Model>
    ) -> Reference<Model> {
        let reference = collection.reference()
        create(model, reference)
        return reference
    }

    mutating func create<Model: DocumentModel>(_ model: Model, _ reference: Reference<Model>) {
        append(
            Result {
                let (fields, transforms) = try encoded(model)
                return .create(try session.name(reference.path), fields, transforms: transforms)
            })
    }

    /// Sets the content of a document, and creates it if it does not exist.
    public mutating func set<Model: DocumentModel>(_ model: Model, _ reference: Reference<Model>) {
        append(
            Result {
                let (fields, transforms) = try encoded(model)
                return .set(try session.name(reference.path), fields, transforms: transforms)
            })
    }

    /// Writes what was changed in a document since it was read.
    public mutating func save<Model: DocumentModel>(_ document: Document<Model>) {
        do { edits.append(try document.edit(in: session, encoder)) } catch { problem = problem ?? error }
    }

    /// Changes fields of a document.
    public mutating func update<Model: DocumentModel>(
        _ reference: Reference<Model>, _ body: (inout Edit<Model>) throws -> Void
    ) rethrows {
        var edit = Edit<Model>(encoder: encoder)
        try body(&edit)
        let changes = edit.storage
        append(
            Result {
                if let problem = changes.problem { throw problem }
                return .update(try session.name(reference.path), changes.changes, transforms: changes.transforms)
            })
    }

    /// Deletes a document.
    public mutating func delete<Model: DocumentModel>(_ reference: Reference<Model>) {
        append(Result { .delete(try session.name(reference.path)) })
    }

    private func encoded(_ model: some Encodable) throws -> ([String: Value], [FieldTransform]) {
        let encoded = try encoder.encode(model)
        return (encoded.fields, encoded.commitTimes.map { FieldTransform($0, .serverTimestamp) })
    }

    private mutating func append(_ mutation: Result<Mutation, any Error>) {
        do { mutations.append(try mutation.get()) } catch { problem = problem ?? error }
    }
}

/// Reads and writes of the server's documents that take effect together. Needs a connection.
///
/// All reads come before the first write. If a document that was read has changed when the writes
/// are committed, the whole closure runs again.
public final class Transaction: Sendable {
    private let transaction: DocumentTransaction
    private let ferry: Ferry
    private let session: Session

    init(_ transaction: DocumentTransaction, ferry: Ferry, session: Session) {
        self.transaction = transaction
        self.ferry = ferry
        self.session = session
    }

    /// Returns the server's document; nil if it does not exist.
    public func get<Model: DocumentModel>(_ reference: Reference<Model>) async throws -> Document<Model>? {
        let document = try await transaction.document(try session.name(reference.path))
        return try document.map { try typed($0) }
    }

    /// Returns the server's results of a query. A document that becomes a result later is not
    /// noticed by the commit; a change of these results is.
    public func get<Model: DocumentModel>(_ query: Query<Model>) async throws -> [Document<Model>] {
        let found = try await transaction.documents(try query.plan(in: session))
        let documents = try found.map { try typed($0) as Document<Model> }
        return query.isReversed ? documents.reversed() : documents
    }

    private func typed<Model: DocumentModel>(_ document: DatabaseDocument) throws -> Document<Model> {
        try Document(
            Reference(checked: document.name.path, in: ferry), fields: document.fields,
            createTime: document.createTime, updateTime: document.updateTime, state: .ordered, in: ferry)
    }

    /// Adds writes.
    ///
    /// - Throws: the error of `body`; `EncodingError` or `FerryError` for a write that is not
    ///   possible.
    public func write(_ body: (inout Batch) throws -> Void) throws {
        var batch = Batch(ferry: ferry, session: session)
        try body(&batch)
        if let problem = batch.problem { throw problem }
        transaction.apply(batch.mutations + batch.edits.compactMap(\.mutation))
    }
}
