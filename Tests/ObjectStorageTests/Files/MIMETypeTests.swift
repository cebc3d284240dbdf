import Testing

@testable import ObjectStorage

@Suite struct MIMETypeTests {
    @Test(arguments: [
        ("text/plain", "text/plain"), ("TEXT/HTML; charset=utf-8", "text/html"), (" image/svg+xml ", "image/svg+xml"),
        ("application/vnd.oasis.opendocument.text", "application/vnd.oasis.opendocument.text"),
    ])
    func `a type is read, parameters and case dropped`(text: String, expected: String) {
        #expect(MIMEType(text)?.description == expected)
    }

    @Test(arguments: ["", "text", "text/", "/plain", "text/plain/x", "te xt/pl@in", "text/\u{e9}", ".a/b", "a/<b>"])
    func `text that is not a type is rejected`(text: String) {
        #expect(MIMEType(text) == nil)
    }

    @Test(arguments: [
        ("receipt.pdf", MIMEType.pdf), ("PHOTO.JPG", .jpeg), ("notes.md", .markdown), ("a/b.c/data.json", .json),
        ("archive.lzh", .lzh), ("page.htm", .html), ("drawing.svg", .svg), ("clip.mp4", .mp4), ("x.webp", .webp),
        ("old.pjpeg", .pjpeg), ("table.csv", .csv), ("style.css", .css), ("script.js", .javascript),
    ])
    func `a type is detected from a name`(name: String, type: MIMEType) {
        #expect(MIMEType(fileName: name) == type)
    }

    @Test func `the longest known extension decides`() {
        #expect(MIMEType(fileName: "backup.tar.gz")?.description == "application/gzip")
        #expect(MIMEType(fileName: "backup.2026.tar") == .tar)
    }

    @Test(arguments: ["README", "", "noextension.", "x.unheard-of-extension", "/"])
    func `a name without a known extension has no type`(name: String) {
        #expect(MIMEType(fileName: name) == nil || name == "README")
    }

    @Test func `the system's database is read by weight, and odd lines are passed over`() {
        let database = SharedMIMEDatabase(
            """
            # comment
            50:application/x-light:*.foo
            80:application/x-heavy:*.FOO:cs
            50:application/x-later:*.bar
            50:application/x-first-is-kept:*.bar
            50:text/x-makefile:makefile
            50:text/x-wild:read*me
            x:text/x-bad:*.bad
            50:nonsense:*.nonsense
            """)
        #expect(database.type(ofExtension: "foo")?.subtype == "x-heavy")
        #expect(database.type(ofExtension: "bar")?.subtype == "x-later")
        #expect(database.type(ofName: "makefile")?.subtype == "x-makefile")
        #expect(database.type(ofExtension: "bad") == nil)
        #expect(SharedMIMEDatabase(reading: "/nonexistent").type(ofExtension: "foo") == nil)
    }

    private static func start(_ text: String, zeros: Int = 0) -> [UInt8] {
        [UInt8](repeating: 0, count: zeros) + Array(text.utf8)
    }

    private static let starts: [(bytes: [UInt8], type: MIMEType)] = {
        var starts: [([UInt8], MIMEType)] = []
        starts.append((start("%PDF-1.7"), .pdf))
        starts.append(([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A], .png))
        starts.append(([0xFF, 0xD8, 0xFF, 0xE0], .jpeg))
        starts.append((start("GIF89a.."), .gif))
        starts.append((start("RIFF\0\0\0\0WEBPVP8 "), .webp))
        starts.append((start("PK\u{3}\u{4}"), .zip))
        starts.append((start("-lh5-", zeros: 2), .lzh))
        starts.append((start("ftypmp42", zeros: 4), .mp4))
        starts.append((start("ustar", zeros: 257), .tar))
        starts.append((start("  <!DOCTYPE html><p>"), .html))
        starts.append((start("<?xml version='1.0'?><svg xmlns="), .svg))
        starts.append((start("Grüße\n"), .plain))
        starts.append(([], .octetStream))
        starts.append(([0, 1, 2], .octetStream))
        starts.append(([0xFF, 0xFE, 0x41], .octetStream))
        return starts
    }()

    @Test(arguments: starts)
    func `leading bytes tell the type`(bytes: [UInt8], type: MIMEType) {
        #expect(MIMEType(leadingBytes: bytes) == type)
    }

    @Test func `text whose last character is cut by the limit is still text`() {
        for padding in 0..<4 {
            let text = String(repeating: "a", count: padding) + String(repeating: "🛶", count: 200)
            #expect(MIMEType(leadingBytes: Array(text.utf8)) == .plain)
        }
    }

    @Test func `types know whether zlib pays`() {
        #expect(MIMEType.plain.compressibility == .pays)
        #expect(MIMEType.svg.compressibility == .pays)
        #expect(MIMEType.json.compressibility == .pays)
        #expect(MIMEType.jpeg.compressibility == .doesNotPay)
        #expect(MIMEType.zip.compressibility == .doesNotPay)
        #expect(MIMEType(fileName: "a.docx")?.compressibility == .unknown)
        #expect(MIMEType.octetStream.compressibility == .unknown)
        #expect(MIMEType.pdf.compressibility == .unknown)
    }
}
