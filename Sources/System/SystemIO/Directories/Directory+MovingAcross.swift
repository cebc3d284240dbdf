import Glibc

/// A file or directory that was moved to another file system by copying it.
package struct CopiedMove: Hashable, Sendable {
    /// The status of the original when it was copied.
    package var original: FileStatus
    /// The status of the copy, which has another inode.
    package var copy: FileStatus

    package init(original: FileStatus, copy: FileStatus) {
        self.original = original
        self.copy = copy
    }
}

extension Directory {
    /// Moves a file, or a directory with everything in it, to another file system, where rename(2) fails with `EXDEV`.
    ///
    /// The copy has the contents, holes, mode, time of modification and `user` attributes of the original. It is on the
    /// disk before it gets its name, and has its name before the original goes. If the original changes meanwhile, or
    /// cannot be removed, the copy is removed and the original stays. A crash leaves the original, or both, or the copy
    /// and a temporary file.
    ///
    /// - Parameters:
    ///   - other: The directory that `target` is relative to.
    ///   - isReplacing: Whether a file with the name `target` is replaced. Otherwise a name that is
    ///     taken throws `.exists`.
    /// - Throws: `.busy` if the original changes during the move; `.unsupported` if it is, or contains, anything but
    ///   files, directories and links with names in UTF-8.
    package func moveAcross(
        _ relative: String, to target: String, in other: Directory, isReplacing: Bool
    ) throws(SystemError) -> CopiedMove {
        let original = try status(relative)
        let temporary = Directory.temporary(beside: target)
        var copied: [String: FileStatus] = [:]
        let copy: FileStatus
        do throws(SystemError) {
            try copyEntry(relative, to: temporary, in: other, depth: 0, as: "", &copied)
            copy = try other.status(temporary)
            try other.rename(temporary, to: target, isReplacing ? .replacing : .exclusive)
        } catch {
            other.discard(temporary)
            throw error
        }
        do throws(SystemError) {
            try other.synchronizeParent(of: target)
            try removeCopied(relative, copied)
        } catch {
            // Only this copy: another program may have replaced it already.
            if let there = try? other.status(target), there.inode == copy.inode, there.modified == copy.modified {
                other.discard(target)
            }
            throw error
        }
        return CopiedMove(original: original, copy: try other.status(target))
    }

    /// Removes what `moveAcross` made; what cannot be removed stays under its temporary name.
    private func discard(_ relative: String) {
        if (try? remove(relative)) == nil {
            try? directory(relative).removeContents()
            try? removeDirectory(relative)
        }
    }

    /// - Parameter name: The path of the entry beneath the directory that is moved, for `copied`.
    private func copyEntry(
        _ relative: String, to target: String, in other: Directory, depth: Int, as name: String,
        _ copied: inout [String: FileStatus]
    ) throws(SystemError) {
        let status = try status(relative)
        copied[name] = status
        switch status.kind {
        case .file: try copyFile(relative, status, to: target, in: other)
        case .link:
            let destination = try at(relative, operation: "read the link") { parent, name -> [CChar]? in
                var text = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
                return readlinkat(parent, name, &text, Int(PATH_MAX)) >= 0 ? text : nil
            }
            try other.at(target, operation: "make the link") { parent, name in
                symlinkat(destination, parent, name) == 0 ? () : nil
            }
        case .directory where depth < 64:
            let source = try directory(relative)
            try other.makeDirectory(target, mode: 0o700)
            for entry in try source.entries() {
                guard entry.invalidBytes == nil else { throw unmovable(relative + "/" + entry.name) }
                try copyEntry(
                    relative + "/" + entry.name, to: target + "/" + entry.name, in: other, depth: depth + 1,
                    as: name + "/" + entry.name, &copied)
            }
            let made = try other.directory(target)
            try made.descriptor.changeMode(status.mode)
            try made.synchronize()
        default: throw unmovable(relative)
        }
    }

    private func unmovable(_ relative: String) -> SystemError {
        SystemError(
            .unsupported, operation: "move to another file system", path: path + "/" + relative,
            remedy: "Only files, directories and links with names in UTF-8 can be moved there")
    }

    private func copyFile(
        _ relative: String, _ listed: FileStatus, to target: String, in other: Directory
    ) throws(SystemError) {
        let source = try open(relative, [.read, .nonBlocking])
        let before = try source.status()
        guard before.kind == .file, before.inode == listed.inode else { throw changed(relative) }
        let file = try other.open(target, [.readWrite, .create, .exclusive], mode: 0o600)
        try file.copyContents(of: source, size: before.size)
        for name in try source.attributeNames() where name.hasPrefix("user.") {
            if let value = try source.attribute(name) { _ = try file.setAttribute(name, to: value) }
        }
        let after = try source.status()
        guard (after.size, after.modified, after.changed) == (listed.size, listed.modified, listed.changed) else {
            throw changed(relative)
        }
        try file.setModified(before.modified)
        // Last: an ordinary user may set no attribute of a file without the right to write to it.
        try file.changeMode(before.mode)
        try file.synchronize()
        try file.close()
    }

    private func changed(_ relative: String) -> SystemError {
        SystemError(
            .busy, operation: "move to another file system", path: path + "/" + relative,
            remedy: "It changed meanwhile; the move is tried again automatically")
    }

    /// Removes the original of a copy. It gets a temporary name first, so that an edit before that is noticed, and
    /// later ones are of another file.
    private func removeCopied(_ relative: String, _ copied: [String: FileStatus]) throws(SystemError) {
        let hidden = Directory.temporary(beside: relative)
        try rename(relative, to: hidden, .exclusive)
        do throws(SystemError) {
            var left = copied
            try checkUnchanged(hidden, as: "", &left)
            guard left.isEmpty else { throw changed(relative) }
            guard copied[""]?.kind == .directory else { return try remove(hidden) }
            try directory(hidden).removeContents()
            try removeDirectory(hidden)
        } catch {
            try? rename(hidden, to: relative, .exclusive)
            throw error
        }
        try synchronizeParent(of: relative)
    }

    /// Takes what is unchanged out of `left`.
    private func checkUnchanged(
        _ relative: String, as name: String, _ left: inout [String: FileStatus]
    ) throws(SystemError) {
        let now = try status(relative)
        // A rename changes `changed` on some file systems.
        guard let then = left.removeValue(forKey: name), then.inode == now.inode, then.kind == now.kind,
            then.kind == .directory || (then.size, then.modified) == (now.size, now.modified)
        else { throw changed(relative) }
        guard now.kind == .directory else { return }
        for entry in try directory(relative).entries() {
            try checkUnchanged(relative + "/" + entry.name, as: name + "/" + entry.name, &left)
        }
    }
}

extension FileDescriptor {
    /// Makes this empty file have the contents of `source`; what are holes there are holes here.
    fileprivate func copyContents(of source: borrowing FileDescriptor, size: Int64) throws(SystemError) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 4096)
        defer { buffer.deallocate() }
        var offset: Int64 = 0
        while offset < size {
            offset = max(offset, try source.nextData(from: offset) ?? size)
            guard offset < size else { break }
            let count = try source.read(into: buffer, at: offset)
            guard count > 0 else { break }
            try write(UnsafeRawBufferPointer(rebasing: buffer[..<count]), at: offset)
            offset = offset.saturatingAdded(to: Int64(count))
        }
        try truncate(to: size)
    }
}
