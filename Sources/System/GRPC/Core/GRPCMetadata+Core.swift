import CGRPC

extension GRPCMetadata {
    init(_ array: grpc_metadata_array) {
        self.init()
        for entry in UnsafeBufferPointer(start: array.metadata, count: array.count) {
            add(Message.bytes(entry.value), for: Message.text(entry.key))
        }
    }

    /// Lends the entries to the core, which takes references of its own to what it keeps.
    func withCoreEntries<Result>(_ body: (UnsafeMutablePointer<grpc_metadata>?, Int) -> Result) -> Result {
        if entries.isEmpty { return body(nil, 0) }
        return withUnsafeTemporaryAllocation(of: grpc_metadata.self, capacity: entries.count) { buffer in
            for (index, entry) in entries.enumerated() {
                var slot = grpc_metadata()
                slot.key = Message.slice(entry.key)
                slot.value = entry.bytes.withUnsafeBufferPointer { Message.slice($0) }
                buffer.initializeElement(at: index, to: slot)
            }
            defer {
                for entry in buffer {
                    grpc_slice_unref(entry.key)
                    grpc_slice_unref(entry.value)
                }
            }
            return body(buffer.baseAddress, buffer.count)
        }
    }
}
