import DocumentModel
import YAML

/// A task file: Markdown with optional YAML front matter between two `---` lines.
///
///     ---
///     priority: high            # high | medium | low
///     due: 2026-11-30           # a date, or 2026-11-30T17:00+01:00
///     tags: [errands, home]
///     completed: true
///     title: AC/DC tickets      # only if the file's name cannot represent the title
///     anything-else: kept       # a custom field
///     ---
///     The notes.
///
/// Reading never changes the bytes. `updated` replaces only those of the keys whose values change:
/// comments, order, quotes, line endings, a byte-order mark and a missing last line break are
/// preserved.
public struct TaskFile: Sendable {
    /// The maximum size of a file in bytes. A document can hold 1 MiB including its other fields.
    public static let maximumBytes = 1_000_000

    static let frontMatterLimits = YAMLLimits(depth: 64, nodes: 10_000, bytes: 65_536, followsReferences: true)

    /// The bytes of the whole file, as read or to be written.
    public let bytes: [UInt8]
    /// The task that the file represents. Its title is the value of the `title` key, or else
    /// derived from the file's name. Ids, times and attachments are not part of a file.
    public let item: TaskItem
    /// Whether the front matter contains a title, so that a new title changes the front matter and
    /// not the name of the file.
    public var hasTitleKey: Bool { content.title != nil }

    /// The bytes before the notes: a byte-order mark and the front matter with its delimiters.
    /// Empty for a file that consists of notes only.
    public var head: ArraySlice<UInt8> { bytes[..<layout.body.lowerBound] }

    /// The file's name without folders.
    package let name: String
    let layout: TaskFileLayout
    let content: FrontMatterContent
    let pairs: [YAMLPair]
    /// Whether the front matter is one map in braces.
    let isFlow: Bool

    /// Parses a file.
    ///
    /// - Parameter name: the file's name without folders.
    /// - Throws: the problem for which the file must be left unchanged.
    public init(parsing bytes: [UInt8], named name: String) throws(TaskFileProblem) {
        guard bytes.count <= Self.maximumBytes else {
            throw TaskFileProblem(
                .tooLarge,
                "the file has \(bytes.count) bytes, more than the \(Self.maximumBytes) of a task; attach long texts instead"
            )
        }
        let layout = try TaskFileLayout(bytes)
        guard let notes = String(validating: bytes[layout.body], as: UTF8.self), !bytes.contains(0) else {
            throw Self.notText(bytes, from: layout.body.lowerBound)
        }
        let root = try Self.root(bytes, layout)
        (pairs, isFlow) = try Self.pairs(root)
        let indent = Self.indent(pairs, bytes)
        var content = FrontMatterContent()
        let own = pairs.filter { !MergeKey.isMerge($0) }.map { ($0, false) }
        for (pair, isMerged) in own + MergeKey.added(by: pairs).map({ ($0, true) }) {
            guard let key = pair.key.scalar?.text, CustomValue.isUsable(key: key) else {
                let line = 1 + bytes[..<pair.key.span.lowerBound].count { $0 == UInt8(ascii: "\n") }
                throw TaskFileProblem(
                    .unusableKey, "a key must be a word of its own, not empty and not like __this__; rename it",
                    line: line)
            }
            content.read(pair, named: key, in: bytes, indent: indent, isMerged: isMerged)
        }
        self.bytes = bytes
        self.name = name
        self.layout = layout
        self.content = content
        item = TaskItem(
            title: content.title ?? TaskFileName.title(of: name), priority: content.priority,
            completed: content.completed, due: content.due, tags: content.tags, notes: notes.asNotes,
            fields: content.fields, instances: content.instances)
    }

    private static func root(_ bytes: [UInt8], _ layout: TaskFileLayout) throws(TaskFileProblem) -> YAMLNode? {
        guard let range = layout.frontMatter, !range.isEmpty else { return nil }
        do {
            let root = try YAMLParser.parse(bytes, in: range, limits: frontMatterLimits)
            return root?.isAbsent == true ? nil : root
        } catch {
            let code: TaskFileProblem.Code =
                switch error.code {
                case .duplicateKey: .duplicateKey
                case .overLimit: .overLimit
                case .invalidCharacter: .notText
                default: .malformedFrontMatter
                }
            throw TaskFileProblem(code, error.message, line: error.line)
        }
    }

    private static func pairs(_ root: YAMLNode?) throws(TaskFileProblem) -> ([YAMLPair], isFlow: Bool) {
        switch root?.content {
        case nil: return ([], false)
        case .mapping(let pairs, let style)?: return (pairs, style == .flow)
        default:
            throw TaskFileProblem(
                .malformedFrontMatter,
                "the front matter is not lines of \"key: value\"; correct it, or put a blank line before the first ---",
                line: 2)
        }
    }

    /// Returns the column of the top-level keys.
    static func indent(_ pairs: [YAMLPair], _ bytes: [UInt8]) -> Int {
        guard let first = pairs.first?.key.span.lowerBound else { return 0 }
        return bytes[..<first].reversed().prefix { $0 == UInt8(ascii: " ") }.count
    }

    private static func notText(_ bytes: [UInt8], from start: Int) -> TaskFileProblem {
        if bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF]) {
            return TaskFileProblem(.notText, "the file is UTF-16 text; save it as UTF-8", line: 1)
        }
        if let nul = bytes.firstIndex(of: 0) {
            let line = 1 + bytes[..<nul].count { $0 == UInt8(ascii: "\n") }
            return TaskFileProblem(
                .notText, "the file contains NUL bytes and is not text; restore it with \"ferry history\"", line: line)
        }
        var line = 1 + bytes[..<start].count { $0 == UInt8(ascii: "\n") }
        for part in bytes[start...].split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            if String(validating: part, as: UTF8.self) == nil { break }
            line += 1
        }
        return TaskFileProblem(.notText, "the bytes are not UTF-8; save the file as UTF-8", line: line)
    }
}
