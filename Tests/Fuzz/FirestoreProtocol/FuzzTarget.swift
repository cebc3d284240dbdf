import DocumentModel
import FirestoreProtocol
import Glibc

/// libFuzzer's entry: the first byte chooses the message, the rest is its bytes. What can be read must be written and read again.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzFirestoreProtocol(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
    let types: [any ProtobufMessage.Type] = [
        Value.self, Document.self, Write.self, ListDocumentsRequest.self, ListDocumentsResponse.self,
        CreateDocumentRequest.self, BatchGetDocumentsRequest.self, BatchGetDocumentsResponse.self, CommitRequest.self,
        CommitResponse.self, RunQueryRequest.self, RunQueryResponse.self, RunAggregationQueryRequest.self,
        RunAggregationQueryResponse.self, PartitionQueryRequest.self, PartitionQueryResponse.self,
        ExecutePipelineRequest.self, ExecutePipelineResponse.self, WriteRequest.self, WriteResponse.self,
        ListenRequest.self, ListenResponse.self, BatchWriteRequest.self, BatchWriteResponse.self,
        BeginTransactionRequest.self, RPCStatus.self,
    ]
    let input = UnsafeBufferPointer(start: data, count: size)
    guard let choice = input.first else { return 0 }
    let type = types[Int(choice) % types.count]
    guard let message = try? type.init(decoding: Array(input.dropFirst())) else { return 0 }
    let encoded = message.encoded()
    guard let again = try? type.init(decoding: encoded), again.encoded() == encoded else { abort() }
    useSemantics(message)
    return 0
}

/// The checks that a server makes of what it decoded must not trap either.
private func useSemantics(_ message: any ProtobufMessage) {
    switch message {
    case let value as Value:
        _ = OrderingKey(value)
        _ = Value.compare(value, value)
    case let write as Write: apply(write)
    case let commit as CommitRequest: commit.writes.forEach(apply)
    case let request as RunQueryRequest: plan(request.query)
    case let request as RunAggregationQueryRequest:
        plan(request.query)
        _ = try? Aggregator(request.aggregations)
    case let request as ListenRequest:
        if case .add(let target)? = request.change, case .query(let query) = target.content { plan(query) }
    default: break
    }
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
