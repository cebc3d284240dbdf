import Cryptography

/// The values by which a run is judged: each word that a user writes is written once, so that it can be found again.
///
/// A word looks like `q17z`; a task's birth mark like `b5z`, a line of the body that nobody edits.
package struct Words {
    /// Written to a file, or by a command that succeeded.
    private(set) var written: Set<String> = []
    /// Taken away by a user who had it before the eyes.
    private(set) var replaced: Set<String> = []
    /// Values of a head that a user took away, and that no copy of the task has: they are not in it in the end. With the task.
    private(set) var retired: [String: Set<String>] = [:]
    private var copied: Set<String> = []
    /// How often each task may be there: once, and once more for each copy.
    private(set) var births: [String: Int] = [:]
    /// Tasks that a user deleted, or put another over.
    private(set) var deleted: Set<String> = []
    /// The words of each attachment that a user made, by the hash of its content.
    private var attachments: [String: Set<String>] = [:]
    /// Of what was attached the hashes, by the task's mark and the name.
    private var attached: [String: [String]] = [:]
    /// The hashes of attachments that were moved while their tasks had no files.
    private var strays: Set<String> = []
    /// Names of attachments that users did more with than to make one.
    private var detached: Set<String> = []
    /// Tasks that users renamed or moved.
    private var left: Set<String> = []
    /// The paths where users put each task.
    private var places: [String: Set<String>] = [:]
    /// Tasks that were made where another one had just been deleted, which is the same to Ferry, with those.
    private var predecessors: [String: Set<String>] = [:]
    /// Where the tasks were, or were to come, that somebody's commands put into other lists: where it goes from there, nobody says.
    private(set) var commanded: Set<String> = []
    /// Directories that users renamed or removed, and those whose names came to be by that.
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

    /// A user puts `new` in the place of `old`.
    mutating func replace(_ old: [UInt8], with new: [UInt8]) {
        written.formUnion(Self.found(in: new, "q"))
        replaced.formUnion(Self.found(in: old, "q").subtracting(Self.found(in: new, "q")))
    }

    /// As `replace`, in a task's file that stays what it is. Answers the values of its head that are gone.
    mutating func edit(_ old: [UInt8], to new: [UInt8]) -> Set<String> {
        replace(old, with: new)
        // Those that an undo brings back.
        for word in Self.found(in: new, "q").subtracting(Self.found(in: old, "q")) { retired[word] = nil }
        let before = Draft(old).head?.joined(separator: "\n") ?? ""
        let gone = Self.found(in: Array(before.utf8), "q").subtracting(Self.found(in: new, "q")).subtracting(copied)
        for word in gone { retired[word] = Self.found(in: old, "b") }
        return gone
    }

    /// Values that a user took away may be back.
    mutating func unretire(_ words: Set<String>) {
        for word in words { retired[word] = nil }
    }

    /// A machine is bound to a server that was put back: the two are united, and nothing is deleted.
    mutating func unite() { retired = [:] }

    /// A user deletes a task that says `old`.
    mutating func delete(_ old: [UInt8]) {
        replace(old, with: [])
        let marks = Self.found(in: old, "b")
        deleted.formUnion(marks)
        // Where the task comes back, it may be as it was before its last edit, which nobody else has seen.
        retired = retired.filter { $0.value.isDisjoint(with: marks) }
    }

    /// A user puts a task that says `content` at `path`.
    mutating func place(_ content: [UInt8], at path: String) {
        for mark in Self.found(in: content, "b") { places[mark, default: []].insert(path) }
    }

    /// A user makes a task, or a copy of one, where others were deleted just before.
    mutating func succeed(_ content: [UInt8], after marks: Set<String>) {
        for mark in Self.found(in: content, "b") { predecessors[mark, default: []].formUnion(marks) }
    }

    /// The paths where users put a task; none of one that no user made.
    func places(of mark: String) -> Set<String> {
        (predecessors[mark] ?? []).union([mark]).reduce(into: []) { $0.formUnion(places[$1] ?? []) }
    }

    /// A command says in which list the task is to be that is at `path`.
    mutating func command(_ path: String) { commanded.insert(path) }

    mutating func changeDirectories(_ names: String...) { changedDirectories.formUnion(names) }

    static func directory(of path: String) -> String { path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "" }

    /// A user attaches a file to a task that says `text`.
    mutating func attach(_ content: [UInt8], to text: [UInt8], named name: String) {
        guard let mark = Self.found(in: text, "b").min() else { return }
        attached["\(mark)/\(name)", default: []].append(SHA256.hash(content).hex)
    }

    /// A user replaces, renames or removes an attachment of that name.
    mutating func detach(from text: [UInt8], named name: String) {
        for mark in Self.found(in: text, "b") { detached.insert("\(mark)/\(name)") }
    }

    /// A user gives a task that says `text` another name, and leaves its attachments to Ferry, which may not know them yet.
    mutating func leaveAttachments(of text: [UInt8]) { left.formUnion(Self.found(in: text, "b")) }

    /// A user moves an attachment elsewhere while its task has no file: whose it is nobody can tell any more.
    mutating func leaveBehind(_ content: [UInt8]) { strays.insert(SHA256.hash(content).hex) }

    /// The hashes of what users attached, and nobody took away, to tasks that nobody copied or moved; by their marks.
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

    /// Those of an attachment's content; none of a text that is no hash of one.
    func attached(_ hash: String) -> Set<String> { attachments[hash] ?? [] }

    mutating func copy(_ content: [UInt8]) {
        for mark in Self.found(in: content, "b") { births[mark, default: 1] += 1 }
        copied.formUnion(Self.found(in: content, "q"))
        for word in copied { retired[word] = nil }
    }

    /// What was gone before anybody could read it.
    ///
    /// - Parameter left: what is there instead, perhaps the text before an edit.
    mutating func forget(_ words: Set<String>, left: Set<String>) {
        replaced.formUnion(words)
        for word in left { retired[word] = nil }
    }

    mutating func rename(_ old: String, to new: String) { replace(Array(old.utf8), with: Array(new.utf8)) }

    /// A text as a story tells it: on one line; its words where it is no text.
    static func short(_ bytes: [UInt8]) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            return "\(bytes.count) bytes \(found(in: bytes, "q").sorted())"
        }
        return text.replacing("\n", with: "|")
    }

    /// The words of a kind (`q` or `b`) in a text.
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
