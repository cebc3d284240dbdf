/// Defines the effect of a write on a document, for the store as well as for a client's local view.
package enum WriteApplication {
    package struct Outcome: Sendable, Hashable {
        /// The document after the write; nil if it does not exist.
        package var document: Document?
        package var result: WriteResult
        /// Whether the content changed. False for a verify, for a delete of a document that does
        /// not exist, and for a write that leaves the content identical and therefore keeps the old
        /// version.
        package var changed: Bool
    }

    /// Applies `write` to `document`, the state after the preceding writes of the same commit.
    ///
    /// - Parameter commitTime: the commit's time: the new version, and the value of server
    ///   timestamps.
    /// - Throws: `WriteError` if the precondition fails or the document would exceed a limit.
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

    /// Checks a precondition.
    ///
    /// - Throws: `WriteError` if `document` does not satisfy `precondition`.
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

    /// Returns `old` with the masked paths taken from `fields`; `fields` itself without a mask.
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
