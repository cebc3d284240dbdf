import CLinux

/// One record of inotify(7).
package struct InotifyEvent: Hashable, Sendable {
    /// The kinds of change; several bits may be set.
    package struct Mask: OptionSet, Hashable, Sendable {
        package let rawValue: UInt32

        package init(rawValue: UInt32) { self.rawValue = rawValue }
        init(_ value: Int) { rawValue = UInt32(truncatingIfNeeded: value) }

        package static let attributes = Mask(Int(IN_ATTRIB))
        package static let written = Mask(Int(IN_MODIFY))
        package static let closedAfterWriting = Mask(Int(IN_CLOSE_WRITE))
        package static let created = Mask(Int(IN_CREATE))
        package static let deleted = Mask(Int(IN_DELETE))
        package static let deletedItself = Mask(Int(IN_DELETE_SELF))
        package static let movedItself = Mask(Int(IN_MOVE_SELF))
        package static let movedFrom = Mask(Int(IN_MOVED_FROM))
        package static let movedTo = Mask(Int(IN_MOVED_TO))
        /// The watch no longer exists: it was removed, or its directory was deleted or unmounted.
        package static let ignored = Mask(Int(IN_IGNORED))
        package static let directory = Mask(Int(IN_ISDIR))
        /// The queue overflowed and events were lost, so the directories must be scanned.
        package static let overflow = Mask(Int(IN_Q_OVERFLOW))
        package static let unmounted = Mask(Int(IN_UNMOUNT))
    }

    /// The number that `Inotify.watch` returned; -1 for an overflow.
    package var watch: Int32
    package var mask: Mask
    /// A number that the two events of one rename share; 0 in other events.
    package var cookie: UInt32
    /// The name in the watched directory, escaped if its bytes are not UTF-8; nil if the event
    /// concerns the directory itself.
    package var name: String?
    package var isInvalidName: Bool

    package init(watch: Int32, mask: Mask, cookie: UInt32 = 0, name: String? = nil, isInvalidName: Bool = false) {
        self.watch = watch
        self.mask = mask
        self.cookie = cookie
        self.name = name
        self.isInvalidName = isInvalidName
    }
}
