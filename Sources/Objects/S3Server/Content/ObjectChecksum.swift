package import BucketStore
import Cryptography
import HTTPMessages
import XML

/// A checksum of an object that clients may send, and that is verified and kept ("Checking object
/// integrity", Amazon S3 User Guide).
package enum ObjectChecksum: String, CaseIterable, Sendable {
    case sha256 = "SHA256"
    case crc32c = "CRC32C"
    case crc64 = "CRC64NVME"
    case sha1 = "SHA1"
    case crc32 = "CRC32"

    /// The data that the checksum of a multipart object covers.
    package enum Kind: String, Sendable {
        /// The bytes of the object.
        case whole = "FULL_OBJECT"
        /// The checksums of its parts, followed by their number.
        case composite = "COMPOSITE"

        static let header = "x-amz-checksum-type"
    }

    /// The header field that names the algorithm in requests that start a multipart upload or copy
    /// an object.
    static let algorithmHeader = "x-amz-checksum-algorithm"

    /// The header field with the value in base64.
    var header: String {
        switch self {
        case .sha256: "x-amz-checksum-sha256"
        case .crc32c: "x-amz-checksum-crc32c"
        case .crc64: "x-amz-checksum-crc64nvme"
        case .sha1: "x-amz-checksum-sha1"
        case .crc32: "x-amz-checksum-crc32"
        }
    }

    /// The XML element with the value.
    var element: String { "Checksum\(rawValue)" }

    /// The digest that computes this checksum.
    package var digest: ObjectDigests.Wanted {
        switch self {
        case .sha256: .sha256
        case .crc32c: .crc32c
        case .crc64: .crc64
        case .sha1: .sha1
        case .crc32: .crc32
        }
    }

    /// Returns the bytes of this checksum among computed digests; nil if it was not computed.
    package func value(in digests: ObjectDigests) -> [UInt8]? {
        switch self {
        case .sha256: digests.sha256?.bytes
        case .crc32c: digests.crc32c
        case .crc64: digests.crc64
        case .sha1: digests.sha1
        case .crc32: digests.crc32
        }
    }

    /// Returns the checksum that a request sends with its body, in a header or as announced for the
    /// trailer.
    static func declared(_ headers: HTTPHeaders) -> ObjectChecksum? {
        let announced = headers["x-amz-trailer"]?.lowercased()
        return allCases.first { headers[$0.header] != nil || announced?.contains($0.header) == true }
    }

    /// Returns the checksum that a request to start a multipart upload asks for; nil for none.
    static func asked(_ headers: HTTPHeaders) throws(S3Error) -> (algorithm: ObjectChecksum, kind: Kind)? {
        guard let algorithm = try named(headers) else {
            guard headers[Kind.header] == nil else {
                throw S3Error.invalidRequest("The \(Kind.header) header needs \(algorithmHeader) beside it.")
            }
            return nil
        }
        guard let type = headers[Kind.header] else { return (algorithm, algorithm == .crc64 ? .whole : .composite) }
        guard let kind = Kind(rawValue: type.uppercased()), algorithm.allows(kind) else {
            throw S3Error.invalidRequest(
                "The \(type) checksum type cannot be used with the \(algorithm.rawValue) checksum algorithm.")
        }
        return (algorithm, kind)
    }

    private static func named(_ headers: HTTPHeaders) throws(S3Error) -> ObjectChecksum? {
        guard let name = headers[algorithmHeader] else { return nil }
        guard let algorithm = ObjectChecksum(rawValue: name.uppercased()) else {
            throw S3Error.invalidRequest("Checksum algorithm provided is unsupported.")
        }
        return algorithm
    }

    /// Returns the checksum to compute for a copy: the one that the call asks for, or else that of
    /// the source. Returns nil if the source's checksum can be kept.
    ///
    /// A composite checksum cannot be kept, because a copy has no parts.
    static func computed(copying source: ObjectRecord, _ headers: HTTPHeaders) throws(S3Error) -> ObjectChecksum? {
        let (values, kind) = source.checksums
        guard let algorithm = try named(headers) ?? values.first?.algorithm else { return nil }
        return kind == .whole && values.contains { $0.algorithm == algorithm } ? nil : algorithm
    }

    private func allows(_ kind: Kind) -> Bool {
        switch self {
        case .sha256, .sha1: kind == .composite
        case .crc64: kind == .whole
        case .crc32, .crc32c: true
        }
    }

    /// Returns the checksum of an object that is joined from parts; nil if the checksum of a part
    /// is not known.
    func joined(_ parts: [UploadedPart], _ kind: Kind) -> String? {
        let values = parts.compactMap { $0.checksum.flatMap { Base64.decode($0) } }
        guard values.count == parts.count else { return nil }
        switch (kind, self) {
        case (.composite, _):
            var hasher = ObjectHasher(digest)
            hasher.update(values.flatMap(\.self))
            return value(in: hasher.finish()).map { "\(Base64.encode($0))-\(parts.count)" }
        case (.whole, .crc64):
            var check = CRC64()
            for (part, value) in zip(parts, values) { check.append(value, length: part.size) }
            return Base64.encode(check.bytes)
        case (.whole, .crc32), (.whole, .crc32c):
            var check = CRC32(self == .crc32 ? .ieee : .castagnoli)
            for (part, value) in zip(parts, values) { check.append(value, length: part.size) }
            return Base64.encode(check.bytes)
        case (.whole, .sha256), (.whole, .sha1): return nil
        }
    }
}

extension MultipartUpload {
    /// The checksum that was requested when the upload started.
    var checksum: (algorithm: ObjectChecksum, kind: ObjectChecksum.Kind)? {
        guard let algorithm = headers[ObjectChecksum.algorithmHeader].flatMap({ ObjectChecksum(rawValue: $0) }),
            let kind = headers[ObjectChecksum.Kind.header].flatMap({ ObjectChecksum.Kind(rawValue: $0) })
        else { return nil }
        return (algorithm, kind)
    }

    var checksumElements: [XMLElement] {
        guard let (algorithm, kind) = checksum else { return [] }
        return [XMLElement("ChecksumAlgorithm", algorithm.rawValue), XMLElement("ChecksumType", kind.rawValue)]
    }
}

extension ObjectRecord {
    /// The checksums that are kept with the object, and the data that they cover.
    var checksums: (values: [(algorithm: ObjectChecksum, value: String)], kind: ObjectChecksum.Kind) {
        Self.checksums(in: headers)
    }

    /// Returns the checksums among the header fields that are kept with an object, and the data
    /// that they cover.
    package static func checksums(
        in headers: [String: String]
    ) -> (values: [(algorithm: ObjectChecksum, value: String)], kind: ObjectChecksum.Kind) {
        let values = ObjectChecksum.allCases.compactMap { algorithm in
            headers[algorithm.header].map { (algorithm, $0) }
        }
        return (values, headers[ObjectChecksum.Kind.header].flatMap { .init(rawValue: $0) } ?? .whole)
    }

    var checksumElements: [XMLElement] {
        let (values, kind) = checksums
        guard !values.isEmpty else { return [] }
        return values.map { XMLElement($0.algorithm.element, $0.value) } + [XMLElement("ChecksumType", kind.rawValue)]
    }

    /// The XML elements by which listings name the checksums.
    var checksumNames: [XMLElement] {
        let (values, kind) = checksums
        guard !values.isEmpty else { return [] }
        return values.map { XMLElement("ChecksumAlgorithm", $0.algorithm.rawValue) }
            + [XMLElement("ChecksumType", kind.rawValue)]
    }
}
