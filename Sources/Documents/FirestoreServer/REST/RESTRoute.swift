import DocumentStore
import FirestoreProtocol
import HTTPMessages
import JSON

/// The method that a request of the REST interface calls, as the annotations of the published
/// service map paths and methods to it.
struct RESTRoute: Hashable, Sendable {
    /// A method of the service and the types of its messages.
    struct Operation: Hashable, Sendable {
        let name: String
        let request: MessageType
        let response: MessageType

        init(_ name: String, _ request: MessageType, _ response: MessageType) {
            self.name = name
            self.request = request
            self.response = response
        }
    }

    let operation: Operation
    /// The members of the request that the path has.
    private(set) var bound: [String: String]
    /// Whether the body is the member `document` rather than the whole request.
    private(set) var bodyIsDocument = false
    /// Whether the request has a body; otherwise its members are in the query string.
    private(set) var hasBody = false

    /// Returns the route of a request.
    ///
    /// - Returns: Nil if the path is none of this interface's.
    /// - Throws: `DocumentStoreError` with `.unimplemented` or `.notFound` for a path of the
    ///   interface without an operation.
    static func find(_ method: HTTPMethod, _ target: HTTPTarget) throws(DocumentStoreError) -> RESTRoute? {
        var path = target.segments
        guard path.count >= 6, path[0] == "v1", path[1] == "projects", path[3] == "databases", let last = path.last
        else { return nil }
        // A colon that was sent escaped is part of an id.
        let verb = target.rawPath.split(separator: "/").last.flatMap { raw -> String? in
            guard method == .post, let colon = raw.lastIndex(of: ":") else { return nil }
            let verb = String(raw[raw.index(after: colon)...])
            return verbs[verb] != nil || refused.contains(verb) ? verb : nil
        }
        if let verb { path[path.count - 1] = String(last.dropLast(verb.count + 1)) }
        // REST clients for Python put a slash before the colon.
        if verb != nil, path.last?.isEmpty == true { path.removeLast() }
        guard path[5] == "documents" else { return nil }
        path.removeFirst()
        // An id with a slash would be two segments of the name.
        guard path.allSatisfy({ !$0.isEmpty && !$0.contains("/") }) else { throw notFound(method, target) }
        if let verb { return try called(verb, path, target) }
        let name = path.joined(separator: "/")
        let isDocument = path.count > 5 && path.count.isMultiple(of: 2) == false
        switch (method, isDocument) {
        case (.get, true):
            return RESTRoute(operation: Operation("GetDocument", .getDocumentRequest, .document), bound: ["name": name])
        case (.patch, true):
            return RESTRoute(
                operation: Operation("UpdateDocument", .updateDocumentRequest, .document),
                bound: ["document.name": name], bodyIsDocument: true, hasBody: true)
        case (.delete, true):
            return RESTRoute(
                operation: Operation("DeleteDocument", .deleteDocumentRequest, .empty), bound: ["name": name])
        case (.get, false) where path.count > 5:
            return RESTRoute(
                operation: Operation("ListDocuments", .listDocumentsRequest, .listDocumentsResponse),
                bound: collection(path))
        case (.post, false) where path.count > 5:
            return RESTRoute(
                operation: Operation("CreateDocument", .createDocumentRequest, .document), bound: collection(path),
                bodyIsDocument: true, hasBody: true)
        default: throw notFound(method, target)
        }
    }

    private static func called(
        _ verb: String, _ path: [String], _ target: HTTPTarget
    ) throws(DocumentStoreError) -> RESTRoute {
        guard !refused.contains(verb) else {
            throw DocumentStoreError(
                .unimplemented, "\(verb) needs a stream in both directions. Use gRPC at the documents' address for it.")
        }
        guard let (operation, isOfParent) = verbs[verb], isOfParent || path.count == 5, !path.count.isMultiple(of: 2)
        else { throw notFound(.post, target) }
        let bound =
            isOfParent
            ? ["parent": path.joined(separator: "/")] : ["database": path.dropLast().joined(separator: "/")]
        return RESTRoute(operation: operation, bound: bound, hasBody: true)
    }

    private static func collection(_ path: [String]) -> [String: String] {
        ["parent": path.dropLast().joined(separator: "/"), "collectionId": path.last ?? ""]
    }

    private static func notFound(_ method: HTTPMethod, _ target: HTTPTarget) -> DocumentStoreError {
        DocumentStoreError(.notFound, "\(method) \(target.path.prefix(300)) is not an operation of this service.")
    }

    /// The methods of the service that a path ends with, and whether the path names a parent rather
    /// than the database.
    private static let verbs: [String: (operation: Operation, isOfParent: Bool)] = [
        "batchGet": (Operation("BatchGetDocuments", .batchGetDocumentsRequest, .batchGetDocumentsResponse), false),
        "beginTransaction": (
            Operation("BeginTransaction", .beginTransactionRequest, .beginTransactionResponse), false
        ),
        "commit": (Operation("Commit", .commitRequest, .commitResponse), false),
        "rollback": (Operation("Rollback", .rollbackRequest, .empty), false),
        "batchWrite": (Operation("BatchWrite", .batchWriteRequest, .batchWriteResponse), false),
        "executePipeline": (Operation("ExecutePipeline", .executePipelineRequest, .empty), false),
        "runQuery": (Operation("RunQuery", .runQueryRequest, .runQueryResponse), true),
        "runAggregationQuery": (
            Operation("RunAggregationQuery", .runAggregationQueryRequest, .runAggregationQueryResponse), true
        ),
        "partitionQuery": (Operation("PartitionQuery", .partitionQueryRequest, .partitionQueryResponse), true),
        "listCollectionIds": (
            Operation("ListCollectionIds", .listCollectionIDsRequest, .listCollectionIDsResponse), true
        ),
    ]

    private static let refused: Set<String> = ["listen", "write"]

    // MARK: Requests

    /// Returns the request message.
    ///
    /// - Parameter body: The body; empty for a request without one.
    /// - Throws: `ProtocolError`; `JSONError` for a body that is not JSON.
    func request(_ query: [HTTPTarget.QueryItem], body: [UInt8]) throws -> [UInt8] {
        let items = query.map { (name: $0.name, value: $0.value ?? "") }
        var message = try MessageJSON.object(query: items, as: operation.request, ignoring: Self.isSystemParameter)
        if hasBody {
            let json = body.isEmpty ? JSON.object([:]) : try JSON(parsing: body, depth: MessageJSON.maximumDepth)
            if bodyIsDocument {
                message["document"] = json
            } else if let members = json.objectValue {
                for (key, value) in members.members { message[key] = value }
            } else {
                throw ProtocolError(.invalid, "The body must be a JSON object.")
            }
        }
        for (member, value) in bound {
            if member == "document.name" {
                guard case .object(var document)? = message["document"] else {
                    throw ProtocolError(.invalid, "The body must be a JSON object.")
                }
                document["name"] = .string(value)
                message["document"] = .object(document)
            } else {
                message[member] = .string(value)
            }
        }
        return try MessageJSON.encode(.object(message), as: operation.request)
    }

    /// Whether an item of a query string is one that all of Google's REST interfaces accept.
    private static func isSystemParameter(_ name: String) -> Bool {
        systemParameters.contains(name) || name.hasPrefix("$")
    }

    private static let systemParameters: Set<String> = [
        "alt", "key", "prettyPrint", "fields", "quotaUser", "uploadType", "upload_protocol", "userIp",
    ]
}
