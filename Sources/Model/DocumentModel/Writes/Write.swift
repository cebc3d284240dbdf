/// One write of a commit. What it does to a document is defined by `WriteApplication`.
public struct Write: Sendable, Hashable {
    public enum Operation: Sendable, Hashable {
        /// Sets fields: all of them without a mask, the masked ones with it (a masked path absent from `fields` is deleted).
        case update(DocumentName, fields: [String: Value])
        case delete(DocumentName)
        /// Changes nothing; only the precondition is checked.
        case verify(DocumentName)
    }

    public var operation: Operation
    /// nil: the whole document is replaced. Present but empty: no field changes, but the document is created if absent.
    public var mask: [FieldPath]?
    /// Applied after `operation`, in order.
    public var transforms: [FieldTransform]
    public var precondition: Precondition?

    public init(
        _ operation: Operation, mask: [FieldPath]? = nil, transforms: [FieldTransform] = [],
        precondition: Precondition? = nil
    ) {
        self.operation = operation
        self.mask = mask
        self.transforms = transforms
        self.precondition = precondition
    }

    public var name: DocumentName {
        switch operation {
        case .update(let name, _), .delete(let name), .verify(let name): name
        }
    }
}

/// What must hold of the stored document for a write to be applied.
public enum Precondition: Sendable, Hashable {
    case exists(Bool)
    /// The document exists with exactly this version.
    case updateTime(Timestamp)
}

/// A change of one field that the store computes.
public struct FieldTransform: Sendable, Hashable {
    public enum Operation: Sendable, Hashable {
        /// The commit's time, the same for all transforms of a commit.
        case serverTimestamp
        /// Adds; saturates for integers; sets where the field is missing or no number. The operand is a number.
        case increment(Value)
        case maximum(Value)
        case minimum(Value)
        /// Appends each element that is not there yet.
        case appendMissingElements([Value])
        /// Removes all elements equal to one of these.
        case removeAllFromArray([Value])
    }

    public var path: FieldPath
    public var operation: Operation

    public init(_ path: FieldPath, _ operation: Operation) {
        self.path = path
        self.operation = operation
    }
}

/// What one write of a commit did.
public struct WriteResult: Sendable, Hashable {
    /// The document's version afterwards; the old one if nothing changed; nil for a delete or verify.
    public var updateTime: Timestamp?
    /// One value a transform, in the write's order; null for array transforms.
    public var transformResults: [Value]

    public init(updateTime: Timestamp?, transformResults: [Value] = []) {
        self.updateTime = updateTime
        self.transformResults = transformResults
    }
}

/// What a commit did: one result a write, in order, and its time.
public struct CommitResult: Sendable, Hashable {
    public var writeResults: [WriteResult]
    public var commitTime: Timestamp

    public init(writeResults: [WriteResult], commitTime: Timestamp) {
        self.writeResults = writeResults
        self.commitTime = commitTime
    }
}
