import Glibc
import SystemIO
import SystemTestKit
import Testing

@testable import Control

/// A daemon that answers one connection after another with the next of its answers, whatever it is asked, closes each,
/// and is gone after the last.
private final class Scripted: Sendable {
    let path: String
    private let directory: TemporaryDirectory

    init(_ answers: String..., readsRequest: Bool = true) throws {
        directory = try TemporaryDirectory()
        path = directory.file("s")
        let listener = try UnixSocket.listen(path)
        let number = dup(listener.rawValue)
        try WorkerThread.start(named: "scripted") {
            for answer in answers {
                let client = accept(number, nil, nil)
                var request = [UInt8](repeating: 0, count: 65_536)
                if readsRequest { _ = read(client, &request, request.count) }
                _ = answer.withCString { send(client, $0, strlen($0), Int32(MSG_NOSIGNAL)) }
                close(client)
            }
            close(number)
        }
    }
}

@Suite struct ControlConnectionTests {
    private let status = #"{"version":"1","state":"running"}"#

    @Test func `an answer of either framing is read`() async throws {
        for answer in [
            "HTTP/1.1 200 OK\r\nContent-Length: \(status.utf8.count)\r\n\r\n\(status)",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                + String(status.utf8.count, radix: 16) + "\r\n\(status)\r\n0\r\n\r\n",
        ] {
            let daemon = try Scripted(answer)
            #expect(try await ControlClient(socketPath: daemon.path).status().state == .running)
        }
    }

    @Test(arguments: [
        "", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{\"version\"",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n",
    ]) func `an answer that ends too early is told as a daemon that ended`(answer: String) async throws {
        let daemon = try Scripted(answer)
        let error = await #expect(throws: ControlError.self) {
            try await ControlClient(socketPath: daemon.path).status()
        }
        #expect(error?.code == .notRunning && error?.isRetryable == true)
    }

    @Test func `a request that reads is sent again to the daemon that follows, one that changes is not`() async throws {
        let answer = "HTTP/1.1 200 OK\r\nContent-Length: \(status.utf8.count)\r\n\r\n\(status)"
        let reading = try Scripted("", answer)
        #expect(try await ControlClient(socketPath: reading.path).status().state == .running)
        let changing = try Scripted("", answer)
        await #expect(throws: ControlError.self) {
            try await ControlClient(socketPath: changing.path).add(TaskChange(title: "t"))
        }
        let partly = try Scripted("HTTP/1.1 200 OK\r\n", answer)
        await #expect(throws: ControlError.self) { try await ControlClient(socketPath: partly.path).status() }
    }

    @Test(arguments: [
        "SSH-2.0-OpenSSH\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nnot JSON!",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
    ]) func `an answer that cannot be read is told as one`(answer: String) async throws {
        let daemon = try Scripted(answer)
        let error = await #expect(throws: ControlError.self) {
            try await ControlClient(socketPath: daemon.path).status()
        }
        #expect(error?.code == .internal && error?.message.contains("cannot be read") == true)
    }

    @Test func `a request that is refused before it was read has its answer`() async throws {
        let body = #"{"error":{"code":"too-large","message":"Too much."}}"#
        let daemon = try Scripted(
            "HTTP/1.1 413 Too Large\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)", readsRequest: false)
        let change = TaskChange(title: "t", notes: String(repeating: "x", count: 4 << 20))
        // The connection is closed with bytes unread, so the kernel may drop the answer.
        let error = await #expect(throws: ControlError.self) {
            try await ControlClient(socketPath: daemon.path).add(change)
        }
        #expect(error?.code == .tooLarge || error?.code == .notRunning)
    }

    @Test func `a call that is cancelled ends while the daemon says nothing`() async throws {
        let daemon = try Silent()
        let call = Task { try await ControlClient(socketPath: daemon.path).status() }
        daemon.waitForClient()
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
    }
}

/// A daemon that accepts and never answers.
private final class Silent: Sendable {
    let path: String
    private let directory: TemporaryDirectory
    private let listener: FileDescriptor

    init() throws {
        directory = try TemporaryDirectory()
        path = directory.file("s")
        listener = try UnixSocket.listen(path)
    }

    /// Blocks until a client has sent its request.
    func waitForClient() {
        let client = accept(listener.rawValue, nil, nil)
        var byte: UInt8 = 0
        _ = read(client, &byte, 1)
    }
}
