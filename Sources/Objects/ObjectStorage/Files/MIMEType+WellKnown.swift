extension MIMEType {
    /// `text/plain`.
    public static let plain = MIMEType("text", "plain")
    /// `text/csv`.
    public static let csv = MIMEType("text", "csv")
    /// `text/html`.
    public static let html = MIMEType("text", "html")
    /// `text/css`.
    public static let css = MIMEType("text", "css")
    /// `text/javascript`.
    public static let javascript = MIMEType("text", "javascript")
    /// `text/markdown`.
    public static let markdown = MIMEType("text", "markdown")
    /// `application/octet-stream`: bytes of an unknown type.
    public static let octetStream = MIMEType("application", "octet-stream")
    /// `application/pdf`.
    public static let pdf = MIMEType("application", "pdf")
    /// `application/zip`.
    public static let zip = MIMEType("application", "zip")
    /// `application/x-tar`.
    public static let tar = MIMEType("application", "x-tar")
    /// `application/x-lzh-compressed`.
    public static let lzh = MIMEType("application", "x-lzh-compressed")
    /// `application/json`.
    public static let json = MIMEType("application", "json")
    /// `image/jpeg`.
    public static let jpeg = MIMEType("image", "jpeg")
    /// `image/pjpeg`: progressive JPEG, as old browsers name it.
    public static let pjpeg = MIMEType("image", "pjpeg")
    /// `image/png`.
    public static let png = MIMEType("image", "png")
    /// `image/gif`.
    public static let gif = MIMEType("image", "gif")
    /// `image/svg+xml`.
    public static let svg = MIMEType("image", "svg+xml")
    /// `image/webp`.
    public static let webp = MIMEType("image", "webp")
    /// `video/mp4`.
    public static let mp4 = MIMEType("video", "mp4")
}

extension MIMEType {
    /// Whether compression with zlib is worth its time for a type.
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
