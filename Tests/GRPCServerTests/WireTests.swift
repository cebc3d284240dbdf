import GRPCProtocol
import Testing

@testable import GRPCServer

/// Tests of the encoding of calls in HTTP/2 frames.
struct WireTests {
    private func messages(
        _ pieces: [[UInt8]], limit: Int? = nil, encoding: MessageEncoding = .identity
    ) throws -> (messages: [[UInt8]], isWhole: Bool) {
        var reader = MessageReader(limit: limit)
        reader.encoding = encoding
        var messages: [[UInt8]] = []
        for piece in pieces { try piece.withUnsafeBufferPointer { try reader.append($0) { messages.append($0) } } }
        return (try messages.map { try encoding.decoded($0, limit: limit) }, reader.isBetweenMessages)
    }

    @Test func `messages are found for any split of their bytes`() throws {
        let sent: [[UInt8]] = [[1, 2, 3], [], [UInt8](repeating: 7, count: 300), [9]]
        let bytes = sent.flatMap { MessageReader.prefix(of: $0) + $0 }
        for size in [1, 2, 3, 5, 7, 299, bytes.count] {
            let pieces = stride(from: 0, to: bytes.count, by: size).map {
                Array(bytes[$0..<min($0 + size, bytes.count)])
            }
            let found = try messages(pieces)
            #expect(found.messages == sent && found.isWhole, "pieces of \(size)")
        }
    }

    @Test func `a message that ends early is known`() throws {
        #expect(try !messages([[0]]).isWhole)
        #expect(try !messages([[0, 0, 0, 0, 2, 1]]).isWhole)
        #expect(try messages([[]]).isWhole)
    }

    @Test(arguments: [
        // Six hundred zeros, compressed by Python's zlib and gzip.
        (MessageEncoding.deflate, [120, 156, 99, 96, 24, 5, 163, 128, 250, 0, 0, 2, 88, 0, 1] as [UInt8]),
        (.gzip, [31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 99, 96, 24, 5, 163, 128, 250, 0, 0, 35, 162, 237, 119, 88, 2, 0, 0]),
    ])
    func `a compressed message is read, up to the limit of what is in it`(
        encoding: MessageEncoding, bytes: [UInt8]
    ) throws {
        let sent = [1, 0, 0, 0, UInt8(bytes.count)] + bytes
        let found = try messages([sent, [0, 0, 0, 0, 1, 9], sent], limit: 600, encoding: encoding)
        #expect(found.messages == [[UInt8](repeating: 0, count: 600), [9], [UInt8](repeating: 0, count: 600)])
        // A message that waits for its reader is no larger than it was sent.
        var reader = MessageReader(limit: 600)
        reader.encoding = encoding
        var waiting: [[UInt8]] = []
        try sent.withUnsafeBufferPointer { try reader.append($0) { waiting.append($0) } }
        #expect(waiting == [[1] + bytes])
        let large = #expect(throws: GRPCStatus.self) { try messages([sent], limit: 599, encoding: encoding) }
        #expect(large?.code == .resourceExhausted)
        let cut = [1, 0, 0, 0, UInt8(bytes.count - 1)] + bytes.dropLast()
        let damaged = #expect(throws: GRPCStatus.self) { try messages([cut], limit: 600, encoding: encoding) }
        #expect(damaged?.code == .internal)
    }

    @Test func `a message that is too large, or in an undeclared format, is refused`() throws {
        #expect(throws: GRPCStatus.self) { try messages([[0, 0, 0, 0, 11]], limit: 10) }
        #expect(try messages([[0, 0, 0, 0, 10]], limit: 10).messages == [])
        #expect(throws: GRPCStatus.self) { try messages([[0, 255, 255, 255, 255]], limit: 16 << 20) }
        let refusal = #expect(throws: GRPCStatus.self) { try messages([[1, 0, 0, 0, 1, 1]]) }
        #expect(refusal?.code == .internal)
        #expect(throws: GRPCStatus.self) { try messages([[2, 0, 0, 0, 1, 1]]) }
    }

    private func head(_ fields: [(String, String)], type: String? = "application/grpc+proto") -> RequestHead {
        var head = RequestHead(limit: 1000)
        for (name, value) in [(":method", "POST")] + (type.map { [("content-type", $0)] } ?? []) + fields {
            Array(name.utf8).withUnsafeBufferPointer { name in
                Array(value.utf8).withUnsafeBufferPointer { head.add(name, $0) }
            }
        }
        head.end()
        return head
    }

    private func isCall(_ head: RequestHead) -> Bool { if case nil = head.problem { true } else { false } }

    @Test(arguments: [
        ("1H", Duration.seconds(3600)), ("2M", .seconds(120)), ("3S", .seconds(3)), ("4m", .milliseconds(4)),
        ("5u", .microseconds(5)), ("99999999n", .nanoseconds(99_999_999)),
    ])
    func `a timeout is read in each unit`(text: String, timeout: Duration) {
        let head = head([("grpc-timeout", text)])
        #expect(head.timeout == timeout && isCall(head))
    }

    @Test(arguments: ["", "S", "1", "-1S", "1s", "123456789S", "1.5S"])
    func `a timeout that cannot be read is refused`(text: String) {
        #expect(!isCall(head([("grpc-timeout", text)])))
    }

    @Test func `metadata has the fields that belong neither to HTTP nor to gRPC`() {
        let head = head([
            (":path", "/a/B"), (":authority", "here"), ("te", "trailers"), ("user-agent", "me"),
            ("grpc-encoding", "gzip"),
            ("x-bin", "AAEC"), ("y-bin", "AP8K,/w"),
        ])
        #expect(head.path == "/a/B" && isCall(head))
        #expect(head.metadata.entries.map(\.key) == ["user-agent", "x-bin", "y-bin", "y-bin"])
        #expect(head.encoding == .gzip)
        #expect(head.metadata.bytes("x-bin") == [0, 1, 2])
        #expect(head.metadata.entries.suffix(2).map(\.bytes) == [[0, 255, 10], [255]])
    }

    @Test func `a request that is not a call is recognized`() {
        #expect(!isCall(head([(":method", "GET")])))
        #expect(!isCall(head([("content-type", "application/json")])))
        #expect(!isCall(head([("grpc-encoding", "br")])))
        #expect(!isCall(head([("x-bin", "?")])))
        // This also holds if the field that identifies a call comes after the large one.
        let large = head([("x", String(repeating: "a", count: 1000)), ("content-type", "application/grpc")], type: nil)
        guard case .call(let status) = large.problem else {
            Issue.record("It is taken.")
            return
        }
        #expect(status.code == .resourceExhausted && large.metadata.entries.isEmpty)
    }

    @Test func `pings in a row count as strikes, responses to data do not`() {
        let start = ContinuousClock.now
        var pings = PingGuard(interval: .seconds(5))
        let tolerated = [0, 6, 7, 8, 9].map { pings.isTolerated(at: start + .seconds($0)) }
        #expect(tolerated == [true, true, true, true, false])
        let forgiven = (10..<30).map { second in
            pings.forgive()
            return pings.isTolerated(at: start + .seconds(second))
        }
        #expect(!forgiven.contains(false))
    }
}
