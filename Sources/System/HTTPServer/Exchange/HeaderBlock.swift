import CMicroHTTPD
import HTTPMessages

/// The header of a request, read from the buffer in which libmicrohttpd has parsed it.
///
/// libmicrohttpd takes a NUL byte for the end of a line: it cuts the request's target or a field's value there, and a
/// line that starts with one ends the header. A proxy that reads further sees another request. Between two fields its
/// buffer has the zeros that it wrote over the line's end, and nothing else; any other byte there was cut off.
struct HeaderBlock {
    private(set) var headers = HTTPHeaders()
    private var isWhole = true
    /// The end of the last string that was read.
    private var end: UnsafePointer<CChar>
    /// The end of the header in the buffer.
    private let limit: UnsafePointer<CChar>

    /// - Parameters:
    ///   - target: Where the target ends.
    ///   - method: The start of the header in libmicrohttpd's buffer.
    ///   - version: The header's protocol version, in the same buffer.
    init(
        of connection: OpaquePointer, target: UnsafePointer<CChar>, method: UnsafePointer<CChar>,
        version: UnsafePointer<CChar>
    ) {
        limit = method + ferry_mhd_header_size(connection)
        // One space, which is a zero now, is between them.
        isWhole = target + 1 == version
        end = version
        skip(8)
        withUnsafeMutablePointer(to: &self) { block in
            _ = MHD_get_connection_values_n(
                connection, .HEADER_KIND,
                { block, _, name, nameSize, value, valueSize in
                    guard let block = block?.assumingMemoryBound(to: HeaderBlock.self), let name else { return .NO }
                    block.pointee.add(
                        UnsafeBufferPointer(start: name, count: nameSize),
                        UnsafeBufferPointer(start: value, count: value == nil ? 0 : valueSize))
                    return .YES
                }, block)
        }
        skipLineEnds(4, to: limit)
    }

    /// The reason why the request is ambiguous, as a message for its client; nil if it is not.
    var problem: String? {
        guard isWhole else { return "The header has characters that it must not have, or continued lines." }
        return headers.framingProblem
    }

    private mutating func add(_ name: UnsafeBufferPointer<CChar>, _ value: UnsafeBufferPointer<CChar>) {
        headers.add(text(name), text(value))
        // Control characters, a tab excepted; RFC 9110, 5.5.
        if value.contains(where: { (0..<0x20).contains($0) && $0 != 0x09 || $0 == 0x7F }) { isWhole = false }
        guard let nameStart = name.baseAddress, let valueStart = value.baseAddress else { return isWhole = false }
        skipLineEnds(2, to: nameStart)
        end = valueStart
        skip(value.count)
    }

    private mutating func skip(_ count: Int) {
        if isWhole, end <= limit, count <= limit - end { end += count } else { isWhole = false }
    }

    /// Checks that only zeros, at most `count`, are between the last string and `next`. A line that
    /// continues another is elsewhere in memory.
    private mutating func skipLineEnds(_ count: Int, to next: UnsafePointer<CChar>) {
        guard isWhole, next > end, next <= limit, next - end <= count else { return isWhole = false }
        isWhole = UnsafeBufferPointer(start: end, count: next - end).allSatisfy { $0 == 0 }
    }
}

private func text(_ bytes: UnsafeBufferPointer<CChar>) -> String {
    String(decoding: UnsafeRawBufferPointer(bytes), as: UTF8.self)
}
