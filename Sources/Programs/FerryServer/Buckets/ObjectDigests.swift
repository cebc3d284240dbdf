import Cryptography

/// The digests of an object's bytes; nil where they were not asked for.
struct ObjectDigests: Sendable {
    let sha256: SHA256Digest?
    let md5: [UInt8]?
    let crc32: [UInt8]?
    let crc32c: [UInt8]?
    let crc64: [UInt8]?
    let sha1: [UInt8]?

    /// Which digests to compute.
    struct Wanted: OptionSet, Sendable {
        let rawValue: Int

        static let md5 = Wanted(rawValue: 1)
        static let crc32 = Wanted(rawValue: 2)
        static let crc32c = Wanted(rawValue: 4)
        static let crc64 = Wanted(rawValue: 8)
        static let sha1 = Wanted(rawValue: 16)
        static let sha256 = Wanted(rawValue: 32)
    }

    /// The digests of several bodies, in their order.
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

/// Computes them as the bytes come.
struct ObjectHasher: ~Copyable {
    private var sha256: SHA256?
    private var md5: MD5?
    private var crc32: CRC32?
    private var crc32c: CRC32?
    private var crc64: CRC64?
    private var sha1: SHA1?

    init(_ wanted: ObjectDigests.Wanted) {
        sha256 = wanted.contains(.sha256) ? SHA256() : nil
        md5 = wanted.contains(.md5) ? MD5() : nil
        crc32 = wanted.contains(.crc32) ? CRC32(.ieee) : nil
        crc32c = wanted.contains(.crc32c) ? CRC32(.castagnoli) : nil
        crc64 = wanted.contains(.crc64) ? CRC64() : nil
        sha1 = wanted.contains(.sha1) ? SHA1() : nil
    }

    mutating func update(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { bytes in
            sha256?.update(bytes)
            md5?.update(bytes)
            crc32?.update(bytes)
            crc32c?.update(bytes)
            crc64?.update(bytes)
            sha1?.update(bytes)
        }
    }

    /// Called once. Digests that were made elsewhere may be added.
    mutating func finish(sha256 otherSHA256: SHA256Digest? = nil, md5 otherMD5: [UInt8]? = nil) -> ObjectDigests {
        ObjectDigests(
            sha256: sha256?.finish() ?? otherSHA256, md5: md5?.finish() ?? otherMD5, crc32: crc32?.bytes,
            crc32c: crc32c?.bytes, crc64: crc64?.bytes, sha1: sha1?.finish())
    }
}
