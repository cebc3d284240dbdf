import CLinux
import Glibc

extension Directory {
    /// Calls `body` with each name except `.` and `..`, in the order of the file system.
    ///
    /// Several callers can list the same directory at once. A name that is created or removed
    /// during the listing may be missed; all others are reported.
    package func forEachEntry(_ body: (DirectoryEntry) -> Void) throws(SystemError) {
        // A new descriptor, because the position in the listing belongs to the open file.
        let listing = try open(".", [.read, .directory])
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 8)
        defer { buffer.deallocate() }
        while true {
            let count = retry { ferry_list(listing.rawValue, buffer.baseAddress, UInt(buffer.count)) }
            guard count >= 0 else { throw .last("list", path) }
            if count == 0 { return }
            Directory.forEachEntry(in: UnsafeRawBufferPointer(rebasing: buffer[..<count]), body)
        }
    }

    package func entries() throws(SystemError) -> [DirectoryEntry] {
        var entries: [DirectoryEntry] = []
        try forEachEntry { entries.append($0) }
        return entries
    }

    /// Parses records of getdents(2): inode (8 bytes), offset (8), record length (2), type (1),
    /// name up to a NUL.
    private static func forEachEntry(
        in records: UnsafeRawBufferPointer, _ body: (DirectoryEntry) -> Void
    ) {
        var start = 0
        while start + 19 < records.count {
            let inode = records.loadUnaligned(fromByteOffset: start, as: UInt64.self)
            let length = Int(records.loadUnaligned(fromByteOffset: start + 16, as: UInt16.self))
            let type = records[start + 18]
            guard length > 19, start + length <= records.count else { return }
            let field = UnsafeRawBufferPointer(rebasing: records[(start + 19)..<(start + length)])
            let name = UnsafeRawBufferPointer(rebasing: field[..<(field.firstIndex(of: 0) ?? field.count)])
            start += length
            if name.elementsEqual(".".utf8) || name.elementsEqual("..".utf8) { continue }
            let kind = FileStatus.Kind(type: type)
            if let text = String(validating: name, as: UTF8.self) {
                body(DirectoryEntry(name: text, kind: kind, inode: inode))
            } else {
                body(
                    DirectoryEntry(name: escapedName(name), invalidBytes: Array(name), kind: kind, inode: inode))
            }
        }
    }
}

extension FileStatus.Kind {
    /// Creates a kind from `d_type` of readdir(3).
    init(type: UInt8) {
        self =
            switch Int(type) {
            case 8: .file
            case 4: .directory
            case 10: .link
            case 1: .pipe
            case 12: .socket
            case 2, 6: .device
            default: .unknown
            }
    }
}
