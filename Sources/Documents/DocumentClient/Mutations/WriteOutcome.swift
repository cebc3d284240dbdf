import DocumentModel

extension WriteApplication {
    /// Returns the document after the remote applied `write` to `document`, using the results that
    /// it reported.
    ///
    /// - Returns: Nil if the document does not exist afterwards.
    /// - Throws: `WriteError` if the write could not have been applied to this document, so that
    ///   the replica must read it.
    static func document(
        after write: Write, of document: Document?, result: WriteResult, commitTime: Timestamp
    ) throws -> Document? {
        let time = result.updateTime ?? commitTime
        guard var after = try apply(write, to: document, at: max(time, commitTime)).document else { return nil }
        for (transform, value) in zip(write.transforms, result.transformResults) {
            switch transform.operation {
            case .appendMissingElements, .removeAllFromArray: break
            case .serverTimestamp, .increment, .maximum, .minimum:
                after.fields.setValue(value, at: transform.path.segments[...])
            }
        }
        after.updateTime = time
        if document == nil { after.createTime = time }
        return after
    }
}
