import DocumentModel

extension WriteApplication {
    /// The document after the remote said that it applied `write` to `document`, from the results that it told.
    ///
    /// - Returns: nil for a document that does not exist afterwards.
    /// - Throws: `WriteError` if the write could not have been applied to this document, so that the replica must read it.
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
