import Synchronization
import SystemIO

/// Lists in whose place another file system is: one that was mounted over them, or the mount point
/// of one that was unmounted.
extension DiskTaskFolder {
    package var coveredLists: Set<TaskPath> { covered.withLock(\.self) }

    package func device(_ directory: TaskPath) -> UInt64? { (try? disk.status(directory.string))?.device }

    /// Whether files have the device numbers of their directories, which overlayfs does not ensure.
    var hasComparableDevices: Bool {
        guard let marker = try? disk.status(RootMarker.path) else { return false }
        return marker.device == device(.root)
    }

    /// Throws if a path, or one above it, is that of a covered list.
    func checkUncovered(_ path: TaskPath) throws(FolderError) {
        let list = covered.withLock { lists in lists.isEmpty ? nil : lists.first { path == $0 || path.isBeneath($0) } }
        guard let list else { return }
        throw FolderError(.blockedParent, Self.coveredMessage(list))
    }

    static func coveredMessage(_ list: TaskPath) -> String {
        "\(list) is on another file system than its tasks were. Nothing in it is read, written or deleted until the "
            + "right one is mounted again. If the list is to continue here: ferry rebind"
    }
}
