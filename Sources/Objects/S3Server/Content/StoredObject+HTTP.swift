import BucketStore
import HTTPMessages

extension StoredObject {
    /// Gives up the object for the body of an answer with a span of it.
    consuming func body(_ span: Range<Int64>) throws -> HTTPBody {
        let open = release(span)
        return .file(
            try FileRange(owning: open.descriptor, offset: open.offset, length: open.length, owner: open.lease))
    }
}
