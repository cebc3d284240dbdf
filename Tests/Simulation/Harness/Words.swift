import Cryptography

/// The values by which a run is judged. Each word that a user writes is unique, so that it can be
/// found again.
///
/// A word looks like `q17z`. A task's birth mark looks like `b5z`, and is a line of the body that
/// users do not edit.
package struct Words {
    /// The words that were written to a file, or by a command that succeeded.
    private(set) var written: Set<String> = []
    /// The words that were removed by a user who had seen them.
    private(set) var replaced: Set<String> = []
    /// Values of front matter that a user removed and that no copy of the task has, with their
    /// task. They must not be in it in the end.
    private(set) var retired: [String: Set<String>] = [:]
    private var copied: Set<String> = []
    /// The number of times that each task may exist: once, and once more for each copy.
    private(set) var births: [String: Int] = [:]
    /// The tasks that a user deleted or replaced by another one.
    private(set) var deleted: Set<String> = []
    /// The words of each attachment that a user created, by the hash of its content.
    private var attachments: [String: Set<String>] = [:]
    /// The hashes of attached files, by the task's mark and the name.
    private var attached: [String: [String]] = [:]
    /// The hashes of attachments that were moved while their tasks had no files.
    private var strays: Set<String> = []
    /// The names of attachments that users changed after creating them.
    private var detached: Set<String> = []
    /// The tasks that users renamed or moved.
    private var left: Set<String> = []
    /// The paths where users put each task.
    private var places: [String: Set<String>] = [:]
    /// The tasks that were created where others had just been deleted, which Ferry cannot
    /// distinguish, with those others.
    private var predecessors: [String: Set<String>] = [:]
    /// The paths of tasks that commands moved to other lists. Their final places are not checked.
    private(set) var commanded: Set<String> = []
    /// The directories that users renamed or removed, and the new names.
    private(set) var changedDirectories: Set<String> = []
    private var last = 0

    mutating func make() -> String {
        last += 1
        return "q\(last)z"
    }

    mutating func makeBirth() -> String {
        last += 1
        let mark = "b\(last)z"
        births[mark] = 1
        return mark
    }

    /// Records that a user replaces `old` by `new`.
    mutating func replace(_ old: [UInt8], with new: [UInt8]) {
        written.formUnion(Self.found(in: new, "q"))
        replaced.formUnion(Self.found(in: old, "q").subtracting(Self.found(in: new, "q")))
    }

    /// Records an edit of a task's file, and returns the values that were removed from its front
    /// matter.
    mutating func edit(_ old: [UInt8], to new: [UInt8]) -> Set<String> {
        replace(old, with: new)
        // An undo restores these.
        for word in Self.found(in: new, "q").subtracting(Self.found(in: old, "q")) { retired[word] = nil }
        let before = Draft(old).head?.joined(separator: "\n") ?? ""
        let gone = Self.found(in: Array(before.utf8), "q").subtracting(Self.found(in: new, "q")).subtracting(copied)
        for word in gone { retired[word] = Self.found(in: old, "b") }
        return gone
    }

    /// Records that values which a user removed may be back.
    mutating func unretire(_ words: Set<String>) {
        for word in words { retired[word] = nil }
    }

    /// Records a rebind to a restored server, which merges both sides and deletes nothing.
    mutating func unite() { retired = [:] }

    /// Records that a user deletes a task with the content `old`.
    mutating func delete(_ old: [UInt8]) {
        replace(old, with: [])
        let marks = Self.found(in: old, "b")
        deleted.formUnion(marks)
        // If the task comes back, it may be in the state before its last edit, which no other
        // machine has seen.
        retired = retired.filter { $0.value.isDisjoint(with: marks) }
    }

    /// Records that a user puts a task with `content` at `path`.
    mutating func place(_ content: [UInt8], at path: String) {
        for mark in Self.found(in: content, "b") { places[mark, default: []].insert(path) }
    }

    /// Records that a user creates a task, or a copy of one, where others were just deleted.
    mutating func succeed(_ content: [UInt8], after marks: Set<String>) {
        for mark in Self.found(in: content, "b") { predecessors[mark, default: []].formUnion(marks) }
    }

    /// Returns the paths where users put a task; empty for a task that no user created.
    func places(of mark: String) -> Set<String> {
        (predecessors[mark] ?? []).union([mark]).reduce(into: []) { $0.formUnion(places[$1] ?? []) }
    }

    /// Records that a command moves the task at `path` to another list.
    mutating func command(_ path: String) { commanded.insert(path) }

    mutating func changeDirectories(_ names: String...) { changedDirectories.formUnion(names) }

    static func directory(of path: String) -> String { path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "" }

    /// Records that a user attaches a file to a task with the content `text`.
    mutating func attach(_ content: [UInt8], to text: [UInt8], named name: String) {
        guard let mark = Self.found(in: text, "b").min() else { return }
        attached["\(mark)/\(name)", default: []].append(SHA256.hash(content).hex)
    }

    /// Records that a user replaces, renames or removes an attachment.
    mutating func detach(from text: [UInt8], named name: String) {
        for mark in Self.found(in: text, "b") { detached.insert("\(mark)/\(name)") }
    }

    /// Records that a user renames a task and leaves its attachments to Ferry, which may not know
    /// them yet.
    mutating func leaveAttachments(of text: [UInt8]) { left.formUnion(Self.found(in: text, "b")) }

    /// Records that a user moves an attachment while its task has no file, so that its task cannot
    /// be determined.
    mutating func leaveBehind(_ content: [UInt8]) { strays.insert(SHA256.hash(content).hex) }

    /// The hashes of attachments that no user removed, of tasks that no user copied or moved, with
    /// the tasks' marks.
    var attachedForGood: [(mark: String, hash: String)] {
        attached.filter { !detached.contains($0.key) }.flatMap { name, hashes in
            let mark = String(name.prefix { $0 != "/" })
            return hashes.filter { hash in
                births[mark] == 1 && !left.contains(mark) && !strays.contains(hash)
                    && attachments[hash].map { $0.isSubset(of: written) && $0.isDisjoint(with: replaced) } == true
            }.map { (mark, $0) }
        }
    }

    mutating func attach(_ content: [UInt8]) {
        attachments[SHA256.hash(content).hex] = Self.found(in: content, "q")
    }

    /// Returns the words of an attachment's content; empty for a text that is not the hash of one.
    func attached(_ hash: String) -> Set<String> { attachments[hash] ?? [] }

    mutating func copy(_ content: [UInt8]) {
        for mark in Self.found(in: content, "b") { births[mark, default: 1] += 1 }
        copied.formUnion(Self.found(in: content, "q"))
        for word in copied { retired[word] = nil }
    }

    /// Records words that were lost before they were read.
    ///
    /// - Parameter left: The words that exist instead, for example those before an edit.
    mutating func forget(_ words: Set<String>, left: Set<String>) {
        replaced.formUnion(words)
        for word in left { retired[word] = nil }
    }

    mutating func rename(_ old: String, to new: String) { replace(Array(old.utf8), with: Array(new.utf8)) }

    /// Returns a text for the story, on one line; for bytes that are not text, their words.
    static func short(_ bytes: [UInt8]) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            return "\(bytes.count) bytes \(found(in: bytes, "q").sorted())"
        }
        return text.replacing("\n", with: "|")
    }

    /// Returns the words of a kind (`q` or `b`) in a text.
    static func found(in bytes: [UInt8], _ kind: Character) -> Set<String> {
        guard let first = kind.asciiValue else { return [] }
        var words: Set<String> = []
        var index = 0
        while index < bytes.count {
            guard bytes[index] == first else {
                index += 1
                continue
            }
            var end = index + 1
            while end < bytes.count, (0x30...0x39).contains(bytes[end]) { end += 1 }
            if end > index + 1, end < bytes.count, bytes[end] == UInt8(ascii: "z") {
                words.insert(String(decoding: bytes[index...end], as: UTF8.self))
            }
            index = end
        }
        return words
    }
}
