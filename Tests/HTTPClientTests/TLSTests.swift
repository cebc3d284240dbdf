import Dispatch
import Glibc
import HTTPClient
import HTTPMessages
import HTTPServer
import HTTPTestKit
import SystemTestKit
import Testing

@Suite(.timeLimit(.minutes(1)))
struct TLSTests {
    @Test func `a certificate is trusted only where its authority is named`() async throws {
        try await withTemporaryDirectory { directory in
            let command =
                "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost "
                + "-addext subjectAltName=IP:127.0.0.1 -keyout \(directory)/key.pem -out \(directory)/certificate.pem "
                + "2>/dev/null"
            try #require(system(command) == 0)
            let tls = HTTPServer.TLS(
                certificates: try read("\(directory)/certificate.pem"), key: try read("\(directory)/key.pem"))
            let bytes = pattern(3_000_000)
            let file = open("\(directory)/file", O_RDWR | O_CREAT, 0o600)
            defer { close(file) }
            #expect(write(file, bytes, bytes.count) == bytes.count)
            let server = HTTPServer(.tcp(host: "127.0.0.1", port: 0), tls: tls) { request in
                #expect(request.isSecure)
                if request.method == .get {
                    return HTTPResponse(
                        body: .file(try FileRange(duplicating: file, offset: 1000, length: bytes.count - 2000)))
                }
                return HTTPResponse(body: .bytes(try await request.body.collect(limit: 10 << 20)))
            }
            let url = "https://\(try server.start())/"
            #expect(await code { _ = try await HTTPClient().send(HTTPRequest(.get, url)) } == .insecure)

            var configuration = HTTPClient.Configuration()
            configuration.certificateAuthorities = "\(directory)/certificate.pem"
            let response = try await HTTPClient(configuration).send(HTTPRequest(.put, url, body: .bytes(bytes)))
            #expect(try await response.body.collect(limit: bytes.count) == bytes)
            let part = try await HTTPClient(configuration).send(HTTPRequest(.get, url))
            #expect(try await part.body.collect(limit: bytes.count) == Array(bytes.dropFirst(1000).dropLast(1000)))
            #expect(ftruncate(file, 2000) == 0)
            await #expect(throws: (any Error).self) {
                _ = try await HTTPClient(configuration).send(HTTPRequest(.get, url)).body.collect(limit: bytes.count)
            }
            let old = "openssl s_client -connect \(url.dropFirst(8).dropLast()) -tls1_1 -cipher ALL:@SECLEVEL=0"
            #expect(await run("\(old) </dev/null >/dev/null 2>&1") != 0)
            let current = "openssl s_client -connect \(url.dropFirst(8).dropLast()) -tls1_2"
            #expect(await run("\(current) </dev/null >/dev/null 2>&1") == 0)
            await server.stop()

            let wrong = HTTPServer.TLS(certificates: "nonsense", key: "nonsense")
            let error = #expect(throws: HTTPError.self) {
                try HTTPServer(.tcp(host: "127.0.0.1", port: 0), tls: wrong) { _ in HTTPResponse() }.start()
            }
            #expect(error?.code == .cannotListen)
        }
    }

    private func run(_ command: String) async -> Int32 {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(returning: system(command)) }
        }
    }

    private func read(_ path: String) throws -> String {
        let file = try #require(fopen(path, "r"))
        defer { fclose(file) }
        var buffer = [UInt8](repeating: 0, count: 8192)
        let count = fread(&buffer, 1, buffer.count, file)
        return String(decoding: buffer[..<count], as: UTF8.self)
    }
}
