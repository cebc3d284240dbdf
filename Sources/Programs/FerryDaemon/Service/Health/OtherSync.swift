import SystemIO

/// Other programs that sync directories, recognized by the files that they create. Two programs
/// that sync one directory copy each other's temporary and conflict files.
enum OtherSync {
    /// Returns the program whose files are among the names in a directory.
    static func program(among names: [String]) -> String? {
        for name in names {
            switch name {
            case ".stfolder": return "Syncthing"
            // `.dropbox` itself is in the home directories of Dropbox users, so it does not count.
            case ".dropbox.cache": return "Dropbox"
            case ".dropbox.device", ".dropbox.attrs": return "Dropbox"
            case ".SyncID", ".SyncIgnore", ".SyncTrash": return "Resilio Sync"
            case ".megaignore": return "MEGA"
            case _ where name.hasPrefix(".") && name.hasSuffix(".icloud"): return "iCloud Drive"
            case ".owncloudsync.log": return "Nextcloud or ownCloud"
            case _ where name.hasSuffix(".db") && (name.hasPrefix(".sync_") || name.hasPrefix("._sync_")):
                return "Nextcloud or ownCloud"
            default: continue
            }
        }
        return nil
    }

    /// Returns the nearest directory, the given one or one above it, that another program syncs.
    static func program(at path: String) -> (name: String, directory: String)? {
        var path = path
        while true {
            let names = (try? Directory(path: path).entries())?.map(\.name) ?? []
            if let name = program(among: names) { return (name, path) }
            if path.hasSuffix("/com~apple~CloudDocs") { return ("iCloud Drive", path) }
            let parent = FileSystem.split(path).parent
            guard parent != path else { return nil }
            path = parent
        }
    }

    /// Returns the working tree of Git that contains a directory; nil if there is none. A checkout, a
    /// stash or a pull in it changes many tasks at once.
    ///
    /// - Parameter home: The user's home directory. It and the directories above it are not examined:
    ///   a repository there keeps single files of the home directory.
    static func workingTree(around path: String, home: String?) -> String? {
        var path = path
        while path != home {
            if FileSystem.exists("\(path)/.git") { return path }
            let parent = FileSystem.split(path).parent
            guard parent != path else { return nil }
            path = parent
        }
        return nil
    }

    /// Whether a task's title is a name that such a program gives to a conflicting version.
    static func isConflictCopy(_ title: String) -> Bool {
        title.contains(".sync-conflict-") || title.contains("conflicted copy")
    }
}
