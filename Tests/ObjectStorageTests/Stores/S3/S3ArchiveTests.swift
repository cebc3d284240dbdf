import HTTPMessages
import HTTPServer
import Testing
import Ustar

@testable import ObjectStorage

@Suite struct S3ArchiveTests {
    /// Puts three objects at the same time. Returns the requests at the server, and the error of
    /// each put.
    private func putThree(_ answers: ScriptedServer.Answer...) async throws -> ([HTTPServerRequest], [String?]) {
        let server = ScriptedServer(answers: answers)
        let store = try await server.store(usesArchives: true)
        let puts = try ["u/a", "u/b", "u/c"].map {
            S3ObjectStore.SmallPut(key: try ObjectKey($0), content: Array($0.utf8))
        }
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
        // The callers retry all of them.
        #expect(again.count == 1 && failures.allSatisfy { $0 != nil })
    }

    /// Reads three objects at the same time. Returns the requests at the server, and the content or
    /// the error of each read.
    private func readThree(_ answers: ScriptedServer.Answer...) async throws -> ([String], [String]) {
        let server = ScriptedServer(answers: answers)
        let store = try await server.store(usesArchives: true)
        let reads = try ["u/a", "u/b", "u/c"].map { S3ObjectStore.SmallRead(key: try ObjectKey($0), limit: 10) }
        let contents = await store.read(reads).map { result in
            switch result {
            case .success(let content): String(decoding: content, as: UTF8.self)
            case .failure(let error): "\(error)"
            }
        }
        await server.stop()
        return (server.seen.map { "\($0.method) \($0.target.path)" }, contents)
    }

    private static func archive(_ names: String...) -> ScriptedServer.Answer {
        { _ in
            var archive: [UInt8] = []
            for name in names { Ustar.append(Array("of \(name)".utf8), named: name, to: &archive) }
            Ustar.end(&archive)
            return HTTPResponse(.ok, headers: ["x-ferry-objects": "\(names.count)"], body: .bytes(archive))
        }
    }

    @Test
    func `reads at the same time are one request, and objects missing from its response are requested separately`()
        async throws
    {
        let (seen, contents) = try await readThree(Self.archive("u/a", "u/b", "u/c"))
        #expect(seen == ["POST /ferry"] && contents == ["of u/a", "of u/b", "of u/c"])
        let (more, some) = try await readThree(
            Self.archive("u/a", "u/c"), ScriptedServer.error(.notFound, "NoSuchKey"))
        #expect(more == ["POST /ferry", "GET /ferry/u/b"] && some[0] == "of u/a" && some[2] == "of u/c")
        #expect(some[1].contains("u/b"))
    }

    @Test func `if one object of a group is too long, each is requested separately`()
        async throws
    {
        let content: ScriptedServer.Answer = { request in
            let length = request.target.path.hasSuffix("b") ? 9000 : 2
            return HTTPResponse(
                .ok, headers: ["ETag": "\"e\""], body: .bytes([UInt8](repeating: UInt8(ascii: "x"), count: length)))
        }
        let archive: ScriptedServer.Answer = { _ in
            var archive: [UInt8] = []
            Ustar.append([UInt8](repeating: 0, count: 9000), named: "u/b", to: &archive)
            Ustar.end(&archive)
            return HTTPResponse(.ok, headers: ["x-ferry-objects": "1"], body: .bytes(archive))
        }
        let (seen, contents) = try await readThree(archive, content)
        #expect(seen == ["POST /ferry", "GET /ferry/u/a", "GET /ferry/u/b", "GET /ferry/u/c"])
        #expect(contents[0] == "xx" && contents[2] == "xx" && contents[1].contains("9000 bytes"))
    }

    @Test func `a server without archives is sent one request per object`() async throws {
        let content: ScriptedServer.Answer = { _ in
            HTTPResponse(.ok, headers: ["ETag": "\"e\""], body: .bytes(Array("it".utf8)))
        }
        let (seen, contents) = try await readThree(ScriptedServer.error(.methodNotAllowed, "MethodNotAllowed"), content)
        #expect(seen == ["POST /ferry", "GET /ferry/u/a", "GET /ferry/u/b", "GET /ferry/u/c"])
        #expect(contents == ["it", "it", "it"])
        // The callers retry all of them.
        let (again, failures) = try await readThree(ScriptedServer.error(.serviceUnavailable, "SlowDown"))
        #expect(again.count == 1 && failures.allSatisfy { $0.contains("SlowDown") })
    }
}
