/// What a write does to a document: the one definition of it, for the store and for a client's local view alike.
package enum WriteApplication {
    package struct Outcome: Sendable, Hashable {
        /// The document afterwards; nil if it does not exist then.
        package var document: Document?
        package var result: WriteResult
        /// False for a verify, a delete of nothing and a write that left the content identical (which keeps the old version).
        package var changed: Bool
    }

    /// Applies `write` to `document`, the state left by the writes before it in the same commit.
    ///
    /// - Parameter commitTime: the commit's time: the new version, and the value of server timestamps.
    /// - Throws: `WriteError` if the precondition fails or the document would break a limit.
    package static func apply(_ write: Write, to document: Document?, at commitTime: Timestamp) throws(WriteError)
        -> Outcome
    {
        try DocumentLimits.checkWritable(write.name)
        try check(write.precondition, name: write.name, document: document, at: commitTime)
        switch write.operation {
        case .verify:
            return Outcome(document: document, result: WriteResult(updateTime: nil), changed: false)
        case .delete:
            return Outcome(document: nil, result: WriteResult(updateTime: nil), changed: document != nil)
        case .update(let name, let fields):
            var updated = try masked(fields, by: write.mask, over: document?.fields ?? [:])
            let results = try TransformApplication.apply(write.transforms, to: &updated, at: commitTime)
            if let document, document.fields == updated {
                let result = WriteResult(updateTime: document.updateTime, transformResults: results)
                return Outcome(document: document, result: result, changed: false)
            }
            try DocumentLimits.check(updated, of: name)
            let after = Document(
                name: name, fields: updated, createTime: document?.createTime ?? commitTime, updateTime: commitTime)
            let result = WriteResult(updateTime: commitTime, transformResults: results)
            return Outcome(document: after, result: result, changed: true)
        }
    }

    /// - Throws: `WriteError` if `precondition` does not hold of `document`.
    package static func check(
        _ precondition: Precondition?, name: DocumentName, document: Document?, at commitTime: Timestamp
    ) throws(WriteError) {
        switch precondition {
        case nil: break
        case .exists(true):
            guard document != nil else { throw WriteError(.notFound, "No document to update: \(name)") }
        case .exists(false):
            guard document == nil else { throw WriteError(.alreadyExists, "Document already exists: \(name)") }
        case .updateTime(let time):
            guard time <= commitTime else {
                throw WriteError(.invalidArgument, "The required base version of \(name) is in the future.")
            }
            guard let document, document.updateTime == time else {
                let stored = document?.updateTime.microseconds ?? 0
                throw WriteError(
                    .failedPrecondition,
                    "the stored version (\(stored)) does not match the required base version (\(time.microseconds))")
            }
        }
    }

    /// `fields` laid over `old` as the mask says; nil replaces everything.
    private static func masked(
        _ fields: [String: Value], by mask: [FieldPath]?, over old: [String: Value]
    ) throws(WriteError) -> [String: Value] {
        guard let mask else { return fields }
        var updated = old
        for path in mask {
            try DocumentLimits.checkWritable(path)
            updated.setValue(fields.value(at: path.segments[...]), at: path.segments[...])
        }
        return updated
    }
}
