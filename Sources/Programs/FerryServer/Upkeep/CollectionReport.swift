/// What a collection of objects found, and did.
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
    /// Nothing needs them, and they are too young, or their grace is not over.
    var unused = Tally()
    var removed = Tally()
    var expiredUploads = 0
    /// What is missing or damaged, or why somebody's objects were left alone.
    var problems: [String] = []
    /// The chunks and manifests that are missing although something refers to them, and the
    /// manifests that are damaged. Part of `problems`.
    var missing: [String] = []

    mutating func add(missing: [String]) {
        self.missing += missing
        problems += missing
    }

    mutating func add(_ size: Int64, isNeeded: Bool, isRemoved: Bool) {
        if isNeeded { needed.add(size) } else if isRemoved { removed.add(size) } else { unused.add(size) }
    }
}
