package import DocumentModel

/// The field paths in which two versions of a document differ.
package enum FieldDifference {
    /// Returns the shortest list of paths that, when set or removed, turns `old` into `new`. Maps
    /// that exist on both sides are compared by key.
    package static func paths(from old: [String: Value], to new: [String: Value]) -> [FieldPath] {
        var paths: [FieldPath] = []
        collect(from: old, to: new, at: [], into: &paths)
        return paths.sorted()
    }

    private static func collect(
        from old: [String: Value], to new: [String: Value], at path: [String], into paths: inout [FieldPath]
    ) {
        for key in Set(old.keys).union(new.keys) where old[key] != new[key] {
            // An emptied map is written as a whole. Removing its keys one by one would have the
            // same effect, but an empty key has no path.
            if case (.map(let before)?, .map(let after)?) = (old[key], new[key]), !after.isEmpty, !before.isEmpty,
                !Set(before.keys).union(after.keys).contains("")
            {
                collect(from: before, to: after, at: path + [key], into: &paths)
            } else if let place = try? FieldPath(path + [key]) {
                paths.append(place)
            }
        }
    }
}
