import Synchronization
import SystemIO

/// Lists in whose place another directory is: one that was mounted over them, or the mount point of
/// a file system that is not mounted.
extension DiskTaskFolder {
    /// The extended attribute that identifies a list's directory.
    private static var listAttribute: String { "user.ferry.list" }

    package var coveredLists: Set<TaskPath> { covered.withLock(\.self) }

    package func listMark(_ directory: TaskPath) throws(FolderError) -> String? {
        let attributes = try translating { () throws(SystemError) in try disk.attributes(directory.string) }
        let value = attributes.first { $0.name == Self.listAttribute }?.value
        return value.flatMap { String(validating: $0, as: UTF8.self) }.flatMap { $0.isEmpty ? nil : $0 }
    }

    package func setListMark(_ directory: TaskPath, to mark: String) throws(FolderError) -> Bool {
        let attribute = FileAttribute(name: Self.listAttribute, value: Array(mark.utf8))
        return try translating { () throws(SystemError) in
            try disk.setAttribute(directory.string, attribute, of: nil)
        }
    }

    package func isMountPoint(_ directory: TaskPath) throws(FolderError) -> Bool {
        try translating { () throws(SystemError) in try disk.isMountPoint(directory.string) }
    }

    /// Throws if a path, or one above it, is that of a covered list.
    func checkUncovered(_ path: TaskPath) throws(FolderError) {
        let list = covered.withLock { lists in lists.isEmpty ? nil : lists.first { path == $0 || path.isBeneath($0) } }
        guard let list else { return }
        throw FolderError(.blockedParent, Self.coveredMessage(list))
    }

    /// Handles the items outside of covered lists together.
    ///
    /// - Returns: A result for each item, in order; for those in covered lists, why they were refused.
    func uncovered<Item, Outcome>(
        _ items: [Item], at path: (Item) -> TaskPath, _ body: ([Item]) -> [Result<Outcome, FolderError>]
    ) -> [Result<Outcome, FolderError>] {
        let refusals = items.map { item -> FolderError? in
            do throws(FolderError) {
                try checkUncovered(path(item))
                return nil
            } catch {
                return error
            }
        }
        var results = body(zip(items, refusals).filter { $1 == nil }.map(\.0)).makeIterator()
        return refusals.map { refusal in
            refusal.map { .failure($0) } ?? results.next() ?? .failure(FolderError(.other, "there was no result"))
        }
    }

    static func coveredMessage(_ list: TaskPath) -> String {
        "\(list) is on another file system than its tasks were. Nothing in it is read, written or deleted until the "
            + "right one is mounted again. If the list is to continue here: ferry rebind"
    }
}
