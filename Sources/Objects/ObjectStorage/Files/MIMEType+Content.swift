extension MIMEType {
    /// The number of leading bytes of a file that `init(leadingBytes:)` examines.
    public static let sniffLength = 512

    /// Detects the type from the first bytes of a file: the type of a known signature, else
    /// `.plain` for UTF-8 text without control characters, else `.octetStream`.
    public init(leadingBytes: some Collection<UInt8>) {
        let bytes = Array(leadingBytes.prefix(Self.sniffLength))
        self = Self.bySignature(bytes) ?? Self.byMarkup(bytes) ?? (Self.isText(bytes) ? .plain : .octetStream)
    }

    private struct Signature: Sendable {
        let offset: Int
        let bytes: [UInt8]
        let type: MIMEType

        init(_ text: String, at offset: Int = 0, _ type: MIMEType) {
            self.init(Array(text.utf8), at: offset, type)
        }

        init(_ bytes: [UInt8], at offset: Int = 0, _ type: MIMEType) {
            (self.offset, self.bytes, self.type) = (offset, bytes, type)
        }
    }

    // From the WHATWG standard "MIME Sniffing" and the database of file(1). The first match wins.
    private static let signatures = [
        Signature("%PDF-", .pdf),
        Signature([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A], .png),
        Signature([0xFF, 0xD8, 0xFF], .jpeg),
        Signature("GIF87a", .gif), Signature("GIF89a", .gif),
        Signature("WEBP", at: 8, .webp),
        Signature("WAVE", at: 8, MIMEType("audio", "wav")),
        Signature("PK\u{3}\u{4}", .zip), Signature("PK\u{5}\u{6}", .zip),
        Signature("-lh", at: 2, .lzh), Signature("-lz", at: 2, .lzh),
        Signature("ustar", at: 257, .tar),
        Signature("ftypheic", at: 4, MIMEType("image", "heic")),
        Signature("ftypavif", at: 4, MIMEType("image", "avif")),
        Signature("ftypqt  ", at: 4, MIMEType("video", "quicktime")),
        Signature("ftypM4A ", at: 4, MIMEType("audio", "mp4")),
        Signature("ftyp", at: 4, .mp4),
        Signature([0x1F, 0x8B], MIMEType("application", "gzip")),
        Signature("BZh", MIMEType("application", "x-bzip2")),
        Signature([0xFD, 0x37, 0x7A, 0x58, 0x5A, 0x00], MIMEType("application", "x-xz")),
        Signature([0x28, 0xB5, 0x2F, 0xFD], MIMEType("application", "zstd")),
        Signature([0x37, 0x7A, 0xBC, 0xAF, 0x27, 0x1C], MIMEType("application", "x-7z-compressed")),
        Signature("Rar!\u{1A}\u{7}", MIMEType("application", "vnd.rar")),
        Signature("OggS", MIMEType("audio", "ogg")), Signature("fLaC", MIMEType("audio", "flac")),
        Signature("ID3", MIMEType("audio", "mpeg")),
        Signature([0x1A, 0x45, 0xDF, 0xA3], MIMEType("video", "x-matroska")),
        Signature([0x7F, 0x45, 0x4C, 0x46], MIMEType("application", "x-executable")),
        Signature("SQLite format 3\0", MIMEType("application", "vnd.sqlite3")),
    ]

    private static func bySignature(_ bytes: [UInt8]) -> MIMEType? {
        signatures.first { signature in
            let end = signature.offset + signature.bytes.count
            return bytes.count >= end && bytes[signature.offset..<end].elementsEqual(signature.bytes)
        }?.type
    }

    private static func byMarkup(_ bytes: [UInt8]) -> MIMEType? {
        guard isText(bytes) else { return nil }
        let text = String(decoding: bytes, as: UTF8.self).lowercased()
        let start = text.drop { $0.isWhitespace || $0 == "\u{FEFF}" }
        if start.hasPrefix("<!doctype html") || start.hasPrefix("<html") { return .html }
        if start.hasPrefix("<svg") || (start.hasPrefix("<?xml") && text.contains("<svg")) { return .svg }
        return start.hasPrefix("<?xml") ? MIMEType("application", "xml") : nil
    }

    private static func isText(_ bytes: [UInt8]) -> Bool {
        let controls = bytes.contains { $0 < 0x20 && !(0x09...0x0D).contains($0) && $0 != 0x1B || $0 == 0x7F }
        guard !controls, !bytes.isEmpty else { return false }
        if String(validating: bytes, as: UTF8.self) != nil { return true }
        // The limit may have cut the last character.
        return bytes.count == sniffLength
            && (1...3).contains { String(validating: bytes.dropLast($0), as: UTF8.self) != nil }
    }
}
