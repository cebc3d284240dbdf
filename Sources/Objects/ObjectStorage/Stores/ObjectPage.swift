/// One page of a listing, in the order of the keys.
public struct ObjectPage: Hashable, Sendable {
    /// The objects of the page.
    public let objects: [ObjectInfo]
    /// The value of `after` for the next page; nil on the last page.
    public let next: ObjectKey?

    /// Creates a page.
    public init(objects: [ObjectInfo], next: ObjectKey?) {
        self.objects = objects
        self.next = next
    }
}
