/// The findings and actions of a collection of objects.
struct CollectionReport: Sendable {
    struct Tally: Equatable, Sendable {
        var objects = 0
        var bytes: Int64 = 0

        mutating func add(_ size: Int64) {
            objects += 1
            bytes += size
        }
    }

    var needed = Tally()
    /// Objects that no document needs, but that are too young or whose grace period has not ended.
    var unused = Tally()
    var removed = Tally()
    var expiredUploads = 0
    /// The missing or damaged objects, and the reasons why an account's objects were not examined.
    var problems: [String] = []
    /// The missing chunks and manifests to which something refers, and the damaged manifests. A
    /// part of `problems`.
    var missing: [String] = []

    mutating func add(missing: [String]) {
        self.missing += missing
        problems += missing
    }

    mutating func add(_ size: Int64, isNeeded: Bool, isRemoved: Bool) {
        if isNeeded { needed.add(size) } else if isRemoved { removed.add(size) } else { unused.add(size) }
    }
}
