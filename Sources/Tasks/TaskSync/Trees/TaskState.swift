import Cryptography
import DocumentModel
import Reconciliation
import SystemIO
import TaskFolder
import TaskModel

/// Converts a task's file or document into the terms of the trees.
///
/// A file and a document represent the same state in different ways: the title is in the file's
/// name or in its front matter, and a document may lack the layout of front matter. Both are
/// converted into one form, so that equal states have equal digests.
enum TaskState {
    /// Returns the name that a task file requests, and its contents.
    ///
    /// - Parameter isNameChosen: Whether the document gives the file a name that differs from the
    ///   title; nil if there is no document. In that case a `title` key from which Ferry would have
    ///   made the file's name counts as Ferry's own.
    static func state(
        of file: TaskFile, named fileName: String, isNameChosen: Bool?
    ) -> (name: FileName, contents: Contents) {
        let isChosen = file.hasTitleKey && (isNameChosen ?? !TaskFileName.isMade(fileName, of: file.item.title))
        var fields = FileImport.FileContents(isChosen ? file : withoutFerrysTitle(file), named: fileName).fields
        fields[TaskLayout.fileName] = nil
        if !isChosen { fields["title"] = nil }
        let name = isChosen ? TaskFileName.title(of: fileName) : file.item.title
        return (FileName(name), contents(of: fields))
    }

    /// Returns the name that a document requests, and its contents in the layout of a file.
    ///
    /// - Parameter shadow: The file when both sides last agreed. Its layout stays if the document
    ///   has none.
    static func state(
        of document: [String: Value], insteadOf shadow: TaskFile?
    ) -> (name: FileName, contents: Contents) {
        let item = TaskItem(withoutAttachments: document)
        let name = TaskLayout.title(of: item, document)
        let file = try? TaskLayout.file(
            for: item, document, named: TaskFileName.file(for: name).name, instead: shadow.map(withoutFerrysTitle))
        var fields = file.map { FileImport.FileContents($0, named: $0.name).fields } ?? item.documentFields
        fields["title"] = TaskLayout.fileName(of: document) == nil ? nil : .string(item.title)
        fields[TaskLayout.fileName] = nil
        for key in ["listId", "userId", "createdTime", "updatedTime", "completedTime", "deletedTime"] {
            fields[key] = nil
        }
        return (FileName(name), contents(of: fields))
    }

    /// Returns the contents of the file that Ferry writes for the fields of a merge.
    static func contents(ofFileWith fields: [String: Value], name: FileName) -> Contents {
        var document = fields
        if let title = fields["title"] {
            document[TaskLayout.fileName] = .string(name.string)
            document["title"] = title
        } else {
            document["title"] = .string(name.string)
        }
        return state(of: document, insteadOf: nil).contents
    }

    /// Returns the file without a `title` key that Ferry wrote because of a numbered name, which is
    /// not a part of the user's contents.
    private static func withoutFerrysTitle(_ file: TaskFile) -> TaskFile {
        guard file.hasTitleKey else { return file }
        let plain = TaskFileName.file(for: file.item.title)
        let written = try? file.updated(
            to: file.item, named: plain.name, writesTitle: !plain.carriesTitle, keepsTitle: false)
        return written ?? file
    }

    /// Returns hashes of the lines by which a version of a text is recognized: those of the notes,
    /// or of the front matter of a file without notes.
    static func lines(of bytes: [UInt8]) -> Set<UInt64> {
        let head = (try? TaskFile(parsing: bytes, named: ""))?.head.count ?? 0
        let notes = lines(in: bytes.dropFirst(head))
        return notes.isEmpty ? lines(in: bytes[...]) : notes
    }

    private static func lines(in text: ArraySlice<UInt8>) -> Set<UInt64> {
        // Lines of dashes and spaces occur in every text.
        let lines = text.split(separator: UInt8(ascii: "\n")).filter { $0.contains { $0 > 0x2D } }
        return Set(lines.map { ContentDigest(SHA256.hash($0)).prefix })
    }

    // MARK: Contents

    /// Returns contents with a digest that does not depend on the order of fields.
    static func contents(of fields: [String: Value]) -> Contents {
        Contents(digest: digest(of: fields), fields: fields)
    }

    private static func digest(of fields: [String: Value]) -> ContentDigest {
        var hash = SHA256()
        add(.map(fields), to: &hash)
        return ContentDigest(hash.finish())
    }

    /// Adds a value so that different values add different bytes, independent of the order of a
    /// map.
    private static func add(_ value: Value, to hash: inout SHA256) {
        switch value {
        case .map(let map):
            hash.update("{\(map.count)")
            for (key, value) in map.sorted(by: { UTF8Order.precedes($0.key, $1.key) }) {
                hash.update("\(key.utf8.count):\(key)")
                add(value, to: &hash)
            }
        case .array(let values):
            hash.update("[\(values.count)")
            for value in values { add(value, to: &hash) }
        case .string(let text): hash.update("s\(text.utf8.count):\(text)")
        default: hash.update("\(value);")
        }
    }
}

extension ContentDigest {
    init(_ digest: SHA256Digest) {
        let words = digest.bytes.withUnsafeBytes { bytes in
            (0..<4).map { UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: $0 * 8, as: UInt64.self)) }
        }
        self.init(words[0], words[1], words[2], words[3])
    }

    /// Creates the digest from 64 hexadecimal digits; nil for any other text.
    init?(hex: String) {
        guard hex.utf8.count == 64 else { return nil }
        var words: [UInt64] = []
        var rest = hex[...]
        while !rest.isEmpty {
            guard let word = UInt64(rest.prefix(16), radix: 16) else { return nil }
            words.append(word)
            rest = rest.dropFirst(16)
        }
        self.init(words[0], words[1], words[2], words[3])
    }
}

extension FileStamp {
    init(_ stamp: Stamp) {
        self.init(
            device: stamp.file.device, inode: stamp.file.inode, size: stamp.size,
            modified: FileTime(seconds: stamp.modified.seconds, nanoseconds: stamp.modified.nanoseconds),
            changed: FileTime(seconds: stamp.changed.seconds, nanoseconds: stamp.changed.nanoseconds))
    }
}

extension Stamp {
    init(_ stamp: FileStamp) {
        self.init(
            file: File(device: stamp.device, inode: stamp.inode), size: stamp.size,
            modified: Time(seconds: stamp.modified.seconds, nanoseconds: stamp.modified.nanoseconds),
            changed: Time(seconds: stamp.changed.seconds, nanoseconds: stamp.changed.nanoseconds))
    }
}
