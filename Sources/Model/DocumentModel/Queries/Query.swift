/// A structured query over documents, as `google.firestore.v1.StructuredQuery`; normalisation, matching and ordering are in
/// `QueryPlan`. Absent parts are nil or empty.
public struct Query: Sendable, Hashable {
    public var parent: ParentName
    /// nil id: all collections. `allDescendants`: collections of any depth below the parent, else direct children only.
    public var collectionID: String?
    public var allDescendants: Bool
    /// nil: all fields. Empty or `[__name__]`: names only.
    public var projection: [FieldPath]?
    public var filter: Filter?
    public var orders: [Order]
    public var start: Cursor?
    public var end: Cursor?
    public var offset: Int32
    public var limit: Int32?
    public var findNearest: FindNearest?

    public init(
        parent: ParentName, collectionID: String?, allDescendants: Bool = false, projection: [FieldPath]? = nil,
        filter: Filter? = nil, orders: [Order] = [], start: Cursor? = nil, end: Cursor? = nil, offset: Int32 = 0,
        limit: Int32? = nil, findNearest: FindNearest? = nil
    ) {
        self.parent = parent
        self.collectionID = collectionID
        self.allDescendants = allDescendants
        self.projection = projection
        self.filter = filter
        self.orders = orders
        self.start = start
        self.end = end
        self.offset = offset
        self.limit = limit
        self.findNearest = findNearest
    }
}

extension Query {
    public indirect enum Filter: Sendable, Hashable {
        case and([Filter])
        case or([Filter])
        case field(FieldPath, FieldOperator, Value)
        case unary(FieldPath, UnaryOperator)
    }

    public enum FieldOperator: Sendable, Hashable {
        case lessThan
        case lessThanOrEqual
        case greaterThan
        case greaterThanOrEqual
        case equal
        case notEqual
        case arrayContains
        case `in`
        case arrayContainsAny
        case notIn
    }

    public enum UnaryOperator: Sendable, Hashable {
        case isNaN
        case isNull
        case isNotNaN
        case isNotNull
    }

    public struct Order: Sendable, Hashable {
        public var path: FieldPath
        public var descending: Bool

        public init(_ path: FieldPath, descending: Bool = false) {
            self.path = path
            self.descending = descending
        }
    }

    /// A position in the order: values for a prefix of the (normalised) orders, just before or just after what equals them.
    public struct Cursor: Sendable, Hashable {
        public var values: [Value]
        public var before: Bool

        public init(_ values: [Value], before: Bool) {
            self.values = values
            self.before = before
        }
    }

    public struct FindNearest: Sendable, Hashable {
        public enum Measure: Sendable, Hashable {
            case euclidean
            case cosine
            case dotProduct
        }

        public var vectorField: FieldPath
        public var queryVector: [Double]
        public var measure: Measure
        public var limit: Int32
        public var distanceResultField: FieldPath?
        public var distanceThreshold: Double?

        public init(
            vectorField: FieldPath, queryVector: [Double], measure: Measure, limit: Int32,
            distanceResultField: FieldPath? = nil, distanceThreshold: Double? = nil
        ) {
            self.vectorField = vectorField
            self.queryVector = queryVector
            self.measure = measure
            self.limit = limit
            self.distanceResultField = distanceResultField
            self.distanceThreshold = distanceThreshold
        }
    }

    /// An aggregation over the results of a query.
    public struct Aggregation: Sendable, Hashable {
        public enum Operation: Sendable, Hashable {
            case count(upTo: Int64?)
            case sum(FieldPath)
            case average(FieldPath)
        }

        /// Empty: the store names it `field_1`, `field_2` …
        public var alias: String
        public var operation: Operation

        public init(alias: String, _ operation: Operation) {
            self.alias = alias
            self.operation = operation
        }
    }
}
