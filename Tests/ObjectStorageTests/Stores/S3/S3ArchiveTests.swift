import HTTP
import Testing

@testable import ObjectStorage

@Suite struct S3ArchiveTests {
    /// Puts three objects at once. Answers what the server saw of them, and the error of each.
    private func putThree(_ answers: ScriptedServer.Answer...) async throws -> ([HTTPServerRequest], [String?]) {
        let server = ScriptedServer(answers: answers)
        let store = try await server.store(putsTogether: true)
        let puts = try ["u/a", "u/b", "u/c"].map { PutQueue.Put(key: try ObjectKey($0), content: Array($0.utf8)) }
        let errors = await store.put(puts).map { result in
            if case .failure(let error) = result { "\(error)" } else { String?.none }
        }
        await server.stop()
        return (server.seen, errors)
    }

    private static func found(_ count: Int) -> ScriptedServer.Answer {
        { _ in HTTPResponse(.ok, headers: ["ETag": "\"e\"", "x-ferry-objects": "\(count)"]) }
    }

    @Test func `puts that go together are one request`() async throws {
        let (seen, errors) = try await putThree(Self.found(3))
        #expect(seen.count == 1 && errors == [nil, nil, nil])
        #expect(seen[0].target.path == "/ferry/u/a.tar")
        #expect(seen[0].headers["x-amz-meta-snowball-auto-extract"] == "true")
    }

    @Test func `a store that keeps an archive as it is gets its objects one by one`() async throws {
        let deleted: ScriptedServer.Answer = { _ in HTTPResponse(.noContent, headers: ["x-amz-request-id": "1"]) }
        for answer in [ScriptedServer.stored, Self.found(2)] {
            let (seen, errors) = try await putThree(answer, deleted, ScriptedServer.stored)
            #expect(
                seen.map { "\($0.method) \($0.target.path)" } == [
                    "PUT /ferry/u/a.tar", "DELETE /ferry/u/a.tar", "PUT /ferry/u/a", "PUT /ferry/u/b", "PUT /ferry/u/c",
                ])
            #expect(errors == [nil, nil, nil])
        }
    }

    @Test func `where an archive is refused, the object that is to blame is named`() async throws {
        let (seen, errors) = try await putThree(
            ScriptedServer.error(.forbidden, "AccessDenied"), ScriptedServer.stored,
            ScriptedServer.error(.forbidden, "AccessDenied"), ScriptedServer.stored)
        #expect(seen.count == 4 && errors[0] == nil && errors[2] == nil)
        #expect(errors[1]?.contains("u/b") == true)
        let (again, failures) = try await putThree(ScriptedServer.error(.serviceUnavailable, "SlowDown"))
        // All of them are tried again by whoever has put them.
        #expect(again.count == 1 && failures.allSatisfy { $0 != nil })
    }
}
