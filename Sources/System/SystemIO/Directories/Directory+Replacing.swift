extension Directory {
    /// Temporary files of atomic writes: the file's own directory, this prefix, random hexadecimal, this suffix.
    /// What a crash leaves behind is recognised by it.
    package static let temporaryPrefix = ".ferry-"
    package static let temporarySuffix = ".tmp"

    package static func isTemporary(_ name: String) -> Bool {
        name.hasPrefix(temporaryPrefix) && name.hasSuffix(temporarySuffix)
    }

    /// A name for a temporary file beside `relative`.
    package static func temporary(beside relative: String) -> String {
        let name = temporaryPrefix + SystemRandom.hex(8) + temporarySuffix
        guard let slash = relative.utf8.lastIndex(of: UInt8(ascii: "/")) else { return name }
        return relative[...slash] + name
    }

    /// Writes a new file that nobody sees under its final name yet and gives its path; on an error nothing is left.
    ///
    /// - Parameters:
    ///   - synchronize: whether to wait for the disk; without it, call `synchronizeFileSystem` before the rename.
    ///   - prepare: sets mode or attributes before the file is synchronised.
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

    /// Sets the file's content in one step that survives power loss: readers see the old bytes or the new ones. On an
    /// error the old file stands and nothing is left beside it.
    ///
    /// - Parameters:
    ///   - mode: permission bits, the umask applied.
    ///   - exclusive: fail with `.exists` where the name is taken, instead of replacing.
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

    /// Waits until the name `relative` itself, or its absence, is on the disk.
    package func synchronizeParent(of relative: String) throws(SystemError) {
        guard let slash = relative.utf8.lastIndex(of: UInt8(ascii: "/")) else { return try synchronize() }
        try open(String(relative[..<slash]), [.read, .directory]).synchronize()
    }
}
