package import CNGHTTP2
import Cryptography

/// The header fields of a frame that is to be sent.
package struct HeaderFields {
    private var bytes: [UInt8] = []
    private var sizes: [(name: Int, value: Int)] = []

    package init() {}

    package mutating func add(_ name: String, _ value: some Collection<UInt8>) {
        bytes += name.utf8
        bytes += value
        sizes.append((name.utf8.count, value.count))
    }

    package mutating func add(_ metadata: GRPCMetadata) {
        for entry in metadata.entries {
            if entry.isBinary {
                add(entry.key, Base64.encode(entry.bytes).utf8.prefix { $0 != UInt8(ascii: "=") })
            } else {
                add(entry.key, entry.bytes)
            }
        }
    }

    /// Lends the fields to nghttp2, which copies them.
    package func withFields<Result>(_ body: (UnsafePointer<nghttp2_nv>?, Int) -> Result) -> Result {
        var bytes = bytes
        return bytes.withUnsafeMutableBufferPointer { bytes in
            withUnsafeTemporaryAllocation(of: nghttp2_nv.self, capacity: sizes.count) { fields in
                var place = 0
                for (index, size) in sizes.enumerated() {
                    let start = bytes.baseAddress.map { $0 + place }
                    let field = nghttp2_nv(
                        name: start, value: start.map { $0 + size.name }, namelen: size.name, valuelen: size.value,
                        flags: UInt8(NGHTTP2_NV_FLAG_NONE.rawValue))
                    fields.initializeElement(at: index, to: field)
                    place += size.name + size.value
                }
                return body(fields.baseAddress, sizes.count)
            }
        }
    }
}
