import DocumentModel
import DocumentStore
import FirestoreProtocol
import HTTPMessages
import Testing

@testable import FirestoreServer

/// Checks which method a path of the REST interface calls, and with what.
struct RESTRouteTests {
    private static let database = "/v1/projects/p/databases/(default)"

    private func route(_ method: HTTPMethod, _ path: String) throws -> RESTRoute? {
        try RESTRoute.find(method, try #require(HTTPTarget(Self.database + path)))
    }

    @Test(arguments: [
        ("GET", "/documents/a/b", "GetDocument"), ("PATCH", "/documents/a/b/c/d", "UpdateDocument"),
        ("DELETE", "/documents/a/b", "DeleteDocument"), ("GET", "/documents/a", "ListDocuments"),
        ("POST", "/documents/a/b/c", "CreateDocument"), ("POST", "/documents:batchGet", "BatchGetDocuments"),
        ("POST", "/documents:commit", "Commit"), ("POST", "/documents/a/b:runQuery", "RunQuery"),
        ("POST", "/documents:runAggregationQuery", "RunAggregationQuery"),
        ("POST", "/documents:listCollectionIds", "ListCollectionIds"),
        // An id may have a colon, which is a verb's only where it was not escaped.
        ("GET", "/documents/a/b:commit", "GetDocument"), ("POST", "/documents/a/b/c%3AbatchGet", "CreateDocument"),
        ("GET", "/documents/a/%C3%BC%20%25", "GetDocument"),
    ])
    func methodsAreFound(method: HTTPMethod, path: String, name: String) throws {
        #expect(try route(method, path)?.operation.name == name)
    }

    @Test(arguments: [
        ("GET", "/documents"), ("POST", "/documents/a/b"), ("PUT", "/documents/a/b"), ("GET", "/documents/a/b%2Fc"),
        ("GET", "/documents/a//c"), ("POST", "/documents/a:commit"), ("POST", "/documents/a:runQuery"),
    ])
    func otherPathsAreRefused(method: HTTPMethod, path: String) throws {
        let error = try #require(throws: DocumentStoreError.self) { try route(method, path) }
        #expect(error.code == .notFound)
    }

    @Test(arguments: ["listen", "write"]) func streamsAreRefusedByName(verb: String) throws {
        let error = try #require(throws: DocumentStoreError.self) { try route("POST", "/documents:\(verb)") }
        #expect(error.code == .unimplemented && error.message.contains(verb))
    }

    @Test(arguments: ["/v1/accounts:lookup", "/v1/projects/p/accounts", "/bucket/key", "/v1/projects/p/databases/d"])
    func otherInterfacesAreLeftAlone(path: String) throws {
        #expect(try RESTRoute.find(.post, try #require(HTTPTarget(path))) == nil)
    }

    /// The path wins over a body that names another document or database.
    @Test func thePathDecidesWhatIsMeant() throws {
        let update = try #require(try route(.patch, "/documents/a/b?updateMask.fieldPaths=x&key=any"))
        let name = "projects/p/databases/(default)/documents/a/b"
        let request = try UpdateDocumentRequest(
            decoding: update.request(
                try #require(HTTPTarget("/?updateMask.fieldPaths=x&key=any")).query,
                body: Array(#"{"name": "projects/q/databases/d/documents/e/f", "fields": {}}"#.utf8)))
        #expect(request.document.name == name && request.updateMask == [FieldPath(key: "x")])
        let commit = try #require(try route(.post, "/documents:commit"))
        let other = Array(#"{"database": "projects/q/databases/(default)"}"#.utf8)
        #expect(try CommitRequest(decoding: commit.request([], body: other)).database == DatabaseName(project: "p"))
    }
}
