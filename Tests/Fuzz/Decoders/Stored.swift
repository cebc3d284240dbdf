import DocumentModel
import FirestoreProtocol
import JSON
import TaskModel
import Ustar

@testable import DocumentClient
@testable import DocumentStore
@testable import FerryCLI
@testable import FirestoreServer
@testable import ObjectStorage

// Decoders of bytes from disks, and of tokens that a client keeps and sends back.

func decodeREST(_ input: [UInt8]) {
    guard let json = try? JSON(parsing: input, depth: RESTReader.maximumDepth) else { return }
    if let value = try? RESTReader.value(json) {
        let again = (try? JSON(parsing: RESTWriter.write(value), depth: RESTReader.maximumDepth)).flatMap {
            try? RESTReader.value($0)
        }
        check(again == value, "\(value) is read again as \(String(describing: again))")
    }
    if let document = try? RESTReader.document(json) {
        let again = (try? JSON(parsing: RESTWriter.write(document), depth: RESTReader.maximumDepth)).flatMap {
            try? RESTReader.document($0)
        }
        check(again == document, "\(document) is read again as \(String(describing: again))")
    }
}

func decodeNames(_ input: [UInt8]) {
    let text = String(decoding: input, as: UTF8.self)
    if let name = try? DocumentName(parsing: text) {
        check((try? DocumentName(parsing: name.description)) == name, "the name \(name)")
        _ = (name.id, name.collectionID, name.collectionPath, name.parent, name.segments)
        let key = KeyBytes.path(name.path)
        check(key.withUnsafeBytes { KeyBytes.decodePath($0) } == name.path, "the key of \(name)")
    }
    if let parent = try? ParentName(parsing: text) {
        check((try? ParentName(parsing: parent.description)) == parent, "the parent \(parent)")
    }
    if let path = try? FieldPath(parsing: text) {
        // Quoting may make the path longer than the limit of a path.
        if path.description.utf8.count <= 1500 {
            check((try? FieldPath(parsing: path.description)) == path, "the field path \(path)")
        }
    }
    if let database = try? DatabaseName(parsing: text) {
        check((try? DatabaseName(parsing: database.description)) == database, "the database \(database)")
    }
}

/// Decodes resume tokens, page tokens, transaction ids and tokens of write streams.
func decodeTokens(_ input: [UInt8]) {
    if case .time(let time) = ListenMachine.parse(token: input, epoch: Array(input.dropFirst().prefix(8))) {
        check(
            ListenMachine.token(time, epoch: Array(input.dropFirst().prefix(8))) == input, "the resume token of \(time)"
        )
    }
    let transaction = TransactionID(bytes: input, account: "a")
    if transaction.kind != nil { _ = transaction.number }
    check(!transaction.isAuthentic(Array(input.prefix(8))), "a transaction id that no store made")
    let text = String(decoding: input, as: UTF8.self)
    if let token = (try? PageToken(parsing: text)) ?? nil {
        let again = (try? PageToken(parsing: token.description)) ?? nil
        check(again?.text == token.text && again?.time == token.time, "the page token \(token)")
        let root = ParentName(DatabaseName(project: "p"))
        for collection in ["", "c"] {
            let listing = DocumentListing(parent: root, collectionID: collection)
            guard let name = try? listing.name(of: token, in: root.database) else { continue }
            check(UTF8Order.areEqual(listing.tokenText(name), token.text), "the place \(name) of a page token")
        }
    }
    let parts = input.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
    let handshake = WriteRequest(
        streamID: String(decoding: parts.first ?? [], as: UTF8.self), streamToken: input)
    if let token = try? WriteStreamToken(resuming: handshake), !handshake.streamID.isEmpty, !input.isEmpty {
        check(token.stream == handshake.streamID && token.count >= 0, "the stream token of \(token.stream)")
    }
}

/// Decodes keys of the database file, which may be damaged.
func decodeStoredKeys(_ input: [UInt8]) {
    _ = input.withUnsafeBytes { KeyBytes.decodePath($0) }
    if let index = CompositeIndex(path: input) {
        check(CompositeIndex(path: index.path)?.path == index.path, "the composite index of \(input)")
    }
    if let fields = try? EncodedFields(bytes: input).decoded() {
        check((try? EncodedFields(fields).decoded()) == fields, "stored fields")
        _ = TaskItem(fields: fields)
    }
}

func decodeJournal(_ input: [UInt8]) {
    guard let record = try? MutationRecord(decoding: input) else { return }
    let encoded = record.encoded()
    check((try? MutationRecord(decoding: encoded))?.encoded() == encoded, "a mutation of the journal")
}

/// Decodes a task file. The first line is the file's name.
func decodeTaskFile(_ input: [UInt8]) {
    let end = input.firstIndex(of: 0x0a) ?? 0
    let name = String(decoding: input[..<end], as: UTF8.self)
    guard let file = try? TaskFile(parsing: Array(input[end...].dropFirst()), named: name) else { return }
    var item = file.item
    if let same = try? file.updated(to: item) { check(same.bytes == file.bytes, "an update to what it says") }
    item.notes += "\nmore"
    item.tags = ["a", "b c"]
    item.completed.toggle()
    guard let changed = try? file.updated(to: item) else { return }
    check(changed.item.tags == item.tags && changed.item.completed == item.completed, "an update is read back")
}

/// Decodes a task's document, which any client may have written.
func decodeTaskDocument(_ input: [UInt8]) {
    guard let fields = try? EncodedFields(bytes: input).decoded() else { return }
    let item = TaskItem(fields: fields)
    let file = TaskFileName.file(for: item.title)
    guard let made = try? TaskFile.make(for: item, named: file.name, writesTitle: !file.carriesTitle) else { return }
    check((try? TaskFile(parsing: made.bytes, named: file.name)) != nil, "the file of a task is read back")
}

func decodeTodoLine(_ input: [UInt8]) {
    _ = TodoLine.record(String(decoding: input, as: UTF8.self))
    _ = try? TaskRecord.record(input[...])
    _ = SourceText.lines(SourceText.content(input), carriageReturnsEnd: true)
}

func decodeChunk(_ input: [UInt8]) {
    guard let chunk = try? ChunkCodec.decode(input, limit: 1 << 20) else { return }
    check(chunk.count <= 1 << 20, "a chunk of \(chunk.count) bytes")
    let again = try? ChunkCodec.encode(Array(chunk), type: .octetStream)
    let same = try? ChunkCodec.decode(again ?? [], limit: 1 << 20)
    check(same.map(Array.init) == Array(chunk), "a chunk is read back")
}

func decodeArchive(_ input: [UInt8]) {
    guard let files = try? Ustar.files(in: input) else { return }
    let known = files.filter { Ustar.canName($0.name) }
    var archive: [UInt8] = []
    for file in known { Ustar.append(Array(file.content), named: file.name, to: &archive) }
    Ustar.end(&archive)
    let again = try? Ustar.files(in: archive)
    check(
        again?.map(\.name) == known.map(\.name) && again?.map(\.content.count) == known.map(\.content.count),
        "an archive")
}

func decodeManifest(_ input: [UInt8]) {
    guard let manifest = try? Manifest(parsing: input) else { return }
    check((try? Manifest(parsing: manifest.bytes)) == manifest, "a manifest is read back")
}
