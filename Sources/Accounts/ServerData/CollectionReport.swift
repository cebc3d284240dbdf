/// The findings and actions of a collection of objects.
package struct CollectionReport: Sendable {
    package struct Tally: Equatable, Sendable {
        package var objects = 0
        package var bytes: Int64 = 0

        package mutating func add(_ size: Int64) {
            objects += 1
            bytes += size
        }
    }

    package init() {}

    package var needed = Tally()
    /// Objects that no document needs, but that are too young or whose grace period has not ended.
    package var unused = Tally()
    package var removed = Tally()
    package var expiredUploads = 0
    /// The missing or damaged objects, and the reasons why an account's objects were not examined.
    package var problems: [String] = []
    /// The missing chunks and manifests to which something refers, and the damaged manifests. A
    /// part of `problems`.
    package var missing: [String] = []

    package mutating func add(missing: [String]) {
        self.missing += missing
        problems += missing
    }

    package mutating func add(_ size: Int64, isNeeded: Bool, isRemoved: Bool) {
        if isNeeded { needed.add(size) } else if isRemoved { removed.add(size) } else { unused.add(size) }
    }
}
