/// A part of a listing, in the order of the keys.
public struct ObjectPage: Hashable, Sendable {
    public let objects: [ObjectInfo]
    /// Give this as `after` for the next page; nil on the last one.
    public let next: ObjectKey?

    public init(objects: [ObjectInfo], next: ObjectKey?) {
        self.objects = objects
        self.next = next
    }
}
