import DocumentClient
import Reconciliation
import TaskFolder
import TaskModel

/// The directories of lists.
struct ListIndex {
    private(set) var paths: [ListID: TaskPath] = [:]
    private var ids: [TaskPath: ListID] = [:]
    private var directories: [ListID: ListDirectory] = [:]

    /// Returns the list of a directory; nil for the root and unknown ones.
    func id(_ path: TaskPath) -> ListID? { ids[path] }

    func path(_ list: ListID) -> TaskPath? { paths[list] }

    /// Returns what identifies the directory of a list; nil if that was not recorded yet.
    func directory(of list: ListID) -> ListDirectory? { directories[list] }

    /// Returns the path at which a list's directory with this mark was last seen.
    func path(ofDirectoryMarked mark: String) -> TaskPath? {
        directories.first { $0.value.mark == mark }.flatMap { paths[$0.key] }
    }

    mutating func set(_ list: ListID, _ directory: ListDirectory) {
        if paths[list] != nil { directories[list] = directory }
    }

    /// Records the path of a list. A list that had another one has moved with its directory.
    mutating func set(_ list: ListID, _ path: TaskPath) {
        let directory = directories[list]
        remove(list)
        if let other = ids[path] { remove(other) }
        directories[list] = directory
        paths[list] = path
        ids[path] = list
    }

    mutating func remove(_ list: ListID) {
        directories[list] = nil
        if let path = paths.removeValue(forKey: list) { ids[path] = nil }
    }

    /// Returns the ids for a new list with a name, which are the same on every machine, so that two
    /// machines that create it at the same time create one list. The first id that no list with
    /// another name has is used.
    ///
    /// They begin with the user's id and a dot: the server lets no other user create documents with
    /// such ids.
    static func ids(named name: String, of userID: UserID) -> [ListID] {
        formerIDs(named: name, of: userID).map { ListID("\(userID).\($0)") }
    }

    /// Returns the ids that earlier versions gave to lists with a name. Other users could create
    /// them first. Lists that have such ids keep them.
    static func formerIDs(named name: String, of userID: UserID) -> [ListID] {
        (1...9).map { number in
            ListID(DocumentID.derived(from: "ferry list\n\(userID)\n\(number == 1 ? name : "\(name)\n\(number)")"))
        }
    }

    /// Whether a user may create a list with this id, which must not begin with another user's id.
    static func mayMake(_ list: ListID, _ userID: UserID) -> Bool {
        !list.rawValue.utf8.contains(UInt8(ascii: ".")) || list.rawValue.utf8.starts(with: "\(userID).".utf8)
    }

    /// Returns the directory for a list's name, which may be any text and may have several levels.
    ///
    /// - Parameter first: The first number to try: 1 is the name itself.
    static func directory(named name: String, from first: Int = 1, isTaken: (TaskPath) throws -> Bool) throws
        -> TaskPath
    {
        let parts = name.split(separator: "/").map(String.init)
        var path = TaskPath.root
        for part in parts.dropLast() { path = try path.appending(NodeName.directory(for: part, number: 1)) }
        for number in NameRequest.numbers(from: first) {
            let found = try path.appending(NodeName.directory(for: parts.last ?? "", number: number))
            if try !isTaken(found) { return found }
        }
        throw FolderError(.exists, "there is no free name for another list '\(name)'; rename some of them")
    }

    /// Whether the directory of a list can have exactly the list's name.
    static func isExact(_ name: String) -> Bool {
        (try? directory(named: name) { _ in false })?.string.utf8.elementsEqual(name.utf8) ?? false
    }
}
