/// The properties by which the directory of a list is distinguished from another one at its path.
package struct ListDirectory: Hashable, Sendable {
    /// The mark that Ferry wrote into the directory; nil if it has none, for example because its
    /// file system keeps no extended attributes.
    package var mark: String?
    /// Whether a file system is mounted at the directory.
    package var isMount: Bool

    package init(mark: String?, isMount: Bool) {
        self.mark = mark
        self.isMount = isMount
    }

    /// Whether this directory was found in the place of `known`, so that the absence of files says
    /// nothing: the file system of a list is not mounted, or another one is mounted over the list.
    ///
    /// A directory that its user has removed and made again has no mark either, but no file system
    /// was mounted there, nor is now. A directory that has most of the files is the list's: it was
    /// copied, or restored from a backup. A list without files tells only that its mount is gone.
    ///
    /// - Parameters:
    ///   - expected: The number of known files that are to be in the directory.
    ///   - present: The number of those whose names are there.
    package func covers(_ known: ListDirectory, expected: Int, present: Int) -> Bool {
        guard self != known, known.isMount || isMount else { return false }
        if let mark, mark == known.mark { return false }
        let isBare = known.isMount && !isMount
        // An earlier mark of the list: a mount was put over this directory later.
        if isBare, let mark, let other = known.mark, Self.list(of: mark) == Self.list(of: other) { return true }
        return expected == 0 ? isBare : present <= expected / 2
    }

    /// Returns the part of a mark that all marks of a list share.
    private static func list(of mark: String) -> Substring { mark.prefix { $0 != "/" } }
}
