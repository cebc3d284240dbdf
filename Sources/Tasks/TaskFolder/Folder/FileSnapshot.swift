package import SystemIO

/// A file that was opened for reading, with its stamp at that time.
package struct FileSnapshot: ~Copyable, Sendable {
    package let descriptor: FileDescriptor
    package let stamp: FileStamp
    private let disk: any FolderDisk

    init(descriptor: consuming FileDescriptor, stamp: FileStamp, disk: any FolderDisk) {
        self.descriptor = descriptor
        self.stamp = stamp
        self.disk = disk
    }

    /// Whether the file is unchanged, so that everything read since the opening is one consistent
    /// state.
    package func isUnchanged() throws(FolderError) -> Bool {
        let status: FileStatus
        do throws(SystemError) {
            status = try disk.status(of: descriptor, inode: stamp.inode)
        } catch {
            throw FolderError(error)
        }
        return stamp.hasContent(of: FileStamp(status))
    }
}
