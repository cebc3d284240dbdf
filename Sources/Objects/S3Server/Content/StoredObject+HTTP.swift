import BucketStore
import HTTPMessages

extension StoredObject {
    /// Returns a response body with a range of the object, and gives up the object.
    consuming func body(_ span: Range<Int64>) throws -> HTTPBody {
        let open = release(span)
        return .file(
            try FileRange(owning: open.descriptor, offset: open.offset, length: open.length, owner: open.lease))
    }
}
