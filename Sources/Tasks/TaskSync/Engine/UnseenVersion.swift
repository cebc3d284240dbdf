import DocumentModel
import Merge
import TaskModel

/// Decides what the first save of a file puts away of the version that had come to it a moment
/// before. An editor that has the file open may not have looked at it since. Pure.
enum UnseenVersion {
    /// What does not stand in the file, or only goes along with other fields.
    private static let others: Set<String> = [
        "title", "listId", "userId", "attachments", "createdTime", "updatedTime", "completedTime", "deletedTime",
    ]

    /// The values that came and that the save lacks, if it looks like the save of an editor that
    /// had not looked: nothing of what came is in it, or something of what that replaced is back.
    ///
    /// - Parameters:
    ///   - before: The task before the version came; `nil`: the file took the name of another task's a moment before, so what is saved
    ///     may be meant for that one, and all that it lacks counts.
    ///   - came: The version that came.
    ///   - saved: The task as the file says it now.
    static func displaced(before: TaskItem?, came: TaskItem, saved: TaskItem) -> [Merge.DisplacedValue] {
        let (old, new, mine) = (values(of: before), values(of: came), values(of: saved))
        var displaced: [Merge.DisplacedValue] = []
        var (hasNews, hasOld) = (false, before == nil)
        for (path, value) in new.sorted(by: { $0.key < $1.key }) where old[path] != value {
            let (was, came, now) = (elements(old[path], path), elements(value, path), elements(mine[path], path))
            let news = came.subtracting(was)
            hasNews = hasNews || !news.isDisjoint(with: now)
            hasOld = hasOld || !was.subtracting(came).isDisjoint(with: now)
            guard !news.isSubset(of: now) else { continue }
            displaced.append(
                Merge.DisplacedValue(field: path, value: value, side: .theirs, reason: .replaced))
        }
        return hasNews && !hasOld ? [] : displaced
    }

    /// The parts of a value that come and go apart: lines of notes that say something, tags, or the whole.
    private static func elements(_ value: Value?, _ path: FieldPath) -> Set<Value> {
        switch (value, path.segments) {
        case (nil, _): return []
        case (.string(let text)?, ["notes"]):
            let lines = Array(text.utf8).split { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }
            // Bullets, rules and blanks say nothing.
            return Set(lines.filter { $0.contains { $0 > 0x2D } }.map { .bytes(Array($0)) })
        case (.array(let tags)?, ["tags"]): return Set(tags)
        case (let value?, _): return [value]
        }
    }

    /// By field path; custom fields each on its own.
    private static func values(of item: TaskItem?) -> [FieldPath: Value] {
        var values: [FieldPath: Value] = [:]
        for (key, value) in item?.documentFields ?? [:] where !others.contains(key) {
            guard key == "fields", let members = value.mapValue else {
                values[FieldPath(key: key)] = value
                continue
            }
            for (member, value) in members { values[FieldPath(key: key).appending(member)] = value }
        }
        return values
    }
}
