import SystemIO

/// Other programs that keep directories in step, known by what they leave in them. Two at work on
/// one directory bring each other's copies and conflict files.
enum OtherSync {
    /// The program that the names in a directory tell of.
    static func program(among names: [String]) -> String? {
        for name in names {
            switch name {
            case ".stfolder": return "Syncthing"
            // Not `.dropbox`, which is in the home directories of its users.
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

    /// The nearest directory, this one or one above it, in which another program is at work.
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

    /// The working tree of Git that a directory is in, if it follows the directory's files: a checkout, a stash or a
    /// pull there changes many tasks at once.
    static func workingTree(around path: String) -> String? {
        var path = path
        while true {
            if FileSystem.exists("\(path)/.git") { return path }
            let parent = FileSystem.split(path).parent
            guard parent != path else { return nil }
            path = parent
        }
    }

    /// Whether a task has the name that such a program gives to one of two versions.
    static func isConflictCopy(_ title: String) -> Bool {
        title.contains(".sync-conflict-") || title.contains("conflicted copy")
    }
}
