import Testing

@testable import DocumentModel

@Suite struct WriteApplicationTests {
    private let name: DocumentName
    private let old: Document

    init() throws {
        name = try DocumentName(parsing: "projects/p/databases/d/documents/tasks/a")
        old = Document(
            name: name,
            fields: ["a": .integer(1), "m": .map(["x": .integer(1), "y": .integer(2)]), "l": .array([.integer(1)])],
            createTime: Timestamp(microseconds: 10), updateTime: Timestamp(microseconds: 20))
    }

    private func apply(_ write: Write, to document: Document?, at time: Int64 = 30) throws -> WriteApplication.Outcome {
        try WriteApplication.apply(write, to: document, at: Timestamp(microseconds: time))
    }

    private func update(
        _ fields: [String: Value], mask: [String]? = nil, transforms: [FieldTransform] = [],
        precondition: Precondition? = nil
    ) throws -> Write {
        let paths = try mask?.map { path throws in try FieldPath(parsing: path) }
        return Write(.update(name, fields: fields), mask: paths, transforms: transforms, precondition: precondition)
    }

    private func refusal(_ write: Write, of document: Document?) -> WriteError? {
        #expect(throws: WriteError.self) { try apply(write, to: document) }
    }

    // MARK: - Updates and masks

    @Test func `without a mask the whole document is replaced and keeps its create time`() throws {
        let outcome = try apply(try update(["b": .null]), to: old)
        #expect(outcome.document?.fields == ["b": .null])
        #expect(outcome.document?.createTime.microseconds == 10)
        #expect(outcome.document?.updateTime.microseconds == 30)
        #expect(outcome.result == WriteResult(updateTime: Timestamp(microseconds: 30)) && outcome.changed)
    }

    @Test func `a mask sets, deletes and leaves alone`() throws {
        let fields: [String: Value] = ["a": .integer(2), "m": .map(["x": .integer(9), "z": .integer(9)]), "n": .null]
        let outcome = try apply(try update(fields, mask: ["a", "m.x", "m.y", "l"]), to: old)
        #expect(outcome.document?.fields == ["a": .integer(2), "m": .map(["x": .integer(9)])])
    }

    @Test func `a masked path creates the maps on its way, a deleted one does not`() throws {
        let fields: [String: Value] = ["p": .map(["q": .map(["r": .integer(1)])]), "a": .map(["b": .null])]
        let outcome = try apply(try update(fields, mask: ["p.q.r", "no.such.path", "a.b"]), to: old)
        #expect(outcome.document?.fields["p"] == .map(["q": .map(["r": .integer(1)])]))
        #expect(outcome.document?.fields["no"] == nil)
        #expect(outcome.document?.fields["a"] == .map(["b": .null]))
    }

    @Test func `an empty mask creates an empty document, and changes nothing where there is one`() throws {
        let made = try apply(try update(["ignored": .null], mask: []), to: nil)
        #expect(made.document?.fields == [:] && made.changed)
        #expect(made.document?.createTime == made.document?.updateTime)
        let touched = try apply(try update([:], mask: []), to: old)
        #expect(touched.document == old && !touched.changed)
    }

    @Test func `a write that leaves the content identical keeps the version`() throws {
        let outcome = try apply(try update(["a": .integer(1)], mask: ["a"]), to: old)
        #expect(outcome.document == old && !outcome.changed)
        #expect(outcome.result.updateTime == old.updateTime)
        #expect(try apply(try update(["a": .double(1)], mask: ["a"]), to: old).changed)
    }

    @Test func `a delete leaves nothing and has no version`() throws {
        let gone = try apply(Write(.delete(name)), to: old)
        #expect(gone.document == nil && gone.changed && gone.result.updateTime == nil)
        #expect(try !apply(Write(.delete(name)), to: nil).changed)
    }

    // MARK: - Preconditions

    @Test func `preconditions fail with the codes and words that clients look for`() throws {
        #expect(
            refusal(try update([:], precondition: .exists(true)), of: nil)
                == WriteError(.notFound, "No document to update: \(name)"))
        #expect(
            refusal(try update([:], precondition: .exists(false)), of: old)
                == WriteError(.alreadyExists, "Document already exists: \(name)"))
        let time = Precondition.updateTime(Timestamp(microseconds: 19))
        #expect(
            refusal(Write(.delete(name), precondition: time), of: old)
                == WriteError(
                    .failedPrecondition, "the stored version (20) does not match the required base version (19)"))
        #expect(
            refusal(Write(.verify(name), precondition: time), of: nil)
                == WriteError(
                    .failedPrecondition, "the stored version (0) does not match the required base version (19)"))
        let future = Precondition.updateTime(Timestamp(microseconds: 31))
        #expect(refusal(Write(.delete(name), precondition: future), of: old)?.code == .invalidArgument)
    }

    @Test func `preconditions that hold let the write pass`() throws {
        _ = try apply(try update([:], precondition: .exists(true)), to: old)
        _ = try apply(try update([:], precondition: .exists(false)), to: nil)
        let exact = Precondition.updateTime(Timestamp(microseconds: 20))
        let verified = try apply(Write(.verify(name), precondition: exact), to: old)
        #expect(verified.document == old && !verified.changed && verified.result.updateTime == nil)
    }

    // MARK: - Transforms

    private func transformed(_ operations: [FieldTransform.Operation], from value: Value?) throws -> (Value?, [Value]) {
        var document = old
        document.fields["t"] = value
        let transforms = operations.map { FieldTransform(FieldPath(key: "t"), $0) }
        let outcome = try apply(try update([:], mask: [], transforms: transforms), to: document)
        return (outcome.document?.fields["t"], outcome.result.transformResults)
    }

    @Test func `increment saturates integers and goes over to doubles`() throws {
        for (old, operand, new) in [
            (.integer(1), .integer(2), .integer(3)), (.integer(.max), .integer(1), .integer(.max)),
            (.integer(.min), .integer(-1), .integer(.min)), (.integer(1), .double(0.5), .double(1.5)),
            (.double(0.5), .integer(1), .double(1.5)), (nil, .integer(7), .integer(7)),
            (.string("x"), .double(7), .double(7)),
        ] as [(Value?, Value, Value)] {
            let (value, results) = try transformed([.increment(operand)], from: old)
            #expect(value == new && results == [new])
        }
    }

    @Test func `maximum and minimum take the type of the winner and keep an equal value`() throws {
        for (old, operand, greater, lesser) in [
            (.integer(3), .double(3.5), .double(3.5), .integer(3)), (.integer(3), .double(3), .integer(3), .integer(3)),
            (.double(-0.0), .integer(0), .double(-0.0), .double(-0.0)),
            (.double(.nan), .integer(1), .double(.nan), .double(.nan)),
            (.integer(1), .double(.nan), .double(.nan), .double(.nan)),
            (nil, .integer(1), .integer(1), .integer(1)), (.string("z"), .integer(1), .integer(1), .integer(1)),
            (
                .integer(9007199254740993), .double(9007199254740992), .integer(9007199254740993),
                .double(9007199254740992)
            ),
        ] as [(Value?, Value, Value, Value)] {
            #expect(try transformed([.maximum(operand)], from: old).0 == greater)
            #expect(try transformed([.minimum(operand)], from: old).0 == lesser)
        }
    }

    @Test func `array transforms compare as queries do and answer null`() throws {
        let (appended, results) = try transformed(
            [.appendMissingElements([.double(1), .integer(2), .double(2), .double(.nan), .double(.nan)])],
            from: .array([.integer(1)]))
        #expect(appended == .array([.integer(1), .integer(2), .double(.nan)]) && results == [.null])
        let (removed, _) = try transformed(
            [.removeAllFromArray([.double(1), .null])], from: .array([.integer(1), .integer(2), .null, .integer(1)]))
        #expect(removed == .array([.integer(2)]))
        #expect(try transformed([.removeAllFromArray([.null])], from: .integer(1)).0 == .array([]))
        #expect(try transformed([.appendMissingElements([])], from: nil).0 == .array([]))
    }

    @Test func `transforms apply in order, after the update, with one server time`() throws {
        let path = FieldPath(key: "t")
        let transforms = [
            FieldTransform(path, .increment(.integer(1))), FieldTransform(path, .maximum(.integer(10))),
            FieldTransform(FieldPath(key: "s"), .serverTimestamp),
            FieldTransform(try FieldPath(["m", "u"]), .serverTimestamp),
        ]
        let outcome = try apply(try update(["t": .integer(3)], mask: ["t"], transforms: transforms), to: old)
        let now = Value.timestamp(Timestamp(microseconds: 30))
        #expect(outcome.result.transformResults == [.integer(4), .integer(10), now, now])
        #expect(outcome.document?.fields["t"] == .integer(10))
        #expect(outcome.document?.fields["m"] == .map(["x": .integer(1), "y": .integer(2), "u": now]))
    }

    @Test func `an operand that is not a number and too many transforms are refused`() throws {
        let path = FieldPath(key: "t")
        let text = try update([:], transforms: [FieldTransform(path, .increment(.string("1")))])
        #expect(refusal(text, of: nil) == WriteError(.invalidArgument, "Input must be int64 or double."))
        let many = try update([:], transforms: Array(repeating: FieldTransform(path, .serverTimestamp), count: 501))
        #expect(refusal(many, of: nil)?.code == .invalidArgument)
    }

    // MARK: - Limits

    @Test func `values that break a limit are refused in production's words`() throws {
        var deep = Value.integer(1)
        for _ in 0..<20 { deep = .map(["k": deep]) }
        _ = try apply(try update(["a": deep]), to: nil)
        let long = String(repeating: "x", count: 1_048_488)
        for (fields, message) in [
            (["a": .array([.array([])])], "Nested arrays are not allowed"),
            (["": .null], "The property.name is the empty string."),
            (["__id__": .null], "field name __id__ is reserved"),
            (["a": .map(["__x__": .null])], "field name __x__ is reserved"),
            (["a": .map(["d": deep])], "Property a contains an invalid nested entity."),
            (["blob": .string(long)], "The value of property \"blob\" is longer than 1048487 bytes."),
            ([String(long.prefix(1501)): .null], "The property.name is longer than 1500 bytes."),
            (
                ["g": .geoPoint(GeoPoint(latitude: 91, longitude: 0))],
                "Geo point latitude '91.0' outside permitted range -90.0 to 90.0."
            ),
            (["v": .map(["__type__": .string("__vector__")])], "field name __type__ is reserved"),
        ] as [([String: Value], String)] {
            #expect(refusal(try update(fields), of: nil) == WriteError(.invalidArgument, message))
        }
        _ = try apply(try update(["a": .array([.map(["b": .array([])])])]), to: nil)
    }

    @Test func `a document over one mebibyte is rejected, whichever write made it so large`() throws {
        let half = Value.string(String(repeating: "x", count: 600_000))
        let error = refusal(try update(["a": half, "b": half]), of: nil)
        #expect(
            error?.message.contains("(1,200,062 bytes) exceeds the maximum allowed size of 1,048,576 bytes") == true)
        var document = old
        document.fields = ["a": half]
        #expect(refusal(try update(["b": half], mask: ["b"]), of: document)?.code == .invalidArgument)
    }

    @Test func `sizes are counted as documented`() throws {
        // The example of https://firebase.google.com/docs/firestore/storage-size
        let name = try DocumentName(parsing: "projects/p/databases/d/documents/users/jeff/tasks/my_task_id")
        let fields: [String: Value] = [
            "type": .string("Personal"), "done": .boolean(false), "priority": .integer(1),
            "description": .string("Learn Cloud Firestore"),
        ]
        #expect(DocumentLimits.size(of: name, fields: fields) == 147)
    }

    @Test func `reserved names can be neither written nor masked`() throws {
        let numeric = try DocumentName(parsing: "projects/p/databases/d/documents/tasks/__id7__")
        #expect(
            refusal(Write(.delete(numeric)), of: nil)?.message
                == "Resource id \"__id7__\" is invalid because it is reserved.")
        let deep = Array(repeating: "a", count: 22).joined(separator: ".")
        #expect(
            refusal(try update([:], mask: [deep]), of: nil)?.message == "Property a contains an invalid nested entity.")
        #expect(
            refusal(try update([:], mask: ["a.__x__"]), of: nil)?.message == "Invalid reserved name in field path __x__"
        )
    }
}
