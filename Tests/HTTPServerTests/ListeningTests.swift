import Glibc
import HTTPClient
import HTTPMessages
import HTTPServer
import HTTPTestKit
import SystemTestKit
import Testing

@Suite(.timeLimit(.minutes(1)))
struct ListeningTests {
    @Test func `a Unix socket is private and names the peer`() async throws {
        try await withTemporaryDirectory { directory in
            let path = "\(directory)/socket"
            try await withServer(.unix(path: path)) { request in
                #expect(request.peer.credentials?.processID == getpid())
                #expect(request.peer.credentials?.userID == getuid())
                return .text(.ok, request.target.path)
            } run: { _ in
                var info = stat()
                #expect(stat(path, &info) == 0 && info.st_mode & 0o777 == 0o600)
                let response = try await HTTPClient().send(HTTPRequest(.get, "http://ferry/v1/x", socketPath: path))
                #expect(try await response.body.collect(limit: 10) == Array("/v1/x".utf8))
            }
            #expect(access(path, F_OK) != 0)
        }
    }

    @Test func `a socket file is replaced only if no server answers`() async throws {
        try await withTemporaryDirectory { directory in
            let path = "\(directory)/socket"
            try await withServer(.unix(path: path), handler: { _ in HTTPResponse() }) { _ in
                let second = HTTPServer(.unix(path: path)) { _ in HTTPResponse() }
                let error = #expect(throws: HTTPError.self) { try second.start() }
                #expect(error?.code == .cannotListen)
                // Simulate the socket file that a killed process leaves.
                #expect(rename(path, "\(directory)/file") == 0)
            }
            #expect(rename("\(directory)/file", path) == 0)
            try await withServer(.unix(path: path), handler: { _ in .text(.ok, "second") }) { _ in
                let response = try await HTTPClient().send(HTTPRequest(.get, "http://ferry/", socketPath: path))
                #expect(response.status == .ok)
            }
            #expect(close(open(path, O_CREAT | O_RDWR, 0o600)) == 0)
            let third = HTTPServer(.unix(path: path)) { _ in HTTPResponse() }
            #expect(throws: HTTPError.self) { try third.start() }
        }
    }

    @Test func `a port in use is named together with the remedy`() async throws {
        try await withServer { _ in
            HTTPResponse()
        } run: { url in
            let port = port(of: url)
            let second = HTTPServer(.tcp(host: "127.0.0.1", port: port)) { _ in HTTPResponse() }
            let error = #expect(throws: HTTPError.self) { try second.start() }
            #expect(error?.code == .cannotListen)
            #expect(error?.message.contains("port \(port) is in use") == true)
        }
    }

    @Test func `an inherited descriptor is served`() async throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #expect(listen(descriptor, 5) == 0)
        let server = HTTPServer(.descriptor(descriptor)) { _ in .text(.ok, "inherited") }
        let address = try server.start()
        guard case .tcp(_, let port) = address else {
            Issue.record("not an address: \(address)")
            return
        }
        let response = try await HTTPClient().send(HTTPRequest(.get, "http://127.0.0.1:\(port)/"))
        #expect(response.status == .ok)
        await server.stop()
        #expect(throws: HTTPError.self) { try HTTPServer(.descriptor(0)) { _ in HTTPResponse() }.start() }
    }

    @Test func `a stop lets requests in progress end and refuses new ones`() async throws {
        let events = Events<String>()
        let release = Events<Void>()
        let server = HTTPServer(.tcp(host: "127.0.0.1", port: 0)) { _ in
            events.send("started")
            _ = await release.next()
            return .text(.ok, "done")
        }
        let address = try server.start()
        let url = "http://\(address)/"
        let request = Task { try await HTTPClient().send(HTTPRequest(.get, url)).body.collect(limit: 10) }
        #expect(await events.next() == "started")
        let stop = Task {
            await server.stop(within: .seconds(30))
            events.send("stopped")
        }
        // The listening socket closes at once.
        while (try? RawConnection(port: port(of: "\(address)"))) != nil { await Task.yield() }
        release.send(())
        #expect(try await request.value == Array("done".utf8))
        #expect(await events.next() == "stopped")
        await stop.value
    }

    @Test func `a stop cancels what takes longer than its limit`() async throws {
        let events = Events<String>()
        let server = HTTPServer(.tcp(host: "127.0.0.1", port: 0)) { _ in
            events.send("started")
            try? await Task.sleep(for: .seconds(50))
            events.send("ended")
            return HTTPResponse()
        }
        let url = "http://\(try server.start())/"
        let request = Task { await code { _ = try await HTTPClient().send(HTTPRequest(.get, url)) } }
        #expect(await events.next() == "started")
        await server.stop(within: .milliseconds(50))
        #expect(await events.next() == "ended")
        #expect(await request.value == .connectionLost)
    }

    @Test func `a stop during a body does not hang`() async throws {
        let events = Events<String>()
        let server = HTTPServer(.tcp(host: "127.0.0.1", port: 0)) { request in
            events.send("started")
            for try await _ in request.body {}
            return HTTPResponse()
        }
        let address = try server.start()
        let connection = try RawConnection(port: port(of: "\(address)"))
        connection.send("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n12345")
        #expect(await events.next() == "started")
        await server.stop(within: .milliseconds(50))
        #expect(await connection.read(until: "never") == "")
    }
}
