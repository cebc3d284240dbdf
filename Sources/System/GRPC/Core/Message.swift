import CGRPC

/// Copies between Swift's bytes and the core's buffers: one copy in each direction.
enum Message {
    static func buffer(_ bytes: [UInt8]) -> UnsafeMutablePointer<grpc_byte_buffer>? {
        bytes.withUnsafeBufferPointer { cgrpc_buffer_create($0.baseAddress, $0.count) }
    }

    /// Takes the message that a receive operation left, if it left one.
    static func take(_ results: UnsafeMutablePointer<cgrpc_results>) -> [UInt8]? {
        guard let buffer = results.pointee.message else { return nil }
        results.pointee.message = nil
        defer { grpc_byte_buffer_destroy(buffer) }
        let length = grpc_byte_buffer_length(buffer)
        return [UInt8](unsafeUninitializedCapacity: length) { bytes, count in
            count = cgrpc_buffer_copy(buffer, bytes.baseAddress, length)
        }
    }

    static func bytes(_ slice: grpc_slice) -> [UInt8] {
        withUnsafePointer(to: slice) {
            Array(UnsafeBufferPointer(start: cgrpc_slice_bytes($0), count: cgrpc_slice_length($0)))
        }
    }

    /// Text of a slice; bytes that are not UTF-8 are replaced by U+FFFD.
    static func text(_ slice: grpc_slice) -> String {
        withUnsafePointer(to: slice) {
            String(
                decoding: UnsafeBufferPointer(start: cgrpc_slice_bytes($0), count: cgrpc_slice_length($0)),
                as: UTF8.self)
        }
    }

    /// A slice with a copy of the text. The caller unrefs it.
    static func slice(_ text: String) -> grpc_slice {
        var text = text
        return text.withUTF8 { slice($0) }
    }

    static func slice(_ bytes: UnsafeBufferPointer<UInt8>) -> grpc_slice {
        bytes.withMemoryRebound(to: CChar.self) { grpc_slice_from_copied_buffer($0.baseAddress, $0.count) }
    }
}
