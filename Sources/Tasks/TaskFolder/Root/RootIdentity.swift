/// The identity of the root directory in the kernel.
package struct RootIdentity: Hashable, Sendable {
    package var device: UInt64
    package var inode: UInt64
    /// The id of the file system, from statfs(2); 0 if it has none.
    package var fileSystem: UInt64

    package init(device: UInt64, inode: UInt64, fileSystem: UInt64) {
        self.device = device
        self.inode = inode
        self.fileSystem = fileSystem
    }

    /// Whether this is the directory remembered from an earlier run, provided that both have the
    /// same marker.
    ///
    /// Device numbers may change with a reboot; then the id of the file system decides. FUSE and
    /// NFS have no such id and a new device number at each mount (gocryptfs, sshfs, bindfs), so
    /// only the marker and the inode can be compared.
    package func isSame(as remembered: RootIdentity) -> Bool {
        inode == remembered.inode && (device == remembered.device || fileSystem == remembered.fileSystem)
    }
}
