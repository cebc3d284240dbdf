package import CNGHTTP2
import Cryptography

/// The header fields of a frame to send.
package struct HeaderFields {
    private var bytes: [UInt8] = []
    private var sizes: [(name: Int, value: Int)] = []

    package init() {}

    package mutating func add(_ name: String, _ value: String) {
        bytes += name.utf8
        bytes += value.utf8
        sizes.append((name.utf8.count, value.utf8.count))
    }

    package mutating func add(_ name: String, _ value: [UInt8]) {
        bytes += name.utf8
        bytes += value
        sizes.append((name.utf8.count, value.count))
    }

    package mutating func add(_ metadata: GRPCMetadata) {
        for entry in metadata.entries {
            if entry.isBinary {
                add(entry.key, String(Base64.encode(entry.bytes).prefix { $0 != "=" }))
            } else {
                add(entry.key, entry.bytes)
            }
        }
    }

    /// Lends the fields to nghttp2, which copies them without changing them. Returns the result of
    /// `body`, a code or a stream of nghttp2.
    package func withFields(_ body: (UnsafePointer<nghttp2_nv>?, Int) -> CInt) -> CInt {
        bytes.withUnsafeBufferPointer { bytes in
            withUnsafeTemporaryAllocation(of: nghttp2_nv.self, capacity: sizes.count) { fields in
                var place = 0
                for (index, size) in sizes.enumerated() {
                    let start = bytes.baseAddress.map { UnsafeMutablePointer(mutating: $0 + place) }
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
