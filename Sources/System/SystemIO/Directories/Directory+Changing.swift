import CLinux
import Glibc

extension Directory {
    /// The effect of a rename if the target name exists.
    package enum RenameMode: Sendable {
        /// Replaces the target atomically.
        case replacing
        /// Fails with `.exists`.
        case exclusive
        /// Swaps the two names atomically. Both must exist.
        case exchanging
    }

    /// Creates one directory. Its parent must exist.
    package func makeDirectory(_ relative: String, mode: UInt32 = 0o777) throws(SystemError) {
        try at(relative, operation: "make the directory") { parent, name in
            mkdirat(parent, name, mode_t(mode)) == 0 ? () : nil
        }
    }

    /// Creates a directory and its missing ancestors. Does nothing if it exists.
    package func makeDirectories(_ relative: String, mode: UInt32 = 0o777) throws(SystemError) {
        var made = ""
        for part in relative.split(separator: "/") {
            made += made.isEmpty ? String(part) : "/" + part
            do throws(SystemError) {
                try makeDirectory(made, mode: mode)
            } catch {
                guard error.code == .exists else { throw error }
            }
        }
    }

    /// Removes a file. A symbolic link itself is removed, not its target.
    package func remove(_ relative: String) throws(SystemError) {
        try at(relative, operation: "remove") { parent, name in unlinkat(parent, name, 0) == 0 ? () : nil }
    }

    /// Removes an empty directory.
    package func removeDirectory(_ relative: String) throws(SystemError) {
        try at(relative, operation: "remove the directory") { parent, name in
            unlinkat(parent, name, AT_REMOVEDIR) == 0 ? () : nil
        }
    }

    /// Renames within this directory, or to a path beneath `other`, atomically.
    package func rename(
        _ relative: String, to target: String, in other: Directory? = nil, _ mode: RenameMode = .replacing
    ) throws(SystemError) {
        let flags: UInt32 =
            switch mode {
            case .replacing: 0
            case .exclusive: 1  // RENAME_NOREPLACE, rename(2)
            case .exchanging: 2  // RENAME_EXCHANGE
            }
        var failure: SystemError?
        try at(relative, operation: "rename") { from, old in
            do throws(SystemError) {
                try (other ?? self).at(target, operation: "rename to") { to, name in
                    ferry_rename(from, old, to, name, flags) == 0 ? () : nil
                }
            } catch {
                failure = error
            }
            return ()
        }
        if let failure { throw failure }
    }
}
