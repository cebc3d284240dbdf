/// One write of a commit. `WriteApplication` defines its effect on a document.
public struct Write: Sendable, Hashable {
    /// The operation of a write.
    public enum Operation: Sendable, Hashable {
        /// Sets fields: all of them without a mask; with a mask the masked ones. A masked path that
        /// is absent from `fields` is deleted.
        case update(DocumentName, fields: [String: Value])
        case delete(DocumentName)
        /// Checks the precondition without changing the document.
        case verify(DocumentName)
    }

    /// The operation on the document.
    public var operation: Operation
    /// The fields to change; nil replaces the whole document. If empty, no field is changed, but
    /// the document is created if it does not exist.
    public var mask: [FieldPath]?
    /// Transforms applied in order after `operation`.
    public var transforms: [FieldTransform]
    /// A condition on the stored document; nil for none.
    public var precondition: Precondition?

    /// Creates a write.
    public init(
        _ operation: Operation, mask: [FieldPath]? = nil, transforms: [FieldTransform] = [],
        precondition: Precondition? = nil
    ) {
        self.operation = operation
        self.mask = mask
        self.transforms = transforms
        self.precondition = precondition
    }

    /// The name of the document that the write concerns.
    public var name: DocumentName {
        switch operation {
        case .update(let name, _), .delete(let name), .verify(let name): name
        }
    }
}

/// A condition that the stored document must satisfy for a write to be applied.
public enum Precondition: Sendable, Hashable {
    case exists(Bool)
    /// The document exists with exactly this version.
    case updateTime(Timestamp)
}

/// A change of one field that the store computes.
public struct FieldTransform: Sendable, Hashable {
    /// The computation of a transform.
    public enum Operation: Sendable, Hashable {
        /// Sets the field to the commit's time, which is the same for all transforms of a commit.
        case serverTimestamp
        /// Adds a number to the field. Integers saturate. Sets the field to the operand if it is
        /// missing or not a number.
        case increment(Value)
        case maximum(Value)
        case minimum(Value)
        /// Appends each element that the array does not contain.
        case appendMissingElements([Value])
        /// Removes all elements that are equal to one of these.
        case removeAllFromArray([Value])
    }

    /// The path of the field.
    public var path: FieldPath
    /// The computation.
    public var operation: Operation

    /// Creates a transform.
    public init(_ path: FieldPath, _ operation: Operation) {
        self.path = path
        self.operation = operation
    }
}

/// The result of one write of a commit.
public struct WriteResult: Sendable, Hashable {
    /// The document's version after the write, which is the old one if nothing changed; nil for a
    /// delete or verify.
    public var updateTime: Timestamp?
    /// One value per transform, in order; null for array transforms.
    public var transformResults: [Value]

    /// Creates a result.
    public init(updateTime: Timestamp?, transformResults: [Value] = []) {
        self.updateTime = updateTime
        self.transformResults = transformResults
    }
}

/// The result of a commit.
public struct CommitResult: Sendable, Hashable {
    /// One result per write, in order.
    public var writeResults: [WriteResult]
    /// The time of the commit.
    public var commitTime: Timestamp

    /// Creates a result.
    public init(writeResults: [WriteResult], commitTime: Timestamp) {
        self.writeResults = writeResults
        self.commitTime = commitTime
    }
}
