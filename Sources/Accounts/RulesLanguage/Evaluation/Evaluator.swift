import DocumentModel

/// Evaluates conditions for one request.
///
/// Errors are absorbed by `&&` and `||` where the other operand decides, and otherwise deny. A value
/// that a query leaves open makes what depends on it open.
struct Evaluator {
    /// The most expressions that are evaluated for one request, as production has it.
    static let expressionLimit = 1000
    static let callDepthLimit = 20
    /// The deepest nesting of expressions through all functions, which bounds the stack.
    static let nestingLimit = 200
    static let documentLimit = 10
    /// The most elements of lists, sets and maps, and pieces of 64 bytes of strings, that are looked
    /// at for one request. Bounds the cost of a request on large documents.
    static let workLimit = 1_000_000

    let program: Program
    private let database: DatabaseName
    private let requestValue: RuleValue
    private let resource: RuleValue
    /// Returns a document as far as it is known; nil if it has to be looked up first.
    private let lookup: (NeededDocument) -> Document??

    private var expressions = 0
    private var depth = 0
    private var nesting = 0
    private var work = 0
    private var asked: Set<NeededDocument> = []

    typealias Node = Program.Node

    init(
        _ program: Program, _ request: RulesRequest, resource: RuleValue,
        lookup: @escaping (NeededDocument) -> Document??
    ) {
        self.program = program
        database = request.database
        self.resource = resource
        self.lookup = lookup
        requestValue = .map(.view(RequestView(request)))
    }

    /// The variables of one place.
    struct Frame {
        var captures: [RuleValue]
        var locals: [RuleValue] = []
    }

    mutating func evaluate(_ node: Node, in frame: Frame) throws(Interruption) -> RuleValue {
        expressions += 1
        nesting += 1
        defer { nesting -= 1 }
        guard expressions <= Self.expressionLimit, nesting <= Self.nestingLimit else {
            throw .limited(
                nesting <= Self.nestingLimit
                    ? "More than \(Self.expressionLimit) expressions are evaluated."
                    : "Expressions are nested more than \(Self.nestingLimit) deep.", at: node)
        }
        switch node.kind {
        case .constant(let value): return value
        case .request: return requestValue
        case .resource: return resource
        case .capture(let index):
            guard frame.captures.indices.contains(index) else { throw .failed("This wildcard has no value.", at: node) }
            return frame.captures[index]
        case .local(let index):
            guard frame.locals.indices.contains(index) else { throw .failed("This variable has no value.", at: node) }
            return frame.locals[index]
        case .member(let value, let name):
            return try Self.member(name, of: try evaluate(value, in: frame), at: node)
        case .all(let operands): return try decide(operands, endsOn: false, in: frame)
        case .any(let operands): return try decide(operands, endsOn: true, in: frame)
        case .not(let value):
            switch try evaluate(value, in: frame) {
            case .boolean(let value): return .boolean(!value)
            case .unknown: return .unknown(.anything)
            case let other: throw .failed("\"!\" needs a bool, not a \(other.typeName).", at: node)
            }
        case .binary(let operation, let left, let right):
            let (left, right) = (try evaluate(left, in: frame), try evaluate(right, in: frame))
            return try perform(at: node) { counter throws(OperationError) in
                try Operators.apply(operation, left, right, &counter)
            }
        case .call(let index, let arguments): return try call(index, arguments, in: frame, at: node)
        case .conditional(let condition, let first, let second):
            switch try evaluate(condition, in: frame) {
            case .boolean(let value): return try evaluate(value ? first : second, in: frame)
            case .unknown: return .unknown(.anything)
            case let other: throw .failed("\"?\" needs a bool, not a \(other.typeName).", at: node)
            }
        case .typeTest(let value, let type):
            return type.includes(try evaluate(value, in: frame)).map(RuleValue.boolean) ?? .unknown(.anything)
        default: return try evaluateOther(node, in: frame)
        }
    }

    /// Evaluates the kinds of expressions that are rarer.
    private mutating func evaluateOther(_ node: Node, in frame: Frame) throws(Interruption) -> RuleValue {
        switch node.kind {
        case .index(let value, let index):
            let (value, index) = (try evaluate(value, in: frame), try evaluate(index, in: frame))
            return try perform(at: node) { _ throws(OperationError) in try Operators.element(of: value, at: index) }
        case .slice(let value, let start, let end):
            let value = try evaluate(value, in: frame)
            let (start, end) = (try evaluate(start, in: frame), try evaluate(end, in: frame))
            return try perform(at: node) { counter throws(OperationError) in
                try Operators.slice(value, start, end, &counter)
            }
        case .get(let path, let after):
            return try document(at: path, after: after, in: frame, node).map(ResourceView.value) ?? .unknown(.anything)
        case .exists(let path, let after):
            return try document(at: path, after: after, in: frame, node).map { .boolean($0 != nil) }
                ?? .unknown(.anything)
        case .convert(let conversion, let value):
            let value = try evaluate(value, in: frame)
            return try perform(at: node) { _ throws(OperationError) in try Conversions.convert(value, to: conversion) }
        case .namespace(let namespace, let name, let arguments):
            let arguments = try evaluate(arguments, in: frame)
            return try perform(at: node) { counter throws(OperationError) in
                try Namespaces.call(namespace, name, arguments, &counter)
            }
        case .method(let value, let name, let arguments):
            let value = try evaluate(value, in: frame)
            let arguments = try evaluate(arguments, in: frame)
            return try perform(at: node) { counter throws(OperationError) in
                try Methods.call(name, on: value, arguments, &counter)
            }
        case .matches(let value, let expression):
            let value = try evaluate(value, in: frame)
            return try perform(at: node) { counter throws(OperationError) in
                try StringMethods.matches(value, expression, &counter)
            }
        case .negate(let value):
            let value = try evaluate(value, in: frame)
            return try perform(at: node) { _ throws(OperationError) in try Operators.negate(value) }
        case .list(let elements):
            let elements = try evaluate(elements, in: frame)
            return elements.contains(where: \.mayBeAbsent) ? .unknown(.anything) : .list(.built(elements))
        case .map(let entries): return try map(entries, in: frame)
        case .path(let segments): return try path(segments, in: frame, at: node)
        default: throw .failed("This expression cannot be evaluated.", at: node)
        }
    }

    private mutating func evaluate(_ nodes: [Node], in frame: Frame) throws(Interruption) -> [RuleValue] {
        var values: [RuleValue] = []
        values.reserveCapacity(nodes.count)
        for node in nodes { values.append(try evaluate(node, in: frame)) }
        return values
    }

    // MARK: Logic

    /// Evaluates `&&` (which ends on false) or `||` (which ends on true). An operand without a value
    /// does not matter if another one ends it.
    private mutating func decide(
        _ operands: [Node], endsOn end: Bool, in frame: Frame
    ) throws(Interruption) -> RuleValue {
        var failed: Interruption?
        var isOpen = false
        for operand in operands {
            do throws(Interruption) {
                switch try evaluate(operand, in: frame) {
                case .boolean(end): return .boolean(end)
                case .boolean: break
                case .unknown: isOpen = true
                case let other:
                    throw .failed("\"\(end ? "||" : "&&")\" needs bools, not a \(other.typeName).", at: operand)
                }
            } catch {
                guard case .failed = error else { throw error }
                failed = failed ?? error
            }
        }
        if let failed { throw failed }
        return isOpen ? .unknown(.anything) : .boolean(!end)
    }

    private mutating func call(
        _ index: Int, _ arguments: [Node], in frame: Frame, at node: Node
    ) throws(Interruption) -> RuleValue {
        guard program.functions.indices.contains(index) else { throw .failed("There is no such function.", at: node) }
        let function = program.functions[index]
        var inner = Frame(captures: frame.captures, locals: try evaluate(arguments, in: frame))
        depth += 1
        defer { depth -= 1 }
        guard depth <= Self.callDepthLimit else {
            throw .limited("Functions call each other more than \(Self.callDepthLimit) deep.", at: node)
        }
        for variable in function.variables { inner.locals.append(try evaluate(variable, in: inner)) }
        let result = try evaluate(function.result, in: inner)
        return inner.locals.contains(where: \.mayBeAbsent) ? .unknown(.anything) : result
    }

    // MARK: Members, maps and paths

    private static func member(_ name: String, of value: RuleValue, at node: Node) throws(Interruption) -> RuleValue {
        switch value {
        case .map(let map):
            guard let member = map.value(of: name) else { throw .failed("There is no \"\(name)\" here.", at: node) }
            return member
        case .unknown: return .unknown(.anything)
        default: throw .failed("A \(value.typeName) has no \"\(name)\".", at: node)
        }
    }

    private mutating func map(
        _ entries: [(key: Node, value: Node)], in frame: Frame
    ) throws(Interruption) -> RuleValue {
        var built: [String: RuleValue] = [:]
        for (key, value) in entries {
            guard case .string(let name) = try evaluate(key, in: frame) else {
                throw .failed("The key of a map must be a string.", at: key)
            }
            built[name] = try evaluate(value, in: frame)
        }
        return built.values.contains(where: \.mayBeAbsent) ? .unknown(.anything) : .map(.built(built))
    }

    private mutating func path(
        _ segments: [Program.PathSegment], in frame: Frame, at node: Node
    ) throws(Interruption) -> RuleValue {
        var path: [String] = []
        for segment in segments {
            switch segment {
            case .literal(let text): path.append(text)
            case .computed(let value):
                switch try evaluate(value, in: frame) {
                case .string(let text): path.append(text)
                case .integer(let number): path.append(String(number))
                case .path(let inner): path += inner
                case .unknown: return .unknown(.anything)
                case let other:
                    throw .failed("A segment of a path must be a string, not a \(other.typeName).", at: value)
                }
            }
        }
        return .path(path)
    }

    // MARK: Other documents

    /// Returns the document at a path; nil if the query leaves open which it is.
    private mutating func document(
        at path: Node, after: Bool, in frame: Frame, _ node: Node
    ) throws(Interruption) -> Document?? {
        let segments: [String]
        switch try evaluate(path, in: frame) {
        case .path(let value): segments = value
        case .unknown: return nil
        case let other: throw .failed("A document is found by its path, not by a \(other.typeName).", at: path)
        }
        guard segments.count >= 5, segments[0] == "databases", segments[1] == database.database,
            segments[2] == "documents",
            let name = try? DocumentName(
                database: database, path: segments.dropFirst(3).joined(separator: "/"))
        else {
            throw .failed(
                "\"/\(segments.joined(separator: "/"))\" is not the path of a document in this database.", at: path)
        }
        let needed = NeededDocument(name, after: after)
        asked.insert(needed)
        guard asked.count <= Self.documentLimit else {
            throw .limited("More than \(Self.documentLimit) other documents are asked for.", at: node)
        }
        guard let found = lookup(needed) else { throw .needs(needed) }
        return .some(found)
    }

    /// Runs an operation, counts its work, and adds the position to its error.
    private mutating func perform(
        at node: Node, _ body: (inout WorkCounter) throws(OperationError) -> RuleValue
    ) throws(Interruption) -> RuleValue {
        var counter = WorkCounter(remaining: Self.workLimit - work)
        do throws(OperationError) {
            let value = try body(&counter)
            work = Self.workLimit - counter.remaining
            return value
        } catch {
            work = Self.workLimit - counter.remaining
            throw error.isLimit ? .limited(error.message, at: node) : .failed(error.message, at: node)
        }
    }
}

extension Interruption {
    fileprivate static func failed(_ message: String, at node: Program.Node) -> Interruption {
        .failed(RulesFailure(position: node.position, message: message))
    }

    fileprivate static func limited(_ message: String, at node: Program.Node) -> Interruption {
        .limited(RulesFailure(position: node.position, message: message))
    }
}

/// Counts what operations look at.
struct WorkCounter {
    private(set) var remaining: Int

    init(remaining: Int) { self.remaining = remaining }

    /// Counts elements that an operation is about to look at.
    mutating func spend(elements count: Int) throws(OperationError) {
        guard count <= remaining else {
            throw OperationError("The values of this request are too large for these rules.", isLimit: true)
        }
        remaining -= count
    }

    /// Counts the bytes of a string.
    mutating func spend(bytes count: Int) throws(OperationError) { try spend(elements: count / 64 + 1) }
}
