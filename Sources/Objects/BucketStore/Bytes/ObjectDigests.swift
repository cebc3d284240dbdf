package import Cryptography

/// The digests of an object's bytes. Those that were not requested are nil.
package struct ObjectDigests: Sendable {
    package let sha256: SHA256Digest?
    package let md5: [UInt8]?
    package let crc32: [UInt8]?
    package let crc32c: [UInt8]?
    package let crc64: [UInt8]?
    package let sha1: [UInt8]?

    /// The digests to compute.
    package struct Wanted: OptionSet, Sendable {
        package let rawValue: Int

        package init(rawValue: Int) { self.rawValue = rawValue }

        package static let md5 = Wanted(rawValue: 1)
        package static let crc32 = Wanted(rawValue: 2)
        package static let crc32c = Wanted(rawValue: 4)
        package static let crc64 = Wanted(rawValue: 8)
        package static let sha1 = Wanted(rawValue: 16)
        package static let sha256 = Wanted(rawValue: 32)
    }

    /// Returns the digests of several bodies, in their order.
    static func each(_ bodies: [(bytes: [UInt8], wanted: Wanted)]) -> [ObjectDigests] {
        func sums<Sum>(_ digest: Wanted, _ hash: ([[UInt8]]) -> [Sum]) -> [Int: Sum] {
            let indices = bodies.indices.filter { bodies[$0].wanted.contains(digest) }
            return Dictionary(uniqueKeysWithValues: zip(indices, hash(indices.map { bodies[$0].bytes })))
        }
        let sha256 = sums(.sha256) { SHA256.hash(each: $0.map { $0[...] }) }
        let md5 = sums(.md5, MD5.hash(each:))
        return bodies.enumerated().map { index, body in
            var hasher = ObjectHasher(body.wanted.subtracting([.sha256, .md5]))
            hasher.update(body.bytes)
            return hasher.finish(sha256: sha256[index], md5: md5[index])
        }
    }
}

/// A hasher that computes digests as the bytes arrive.
package struct ObjectHasher: ~Copyable {
    private var sha256: SHA256?
    private var md5: MD5?
    private var crc32: CRC32?
    private var crc32c: CRC32?
    private var crc64: CRC64?
    private var sha1: SHA1?

    package init(_ wanted: ObjectDigests.Wanted) {
        sha256 = wanted.contains(.sha256) ? SHA256() : nil
        md5 = wanted.contains(.md5) ? MD5() : nil
        crc32 = wanted.contains(.crc32) ? CRC32(.ieee) : nil
        crc32c = wanted.contains(.crc32c) ? CRC32(.castagnoli) : nil
        crc64 = wanted.contains(.crc64) ? CRC64() : nil
        sha1 = wanted.contains(.sha1) ? SHA1() : nil
    }

    package mutating func update(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { bytes in
            sha256?.update(bytes)
            md5?.update(bytes)
            crc32?.update(bytes)
            crc32c?.update(bytes)
            crc64?.update(bytes)
            sha1?.update(bytes)
        }
    }

    /// Returns the digests of all bytes. Called once.
    package mutating func finish() -> ObjectDigests { finish(sha256: nil, md5: nil) }

    /// Returns the digests of all bytes, with a SHA-256 and an MD5 that were computed elsewhere.
    mutating func finish(sha256 otherSHA256: SHA256Digest?, md5 otherMD5: [UInt8]?) -> ObjectDigests {
        ObjectDigests(
            sha256: sha256?.finish() ?? otherSHA256, md5: md5?.finish() ?? otherMD5, crc32: crc32?.bytes,
            crc32c: crc32c?.bytes, crc64: crc64?.bytes, sha1: sha1?.finish())
    }
}
