package import DocumentModel

/// The message `google.firestore.v1.Target`: a query or documents to listen to, with an id that the
/// client chooses.
package struct ListenTarget: ProtobufMessage, Hashable {
    package enum Content: Sendable, Hashable {
        case query(Query)
        case documents([DocumentName])
        /// An invalid target, which is only decoded and never encoded. A server rejects this
        /// target, and the stream continues.
        case invalid(ProtocolError)
    }

    /// The state from which on changes are requested.
    package enum Resume: Sendable, Hashable {
        /// The token of a target change. It is never empty, because an empty token counts as none.
        case token([UInt8])
        case readTime(Timestamp)
    }

    package var content: Content
    package var id: Int32
    package var resume: Resume?
    /// Whether the target is removed once it is current.
    package var once: Bool
    /// The number of documents that the client has, if it resumes.
    package var expectedCount: Int32?

    package init(
        _ content: Content, id: Int32, resume: Resume? = nil, once: Bool = false, expectedCount: Int32? = nil
    ) {
        self.content = content
        self.id = id
        self.resume = resume
        self.once = once
        self.expectedCount = expectedCount
    }

    package init(from reader: inout ProtobufReader) throws(ProtocolError) {
        self.init(.invalid(ProtocolError(.invalid, "Target has neither query nor documents.")), id: 0)
        while try reader.next() {
            switch reader.field {
            case 2:
                content = try Self.content { () throws(ProtocolError) in
                    .query(try reader.message(QueryTarget.self).query)
                }
            case 3:
                content = try Self.content { () throws(ProtocolError) in
                    .documents(try reader.message(DocumentsTarget.self).documents)
                }
            case 4:
                let token = try reader.bytes()
                resume = token.isEmpty ? nil : .token(token)
            case 5: id = try reader.int32()
            case 6: once = try reader.bool()
            case 11: resume = .readTime(try reader.message())
            case 12: expectedCount = try reader.message(Int32Value.self).value
            default: try reader.skip()
            }
        }
    }

    package func encode(to writer: inout ProtobufWriter) {
        switch content {
        case .query(let query): writer.write(QueryTarget(query: query), field: 2)
        case .documents(let documents): writer.write(DocumentsTarget(documents: documents), field: 3)
        case .invalid: break
        }
        if case .token(let token)? = resume { writer.write(token, field: 4) }
        writer.writeUnlessDefault(id, field: 5)
        writer.writeUnlessDefault(once, field: 6)
        if case .readTime(let time)? = resume { writer.write(time, field: 11) }
        writer.writeIfPresent(expectedCount.map { Int32Value($0) }, field: 12)
    }

    /// Reads content, and returns invalid content as `.invalid`. Malformed bytes are still an error
    /// of the stream.
    private static func content(_ read: () throws(ProtocolError) -> Content) throws(ProtocolError) -> Content {
        do throws(ProtocolError) {
            return try read()
        } catch {
            guard error.code == .invalid else { throw error }
            return .invalid(error)
        }
    }
}

/// The message `google.firestore.v1.Target.QueryTarget`.
private struct QueryTarget: ProtobufMessage {
    var query: Query

    init(query: Query) { self.query = query }

    init(from reader: inout ProtobufReader) throws(ProtocolError) {
        var parent = ""
        var query: StructuredQuery?
        while try reader.next() {
            switch reader.field {
            case 1: parent = try reader.string()
            case 2: query = try reader.message()
            default: try reader.skip()
            }
        }
        self.query = try StructuredQuery.require(query, parent: parent)
    }

    func encode(to writer: inout ProtobufWriter) {
        writer.write(query.parent.description, field: 1)
        writer.write(StructuredQuery(query), field: 2)
    }
}

/// The message `google.firestore.v1.Target.DocumentsTarget`.
private struct DocumentsTarget: ProtobufMessage {
    var documents: [DocumentName]

    init(documents: [DocumentName]) { self.documents = documents }

    init(from reader: inout ProtobufReader) throws(ProtocolError) {
        documents = []
        while try reader.next() {
            if reader.field == 2 {
                documents.append(try DocumentName(message: try reader.string()))
            } else {
                try reader.skip()
            }
        }
    }

    func encode(to writer: inout ProtobufWriter) {
        for document in documents { writer.write(document.description, field: 2) }
    }
}
