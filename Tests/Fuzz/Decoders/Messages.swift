import DocumentModel
import FirestoreProtocol

/// The message types in the order of the golden messages' choices. Only append to the list.
private let messageTypes: [any ProtobufMessage.Type] = [
    Value.self, Document.self, Write.self, ListDocumentsRequest.self, ListDocumentsResponse.self,
    CreateDocumentRequest.self, BatchGetDocumentsRequest.self, BatchGetDocumentsResponse.self, CommitRequest.self,
    CommitResponse.self, RunQueryRequest.self, RunQueryResponse.self, RunAggregationQueryRequest.self,
    RunAggregationQueryResponse.self, PartitionQueryRequest.self, PartitionQueryResponse.self,
    ExecutePipelineRequest.self, ExecutePipelineResponse.self, WriteRequest.self, WriteResponse.self,
    ListenRequest.self, ListenResponse.self, BatchWriteRequest.self, BatchWriteResponse.self,
    BeginTransactionRequest.self, RPCStatus.self, GetDocumentRequest.self, UpdateDocumentRequest.self,
    DeleteDocumentRequest.self, BeginTransactionResponse.self, RollbackRequest.self, ListCollectionIDsRequest.self,
    ListCollectionIDsResponse.self, EncodedDocument.self, DocumentDraft.self, ErrorInfo.self, EmptyMessage.self,
]

/// Decodes a message. The first byte selects the type, and the rest is its content.
func decodeMessage(_ input: [UInt8]) {
    guard let choice = input.first else { return }
    let type = messageTypes[Int(choice) % messageTypes.count]
    guard let message = try? type.init(decoding: Array(input.dropFirst())) else { return }
    let encoded = message.encoded()
    let again = try? type.init(decoding: encoded)
    check(again?.encoded() == encoded, "\(type) is not read again as it was written")
    useSemantics(message)
}

/// Runs the checks that a server makes of a decoded message, which must not trap either.
private func useSemantics(_ message: any ProtobufMessage) {
    switch message {
    case let value as Value:
        _ = OrderingKey(value)
        check(Value.compare(value, value) == 0, "a value is not equal to itself")
        apply(
            Write(
                .update(documentName, fields: ["f": value]),
                transforms: [FieldTransform(FieldPath(key: "f"), .increment(value))]))
    case let write as Write: apply(write)
    case let commit as CommitRequest: commit.writes.forEach(apply)
    case let request as RunQueryRequest: plan(request.query)
    case let request as RunAggregationQueryRequest:
        plan(request.query)
        if let aggregator = try? Aggregator(request.aggregations, of: request.query) { plan(aggregator.query) }
    case let request as ListenRequest:
        if case .add(let target)? = request.change, case .query(let query) = target.content { plan(query) }
    case let document as EncodedDocument: if let document = try? Document(document) { project(document) }
    default: break
    }
}

/// Reads stored fields in the way of queries.
private func project(_ document: Document) {
    let fields = EncodedFields(document.fields)
    let keys = Set(document.fields.keys.prefix(2))
    let some = try? fields.decoded(only: keys)
    check(some == document.fields.filter { keys.contains($0.key) }, "some fields are not those of the whole")
}

private func apply(_ write: Write) {
    let time = Timestamp(microseconds: 1)
    guard let outcome = try? WriteApplication.apply(write, to: nil, at: time) else { return }
    _ = try? WriteApplication.apply(write, to: outcome.document, at: time)
}

private func plan(_ query: Query) {
    guard let plan = try? QueryPlan(query), let name = try? DocumentName(database: query.parent.database, path: "c/a")
    else { return }
    let time = Timestamp(microseconds: 1)
    _ = plan.results(among: [Document(name: name, fields: [:], createTime: time, updateTime: time)])
}

private let documentName = {
    guard let name = try? DocumentName(database: DatabaseName(project: "p"), path: "c/a") else {
        preconditionFailure("the name is good")
    }
    return name
}()
