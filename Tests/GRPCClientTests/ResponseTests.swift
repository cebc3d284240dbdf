import GRPCProtocol
import Testing

@testable import GRPCClient

/// Tests of the fields that a client reads in a response, and of those that it writes in a request.
struct ResponseTests {
    private func head(_ fields: [(String, String)], limit: Int = 1000) -> ResponseHead {
        var head = ResponseHead(limit: limit)
        for (name, value) in fields {
            Array(name.utf8).withUnsafeBufferPointer { name in
                Array(value.utf8).withUnsafeBufferPointer { head.add(name, $0) }
            }
        }
        return head
    }

    @Test func `fields are read`() {
        let head = head([
            (":status", "200"), ("content-type", "application/grpc+proto"), ("grpc-encoding", "gzip"),
            ("grpc-accept-encoding", "gzip"), ("x", "y"), ("x-bin", "AAEC,/w"),
        ])
        #expect(head.httpStatus == 200 && head.isGRPC && head.encoding == .gzip && head.status == nil)
        #expect(head.metadata.entries.map(\.key) == ["x", "x-bin", "x-bin"])
        #expect(head.metadata.entries.map(\.bytes) == [[0x79], [0, 1, 2], [255]])
        #expect(head.problem == nil)
    }

    @Test(arguments: [
        ("0", GRPCStatus.Code.ok), ("16", .unauthenticated), ("17", .unknown), ("-1", .unknown), ("", .unknown),
        ("99999999999999999999999", .unknown), ("x", .unknown),
    ])
    func `a status is one of the defined ones`(text: String, code: GRPCStatus.Code) {
        #expect(head([("grpc-status", text)]).status?.code == code)
    }

    @Test(arguments: [
        ("a%20b", "a b"), ("100 %", "100 %"), ("%", "%"), ("%4", "%4"), ("%zz%41", "%zzA"), ("%E2%9C%93", "✓"),
        ("%ff", "\u{FFFD}"), ("", ""),
    ])
    func `a message is decoded as far as possible`(text: String, message: String) {
        #expect(head([("grpc-status", "5"), ("grpc-message", text)]).status?.message == message)
    }

    @Test func `details come with the status`() {
        let status = head([("grpc-status", "9"), ("grpc-status-details-bin", "AQI")]).status
        #expect(status == GRPCStatus(.failedPrecondition, details: [1, 2]))
    }

    @Test func `fields that cannot be used are a problem`() {
        #expect(head([("x-bin", "?")]).problem?.code == .internal)
        #expect(head([("grpc-encoding", "br")]).problem?.code == .internal)
        let large = head((0..<40).map { _ in ("a", "") })
        #expect(large.problem?.code == .resourceExhausted && large.metadata.entries.isEmpty)
        #expect(head((0..<30).map { _ in ("a", "") }).problem == nil)
    }

    @Test(arguments: [
        (400, GRPCStatus.Code.internal), (401, .unauthenticated), (403, .permissionDenied), (404, .unimplemented),
        (429, .unavailable), (502, .unavailable), (503, .unavailable), (504, .unavailable), (200, .unknown),
        (500, .unknown), (301, .unknown), (0, .unknown),
    ])
    func `an answer of HTTP has a status of gRPC, and is known for what it is`(http: Int, code: GRPCStatus.Code) {
        let status = GRPCStatus(httpStatus: http, contentType: "text/html")
        #expect(status.code == code && status.isForeignAnswer)
        #expect(!GRPCStatus(code, "The task is not here.").isForeignAnswer)
    }

    @Test(arguments: [
        (0 as UInt32, GRPCStatus.Code.internal), (1, .internal), (3, .internal), (7, .unavailable), (8, .cancelled),
        (11, .resourceExhausted), (12, .permissionDenied), (13, .unknown), (5, .unknown), (.max, .unknown),
    ])
    func `a reset has a status`(code: UInt32, expected: GRPCStatus.Code) {
        #expect(GRPCStatus(resetWith: code).code == expected)
    }

    @Test(arguments: [
        (Duration.milliseconds(1500), "1500m"), (.nanoseconds(1), "1m"), (.microseconds(1001), "2m"), (.zero, "0m"),
        (.seconds(-1), "0m"), (.seconds(86_400), "86400000m"), (.seconds(99_998), "99998000m"),
        (.seconds(100_000), "100001S"), (.seconds(1 << 32), "1193047H"), (.seconds(Int64.max), "99999999H"),
    ])
    func `a timeout is written with at most eight digits`(duration: Duration, text: String) {
        #expect(HeaderFields.timeout(duration) == text)
    }

    @Test func `a message is written with any free space in the buffer`() {
        let message = (0..<100).map { UInt8($0) }
        for size in [1, 3, 5, 6, 50, 105, 200] {
            var writer = MessageWriter(message)
            var bytes: [UInt8] = []
            while !writer.isAtEnd {
                var buffer = [UInt8](repeating: 0, count: size)
                let count = buffer.withUnsafeMutableBufferPointer { writer.copy(to: $0) }
                bytes += buffer.prefix(count)
            }
            #expect(bytes == [0, 0, 0, 0, 100] + message, "room for \(size)")
        }
        var empty = MessageWriter([])
        var buffer = [UInt8](repeating: 9, count: 10)
        let count = buffer.withUnsafeMutableBufferPointer { empty.copy(to: $0) }
        #expect(count == 5 && empty.isAtEnd)
    }
}
