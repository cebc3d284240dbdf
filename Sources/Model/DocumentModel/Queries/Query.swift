/// A structured query over documents, equivalent to `google.firestore.v1.StructuredQuery`.
///
/// Absent parts are nil or empty. Normalization, matching and ordering are in `QueryPlan`.
public struct Query: Sendable, Hashable {
    /// The place below which the query looks for collections.
    public var parent: ParentName
    /// The id of the collections to search; nil for all collections.
    public var collectionID: String?
    /// Whether collections at any depth below the parent are searched, rather than direct children
    /// only.
    public var allDescendants: Bool
    /// The fields to return; nil for all fields. If empty or `[__name__]`, only names are returned.
    public var projection: [FieldPath]?
    /// The filter that documents must satisfy.
    public var filter: Filter?
    /// The fields by which results are ordered.
    public var orders: [Order]
    /// The position at which results start.
    public var start: Cursor?
    /// The position at which results end.
    public var end: Cursor?
    /// The number of results to skip.
    public var offset: Int32
    /// The maximum number of results; nil for no limit.
    public var limit: Int32?
    /// A vector search among the results.
    public var findNearest: FindNearest?

    /// Creates a query.
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
    /// A filter: a combination of filters, or a test of one field.
    public indirect enum Filter: Sendable, Hashable {
        case and([Filter])
        case or([Filter])
        case field(FieldPath, FieldOperator, Value)
        case unary(FieldPath, UnaryOperator)
    }

    /// An operator that compares a field with a value.
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

    /// An operator that tests a field without an operand.
    public enum UnaryOperator: Sendable, Hashable {
        case isNaN
        case isNull
        case isNotNaN
        case isNotNull
    }

    /// A field by which results are ordered.
    public struct Order: Sendable, Hashable {
        /// The path of the field.
        public var path: FieldPath
        /// Whether greater values come first.
        public var descending: Bool

        /// Creates an order.
        public init(_ path: FieldPath, descending: Bool = false) {
            self.path = path
            self.descending = descending
        }
    }

    /// A position in the order of results: values for the first of the normalized orders, directly
    /// before or after the documents with equal values.
    public struct Cursor: Sendable, Hashable {
        /// The values for the first orders.
        public var values: [Value]
        /// Whether the position is before the documents that have these values.
        public var before: Bool

        /// Creates a position.
        public init(_ values: [Value], before: Bool) {
            self.values = values
            self.before = before
        }
    }

    /// A search for the documents whose vectors are nearest to a given vector.
    public struct FindNearest: Sendable, Hashable {
        /// A measure of distance.
        public enum Measure: Sendable, Hashable {
            case euclidean
            case cosine
            case dotProduct
        }

        /// The field that contains the vectors.
        public var vectorField: FieldPath
        /// The vector to compare with.
        public var queryVector: [Double]
        /// The measure of distance.
        public var measure: Measure
        /// The maximum number of results, from 1 to 1000.
        public var limit: Int32
        /// The field in which each result carries its distance; nil for none.
        public var distanceResultField: FieldPath?
        /// The maximum distance of results (for the dot product: the minimum); nil for no limit.
        public var distanceThreshold: Double?

        /// Creates a vector search.
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
        /// A function that is computed over the results.
        public enum Operation: Sendable, Hashable {
            case count(upTo: Int64?)
            case sum(FieldPath)
            case average(FieldPath)
        }

        /// The name of the result. If empty, the store names it `field_1`, `field_2` …
        public var alias: String
        /// The function to compute.
        public var operation: Operation

        /// Creates an aggregation.
        public init(alias: String, _ operation: Operation) {
            self.alias = alias
            self.operation = operation
        }
    }
}
