import Glibc
import SystemIO
import SystemTestKit
import Testing

struct UnixSocketTests {
    let temporary: TemporaryDirectory
    var path: String { temporary.path + "/socket" }

    init() throws { temporary = try TemporaryDirectory() }

    @Test func `both ends can talk and know each other`() throws {
        let listener = try UnixSocket.listen(path)
        #expect(try FileSystem.status(path).mode == 0o600)
        let client = try UnixSocket.connect(path)
        let server = try UnixSocket.accept(listener)
        try client.write(bytes("hello"))
        try client.close()
        #expect(try server.readAll() == bytes("hello"))
        #expect(try PeerCredentials(ofSocket: server.rawValue) == .own)
    }

    @Test func `a dead socket is replaced, a living one and a file are not`() throws {
        do { _ = try UnixSocket.listen(path) }
        let listener = try UnixSocket.listen(path)
        #expect(code { _ = try UnixSocket.listen(path) } == .addressInUse)
        #expect(code { _ = try UnixSocket.connect(path + "2") } == .notFound)
        try temporary.directory.replace("file", with: [1])
        #expect(code { _ = try UnixSocket.listen(temporary.path + "/file") } == .exists)
        withExtendedLifetime(listener.rawValue) {}
    }

    @Test func `a path too long for a socket is refused by its length`() throws {
        let long = temporary.path + "/" + String(repeating: "x", count: 108)
        #expect(code { _ = try UnixSocket.listen(long) } == .invalidName)
    }
}
