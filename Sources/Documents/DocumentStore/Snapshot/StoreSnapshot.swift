package import DocumentModel
package import FirestoreProtocol

/// One database as of one moment: everything that queries, listings and listeners read from an
/// engine.
///
/// An engine stores documents by the number of their collection and their id, index entries as rows
/// of bytes (`IndexEntries`), and for every change the version that it replaced. Everything above,
/// from planning to listening, is shared by all engines.
///
/// A snapshot is used on one thread, and only by the closure that receives it.
package protocol StoreSnapshot: AnyObject {
    var name: DatabaseName { get }
    var tuning: QueryTuning { get }
    /// The handling of rows that cannot be read.
    var damage: DamageHandling { get set }

    // MARK: Numbers of names

    /// Returns the number of the collection at a path; nil if it never contained a document.
    func collection(_ path: String) throws -> Int64?
    /// Returns the number of an index column (`FieldKey`, `CompositeIndex.path`); nil if it has no
    /// entries.
    func field(_ key: [UInt8]) throws -> Int64?
    func name(collection: Int64, id: [UInt8]) throws -> DocumentName

    // MARK: Documents

    /// Announces that these documents are about to be read, so that an engine can read several at
    /// once.
    func prefetch(_ names: ArraySlice<DocumentName>)
    /// Returns the newest version.
    func document(_ name: DocumentName) throws -> EncodedDocument?
    /// Returns the version as of `time`, which must be within the log.
    func document(_ name: DocumentName, collection: Int64, id: [UInt8], at time: Int64) throws -> EncodedDocument?
    /// Calls `body` with the newest versions of a collection's documents with ids from `lower` up
    /// to, but not including, `upper`, in order, until it returns false.
    func readDocuments(
        of collection: Int64, from lower: [UInt8], below upper: [UInt8], descending: Bool,
        _ body: (_ id: [UInt8], EncodedDocument) throws -> Bool
    ) throws

    // MARK: Index

    /// Calls `body` with each index row from `lower` up to, but not including, `upper`, in order,
    /// and the newest version of the document that has it, until it returns false.
    func readEntries(
        from lower: [UInt8], below upper: [UInt8], descending: Bool,
        _ body: (_ row: [UInt8], _ id: [UInt8], EncodedDocument) throws -> Bool
    ) throws
    /// Returns the approximate number of rows, capped a little above `limit`.
    func estimateEntries(from lower: [UInt8], below upper: [UInt8], limit: Int) throws -> Int
    /// Returns the fields of a collection's documents that are not indexed; see `IndexExemption`.
    func exemptFields(of collection: Int64) throws -> Set<String>
    /// Returns the number of a composite index that contains all documents of a collection; nil if
    /// it does not exist or is not complete.
    func readyComposite(_ index: CompositeIndex, of collection: Int64) throws -> Int64?
    /// Reports a composite index from which the query that is being planned would benefit.
    func suggest(_ index: CompositeIndex, of collection: Int64)

    // MARK: Collections

    /// Returns the collections with paths (`KeyBytes.path`) from `lower` up to, but not including,
    /// `upper`; only those with the given id, if any.
    func collections(from lower: [UInt8], below upper: [UInt8], named id: [UInt8]?) throws -> [Int64]
    /// Returns the first path of a collection in the range.
    func firstCollection(from lower: [UInt8], below upper: [UInt8]) throws -> [UInt8]?
    /// Whether a collection had documents at a time.
    func holdsDocuments(_ collection: Int64, at time: Int64) throws -> Bool

    // MARK: Log

    /// The time after which the log is complete.
    func horizon() throws -> Int64
    /// Whether a document was changed at a time. Also true if the time is before the log's horizon.
    func hasCommit(at time: Int64?) throws -> Bool
    /// Returns the number of changes after `start` up to `end`, at most `limit`.
    func changeCount(after start: Int64, through end: Int64, limit: Int) throws -> Int
    /// Calls `body` with the document of each change after `start` up to `end`, in no order, until it
    /// returns false. A document that was changed several times may occur as often.
    func readChangedDocuments(
        after start: Int64, through end: Int64, _ body: (_ collection: Int64, _ id: [UInt8]) throws -> Bool) throws
    /// Calls `body` with each change after `start` up to `end`, oldest first, until it returns
    /// false.
    func readChanges(after start: Int64, through end: Int64, _ body: (StoredChange) throws -> Bool) throws

    // MARK: Accounts

    /// Returns the number of documents that a user owns.
    func documentCount(of owner: String) throws -> Int64
    /// Reports a document that could not be read.
    func reportDamage(_ error: StoredDataError)
}

/// The handling of a row whose checksum does not match.
package enum DamageHandling: Sendable {
    /// The read throws `StoredDataError.damaged`, because a result that lacks a document would be
    /// wrong.
    case fails
    /// The row is treated as absent. Used for listeners, which would otherwise not be notified of
    /// any other document.
    case isSkipped
}

/// One change in the log.
package struct StoredChange {
    package let time: Int64
    package let collection: Int64
    package let id: [UInt8]
    /// The version that was replaced; nil if there was none, or if the row is damaged.
    package let replaced: Version?
    /// False if the row is damaged, and even its name may be wrong.
    package let isIntact: Bool

    package struct Version {
        package let createTime: Int64
        package let updateTime: Int64
        package let fields: [UInt8]

        package init(createTime: Int64, updateTime: Int64, fields: [UInt8]) {
            self.createTime = createTime
            self.updateTime = updateTime
            self.fields = fields
        }
    }

    package init(time: Int64, collection: Int64, id: [UInt8], replaced: Version?, isIntact: Bool = true) {
        self.time = time
        self.collection = collection
        self.id = id
        self.replaced = replaced
        self.isIntact = isIntact
    }
}

/// The result of reading a document: the document, nil if it does not exist, or that it cannot be
/// read.
enum DocumentFinding<Value: Sendable>: Sendable {
    case known(Value?)
    case damaged
}

extension StoreSnapshot {
    package func prefetch(_ names: ArraySlice<DocumentName>) {}

    /// Returns the version as of `time`, which must be within the log.
    func document(_ name: DocumentName, at time: Int64) throws -> EncodedDocument? {
        guard let collection = try collection(name.collectionPath) else { return nil }
        return try document(name, collection: collection, id: Array(name.id.utf8), at: time)
    }

    /// Throws unless the log reaches back to `time`.
    func checkHorizon(_ time: Int64) throws {
        guard try horizon() <= time else {
            throw DocumentStoreError(.failedPrecondition, "The requested 'read_time' is too old.")
        }
    }

    /// Reads a document for a listener. A damaged document must neither stop the reporting of
    /// others nor be reported as deleted.
    func unlessDamaged<Value>(_ read: () throws -> Value?) throws -> DocumentFinding<Value> {
        let former = damage
        damage = .fails
        defer { damage = former }
        do {
            return .known(try read())
        } catch let error as StoredDataError {
            guard case .damaged = error else { throw error }
            reportDamage(error)
            return .damaged
        }
    }
}

extension EncodedDocument {
    package init(name: DocumentName, createTime: Int64, updateTime: Int64, fields: [UInt8]) {
        self.init(
            name: name, fields: EncodedFields(bytes: fields), createTime: Timestamp(microseconds: createTime),
            updateTime: Timestamp(microseconds: updateTime))
    }
}

/// A contradiction between stored rows: they were damaged or changed by other means.
package enum StoredDataError: Error, CustomStringConvertible {
    /// The checksum of a row of the document at this path does not match.
    case damaged(String)
    case missingCollection(Int64)
    case badID(Int64)
    case missingDocument(Int64)

    package var description: String {
        switch self {
        case .damaged(let path): "\(path) is damaged."
        case .missingCollection(let number): "The table of collections lacks number \(number)."
        case .missingDocument(let number): "The index refers to document number \(number), which is not there."
        case .badID(let number): "A document of collection number \(number) has an id that is not UTF-8."
        }
    }
}
