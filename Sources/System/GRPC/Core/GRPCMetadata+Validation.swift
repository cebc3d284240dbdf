import CGRPC

extension GRPCMetadata {
    /// Refuses keys and values that HTTP/2 cannot carry.
    /// - Throws: `invalidArgument`, naming the key and never the value.
    func validate() throws(GRPCStatus) {
        for entry in entries {
            let key = Message.slice(entry.key)
            defer { grpc_slice_unref(key) }
            guard grpc_header_key_is_legal(key) != 0 else {
                throw GRPCStatus(.invalidArgument, "The metadata key \"\(entry.key)\" is not legal.")
            }
            if grpc_is_binary_header(key) != 0 { continue }
            let value = entry.bytes.withUnsafeBufferPointer { Message.slice($0) }
            defer { grpc_slice_unref(value) }
            guard grpc_header_nonbin_value_is_legal(value) != 0 else {
                throw GRPCStatus(
                    .invalidArgument,
                    "The metadata value of \"\(entry.key)\" is not printable ASCII; use a key that ends in \"-bin\".")
            }
        }
    }
}
