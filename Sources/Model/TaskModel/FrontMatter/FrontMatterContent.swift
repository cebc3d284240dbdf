import DocumentModel
import YAML

/// The content of a task file's front matter.
///
/// Known keys have fixed types, whatever YAML would make of their text: `title: no` is the title
/// "no". A known key without a value counts as absent. A known key whose value cannot be
/// interpreted is a custom field.
struct FrontMatterContent: Equatable {
    var title: String?
    var priority: Priority?
    var due: Due?
    var tags: [String] = []
    var completed = false
    var instances: [CivilDate: TaskInstance] = [:]
    var fields: [String: Value] = [:]

    init() {}

    /// Creates the content that represents `item`, with a title only if `title` is not nil.
    init(_ item: TaskItem, title: String?) {
        self.title = title
        priority = item.priority
        due = item.due
        tags = item.tags.withoutRepeats
        completed = item.completed
        instances = item.instances
        fields = item.fields
    }

    /// Adds one pair of the front matter in `bytes`, whose top-level keys are at column `indent`.
    ///
    /// - Parameter isMerged: Whether a merge key has added the pair.
    mutating func read(
        _ pair: YAMLPair, named name: String, in bytes: [UInt8], indent: Int, isMerged: Bool = false
    ) {
        if let key = TaskKey(rawValue: name) {
            if let scalar = pair.value.scalar, scalar.style == .plain, YAMLCoreValue(plain: scalar.text) == .null {
                return
            }
            if understand(pair.value, as: key) { return }
        }
        fields[name] = CustomValue.read(pair, in: bytes, indent: indent, isMerged: isMerged)
    }

    /// Whether front matter with `value` for `key` would be read as the typed value, or as absent.
    static func understands(_ value: Value, of key: TaskKey) -> Bool {
        guard let written = CustomValue.written(value, as: key.rawValue) else { return false }
        return written.value == nil
    }

    private mutating func understand(_ node: YAMLNode, as key: TaskKey) -> Bool {
        switch key {
        case .title:
            guard let text = node.scalar?.text else { return false }
            title = text
        case .priority:
            guard let priority = node.scalar.flatMap({ Priority(word: $0.text) }) else { return false }
            self.priority = priority
        case .due:
            guard let due = node.scalar.flatMap({ Due(parsing: $0.text) }) else { return false }
            self.due = due
        case .tags:
            guard let tags = Self.tags(node) else { return false }
            self.tags = tags
        case .completed:
            switch node.scalar?.text.lowercased() {
            case "true", "yes", "on": completed = true
            case "false", "no", "off": completed = false
            default: return false
            }
        case .completeInstances: return addInstances(node, .done)
        case .skippedInstances: return addInstances(node, .skipped)
        }
        return true
    }

    /// Returns the tags of a list of scalars, ignoring empty ones, or of one scalar with tags
    /// separated by commas; nil for any other value.
    private static func tags(_ node: YAMLNode) -> [String]? {
        if let scalar = node.scalar {
            return scalar.text.split(separator: ",").map(\.trimmed).filter { !$0.isEmpty }.withoutRepeats
        }
        guard let nodes = node.sequence else { return nil }
        let entries = nodes.filter { !$0.isAbsent }
        let tags = entries.compactMap { $0.scalar?.text }
        return tags.count == entries.count ? tags.withoutRepeats : nil
    }

    /// Adds the occurrences of a list. Returns false, and adds none, if an entry is not understood.
    /// An occurrence that is both completed and skipped counts as completed.
    private mutating func addInstances(_ node: YAMLNode, _ state: TaskInstance.State) -> Bool {
        guard let nodes = node.sequence else { return false }
        let entries = nodes.filter { !$0.isAbsent }
        let found = entries.compactMap { $0.scalar.flatMap { TaskInstance.parse($0.text, state) } }
        guard found.count == entries.count else { return false }
        for (day, instance) in found where instances[day].map({ $0 < instance }) ?? true { instances[day] = instance }
        return true
    }

    /// The entries of the list of one state, in order of days.
    func entries(_ state: TaskInstance.State) -> [String] {
        instances.filter { $0.value.state == state }.sorted { $0.key < $1.key }.map { $0.value.entry(of: $0.key) }
    }

    static func == (left: FrontMatterContent, right: FrontMatterContent) -> Bool {
        left.priority == right.priority && left.due == right.due && left.completed == right.completed
            && left.instances == right.instances
            && Array(left.title?.utf8 ?? "".utf8) == Array(right.title?.utf8 ?? "".utf8)
            && (left.title == nil) == (right.title == nil)
            && left.tags.elementsEqual(right.tags) { $0.isIdentical(to: $1) } && left.fields == right.fields
    }
}

extension Substring {
    /// The text without spaces and tabs at its ends.
    var trimmed: String {
        var rest = self
        while let first = rest.first, first == " " || first == "\t" { rest.removeFirst() }
        while let last = rest.last, last == " " || last == "\t" { rest.removeLast() }
        return String(rest)
    }
}
