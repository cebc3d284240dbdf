extension MIMEType {
    /// Detects the type from the longest known extension of a file name: first from a table that is
    /// the same on every device, then from the system's shared MIME database if one is installed.
    /// Nil if neither knows the name.
    public init?(fileName: String) {
        let name = fileName.split(separator: "/").last.map { $0.lowercased() } ?? ""
        var rest = name[...]
        while let dot = rest.firstIndex(of: ".") {
            rest = rest[rest.index(after: dot)...]
            if let known = Self.byExtension[String(rest)] {
                self = known
                return
            }
            if let known = SharedMIMEDatabase.system.type(ofExtension: String(rest)) {
                self = known
                return
            }
        }
        guard let known = SharedMIMEDatabase.system.type(ofName: name) else { return nil }
        self = known
    }

    private static let byExtension: [String: MIMEType] = [
        "txt": .plain, "text": .plain, "log": .plain, "csv": .csv, "html": .html, "htm": .html, "css": .css,
        "js": .javascript, "mjs": .javascript, "md": .markdown, "markdown": .markdown, "pdf": .pdf, "zip": .zip,
        "tar": .tar, "lzh": .lzh, "lha": .lzh, "json": .json, "jpg": .jpeg, "jpeg": .jpeg, "jpe": .jpeg,
        "pjpeg": .pjpeg, "pjp": .pjpeg, "png": .png, "gif": .gif, "svg": .svg, "webp": .webp, "mp4": .mp4,
        "m4v": .mp4, "bin": .octetStream,
        "xml": MIMEType("application", "xml"), "yaml": MIMEType("application", "yaml"),
        "yml": MIMEType("application", "yaml"), "gz": MIMEType("application", "gzip"),
        "tar.gz": MIMEType("application", "gzip"), "tgz": MIMEType("application", "gzip"),
        "bz2": MIMEType("application", "x-bzip2"), "xz": MIMEType("application", "x-xz"),
        "zst": MIMEType("application", "zstd"), "7z": MIMEType("application", "x-7z-compressed"),
        "rar": MIMEType("application", "vnd.rar"), "heic": MIMEType("image", "heic"), "bmp": MIMEType("image", "bmp"),
        "tif": MIMEType("image", "tiff"), "tiff": MIMEType("image", "tiff"), "avif": MIMEType("image", "avif"),
        "mp3": MIMEType("audio", "mpeg"), "m4a": MIMEType("audio", "mp4"), "ogg": MIMEType("audio", "ogg"),
        "flac": MIMEType("audio", "flac"), "wav": MIMEType("audio", "wav"), "mov": MIMEType("video", "quicktime"),
        "mkv": MIMEType("video", "x-matroska"), "webm": MIMEType("video", "webm"),
        "doc": MIMEType("application", "msword"),
        "docx": MIMEType("application", "vnd.openxmlformats-officedocument.wordprocessingml.document"),
        "xlsx": MIMEType("application", "vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
        "pptx": MIMEType("application", "vnd.openxmlformats-officedocument.presentationml.presentation"),
        "odt": MIMEType("application", "vnd.oasis.opendocument.text"),
        "ods": MIMEType("application", "vnd.oasis.opendocument.spreadsheet"),
        "rtf": MIMEType("application", "rtf"), "epub": MIMEType("application", "epub+zip"),
        "ics": MIMEType("text", "calendar"), "vcf": MIMEType("text", "vcard"),
        "tsv": MIMEType("text", "tab-separated-values"),
        "sh": MIMEType("application", "x-sh"), "toml": MIMEType("application", "toml"),
        "eml": MIMEType("message", "rfc822"), "ttf": MIMEType("font", "ttf"), "woff2": MIMEType("font", "woff2"),
    ]
}
