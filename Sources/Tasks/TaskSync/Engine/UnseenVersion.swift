import DocumentModel
import Merge
import TaskModel

/// Decides which values of a version that was just written to a file its next save replaces unseen:
/// an editor that has the file open may not have read it again. Pure.
enum UnseenVersion {
    /// Fields that are not in the file, or that only change together with others.
    private static let others: Set<String> = [
        "title", "listId", "userId", "attachments", "createdTime", "updatedTime", "completedTime", "deletedTime",
    ]

    /// Returns the new values that the save lacks, if it seems to come from an editor that had not
    /// read the new version: it contains nothing that the version added, or something that the
    /// version removed.
    ///
    /// - Parameters:
    ///   - before: The task before the new version; nil if the file got the name of another task's
    ///     file just before. The save may then be meant for that task, and every missing value
    ///     counts.
    ///   - came: The new version.
    ///   - saved: The task in the saved file.
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

    /// Returns the parts of a value that change separately: lines of notes with text, tags, or the
    /// whole value.
    private static func elements(_ value: Value?, _ path: FieldPath) -> Set<Value> {
        switch (value, path.segments) {
        case (nil, _): return []
        case (.string(let text)?, ["notes"]):
            let lines = Array(text.utf8).split { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }
            // Bullets, rules and blank lines do not count.
            return Set(lines.filter { $0.contains { $0 > 0x2D } }.map { .bytes(Array($0)) })
        case (.array(let tags)?, ["tags"]): return Set(tags)
        case (let value?, _): return [value]
        }
    }

    /// Returns the values by field path; custom fields separately.
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
