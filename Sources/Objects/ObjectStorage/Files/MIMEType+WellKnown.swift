extension MIMEType {
    public static let plain = MIMEType("text", "plain")
    public static let csv = MIMEType("text", "csv")
    public static let html = MIMEType("text", "html")
    public static let css = MIMEType("text", "css")
    public static let javascript = MIMEType("text", "javascript")
    public static let markdown = MIMEType("text", "markdown")
    /// Bytes of which nothing is known.
    public static let octetStream = MIMEType("application", "octet-stream")
    public static let pdf = MIMEType("application", "pdf")
    public static let zip = MIMEType("application", "zip")
    public static let tar = MIMEType("application", "x-tar")
    public static let lzh = MIMEType("application", "x-lzh-compressed")
    public static let json = MIMEType("application", "json")
    public static let jpeg = MIMEType("image", "jpeg")
    /// Progressive JPEG, as old browsers name it.
    public static let pjpeg = MIMEType("image", "pjpeg")
    public static let png = MIMEType("image", "png")
    public static let gif = MIMEType("image", "gif")
    public static let svg = MIMEType("image", "svg+xml")
    public static let webp = MIMEType("image", "webp")
    public static let mp4 = MIMEType("video", "mp4")
}

extension MIMEType {
    /// Whether zlib is worth its time on such content.
    enum Compressibility { case pays, doesNotPay, unknown }

    var compressibility: Compressibility {
        if type == "text" || subtype.hasSuffix("+xml") || subtype.hasSuffix("+json") { return .pays }
        switch type {
        case "video": return .doesNotPay
        case "image": return Self.plainImages.contains(subtype) ? .pays : .doesNotPay
        case "audio": return Self.plainSounds.contains(subtype) ? .unknown : .doesNotPay
        default: break
        }
        if Self.packed.contains(subtype) || subtype.hasSuffix("+zip") || subtype.hasSuffix("+gzip") {
            return .doesNotPay
        }
        return Self.plainDocuments.contains(subtype) ? .pays : .unknown
    }

    private static let plainImages: Set = ["bmp", "x-ms-bmp", "x-portable-pixmap", "x-portable-bitmap", "x-xbitmap"]
    private static let plainSounds: Set = ["wav", "x-wav", "vnd.wave", "aiff", "x-aiff", "midi", "basic"]
    private static let plainDocuments: Set = [
        "json", "xml", "javascript", "sql", "rtf", "postscript", "toml", "yaml", "x-yaml", "x-sh", "x-ndjson",
    ]
    private static let packed: Set = [
        "zip", "gzip", "x-gzip", "x-bzip", "x-bzip2", "x-xz", "zstd", "x-7z-compressed", "x-rar-compressed", "vnd.rar",
        "x-lzh-compressed", "x-lzma", "x-compress", "java-archive", "vnd.android.package-archive",
        "vnd.debian.binary-package", "x-debian-package", "x-rpm", "epub+zip", "ogg",
    ]
}
