extension Directory {
    /// The prefix of temporary files of atomic writes.
    ///
    /// Such a file is in the directory of the file to be replaced. Its name is this prefix, random
    /// hexadecimal digits and `temporarySuffix`, by which files that a crash left behind are
    /// recognized.
    package static let temporaryPrefix = ".ferry-"
    /// The suffix of temporary files of atomic writes.
    package static let temporarySuffix = ".tmp"

    /// Whether a name is that of a temporary file of an atomic write.
    package static func isTemporary(_ name: String) -> Bool {
        name.hasPrefix(temporaryPrefix) && name.hasSuffix(temporarySuffix)
    }

    /// Returns a random name for a temporary file in the same directory as `relative`.
    package static func temporary(beside relative: String) -> String {
        let name = temporaryPrefix + SystemRandom.hex(8) + temporarySuffix
        guard let slash = relative.utf8.lastIndex(of: UInt8(ascii: "/")) else { return name }
        return relative[...slash] + name
    }

    /// Writes a new temporary file and returns its path. After an error no file is left.
    ///
    /// - Parameters:
    ///   - synchronize: whether to wait for the disk. If false, call `synchronizeFileSystem` before
    ///     the rename.
    ///   - prepare: sets mode or attributes before the file is synchronized.
    package func writeTemporary(
        beside relative: String, _ bytes: [UInt8], mode: UInt32, synchronize: Bool,
        prepare: (borrowing FileDescriptor) throws(SystemError) -> Void = { _ throws(SystemError) in }
    ) throws(SystemError) -> String {
        let temporary = Directory.temporary(beside: relative)
        let file = try open(temporary, [.write, .create, .exclusive], mode: mode)
        do throws(SystemError) {
            try file.write(bytes)
            try prepare(file)
            if synchronize { try file.synchronize() }
            try file.close()
        } catch {
            try? remove(temporary)
            throw error
        }
        return temporary
    }

    /// Replaces the file's content atomically and durably: after a power failure, readers find
    /// either the old bytes or the new ones.
    ///
    /// After an error the old file is unchanged and no temporary file is left.
    ///
    /// - Parameters:
    ///   - mode: permission bits, to which the umask is applied.
    ///   - exclusive: whether to fail with `.exists` if the name is taken, instead of replacing the
    ///     file.
    package func replace(
        _ relative: String, with bytes: [UInt8], mode: UInt32 = 0o666, exclusive: Bool = false
    ) throws(SystemError) {
        let temporary = try writeTemporary(beside: relative, bytes, mode: mode, synchronize: true)
        do throws(SystemError) {
            try rename(temporary, to: relative, exclusive ? .exclusive : .replacing)
        } catch {
            try? remove(temporary)
            throw error
        }
        try synchronizeParent(of: relative)
    }

    /// Waits until the directory entry of `relative`, or its absence, is on disk.
    package func synchronizeParent(of relative: String) throws(SystemError) {
        guard let slash = relative.utf8.lastIndex(of: UInt8(ascii: "/")) else { return try synchronize() }
        try open(String(relative[..<slash]), [.read, .directory]).synchronize()
    }
}
