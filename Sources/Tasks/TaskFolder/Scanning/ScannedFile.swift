/// A task file or an attachment that a scan found.
package struct ScannedFile: Hashable, Sendable {
    package var path: TaskPath
    package var stamp: FileStamp
    package var isAttachment: Bool

    package init(path: TaskPath, stamp: FileStamp, isAttachment: Bool) {
        self.path = path
        self.stamp = stamp
        self.isAttachment = isAttachment
    }
}
