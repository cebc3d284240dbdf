import DocumentModel
import Foundation
import Testing

@testable import FirestoreProtocol

/// Messages encoded by the official Python client; see Golden/make-messages.py.
struct GoldenMessage: CustomTestStringConvertible {
    let type: any ProtobufMessage.Type
    let name: String
    let bytes: [UInt8]

    var testDescription: String { "\(type) \(name)" }

    static let all: [GoldenMessage] = {
        let path = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Golden/messages.txt")
        let text = (try? String(contentsOf: path, encoding: .utf8)) ?? ""
        return text.split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ")
            guard words.count == 3, let type = types["\(words[0])"] else { return nil }
            return GoldenMessage(type: type, name: String(words[1]), bytes: bytes(words[2]))
        }
    }()

    static func bytes(of type: any ProtobufMessage.Type, _ name: String) -> [UInt8]? {
        all.first { $0.type == type && $0.name == name }?.bytes
    }

    private static func bytes(_ hex: Substring) -> [UInt8] {
        let digits = hex.compactMap(\.hexDigitValue)
        return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }

    private static let types: [String: any ProtobufMessage.Type] = {
        let types: [any ProtobufMessage.Type] = [
            Value.self, Document.self, Write.self, WriteResult.self, DocumentMask.self, TransactionOptions.self,
            RPCStatus.self, EmptyMessage.self, GetDocumentRequest.self, ListDocumentsRequest.self,
            ListDocumentsResponse.self, CreateDocumentRequest.self, UpdateDocumentRequest.self,
            DeleteDocumentRequest.self, BatchGetDocumentsRequest.self, BatchGetDocumentsResponse.self,
            BeginTransactionRequest.self, BeginTransactionResponse.self, CommitRequest.self, CommitResponse.self,
            RollbackRequest.self, RunQueryRequest.self, RunQueryResponse.self, RunAggregationQueryRequest.self,
            RunAggregationQueryResponse.self, PartitionQueryRequest.self, PartitionQueryResponse.self,
            ExecutePipelineRequest.self, ExecutePipelineResponse.self, WriteRequest.self, WriteResponse.self,
            ListenRequest.self, ListenResponse.self, ListCollectionIDsRequest.self, ListCollectionIDsResponse.self,
            BatchWriteRequest.self, BatchWriteResponse.self,
        ]
        return Dictionary(uniqueKeysWithValues: types.map { ("\($0)", $0) })
    }()
}
