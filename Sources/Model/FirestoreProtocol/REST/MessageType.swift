/// The messages that the REST interface reads or writes.
package enum MessageType: Sendable {
    case document, write, value
    case batchGetDocumentsRequest, batchGetDocumentsResponse, createDocumentRequest, deleteDocumentRequest
    case getDocumentRequest, updateDocumentRequest, listDocumentsRequest, listDocumentsResponse
    case listCollectionIDsRequest, listCollectionIDsResponse
    case beginTransactionRequest, beginTransactionResponse, rollbackRequest, empty
    case commitRequest, commitResponse, batchWriteRequest, batchWriteResponse
    case runQueryRequest, runQueryResponse, runAggregationQueryRequest, runAggregationQueryResponse
    case partitionQueryRequest, partitionQueryResponse, executePipelineRequest
    case arrayValue, mapValue, geoPoint, mask, precondition, fieldTransform, documentTransform, writeResult
    case transactionOptions, readOnly, readWrite, status
    case structuredQuery, projection, fieldReference, collectionSelector, filter, compositeFilter, fieldFilter
    case unaryFilter, order, cursor, findNearest, structuredAggregationQuery, aggregation, count, operand
    case aggregationResult, explainOptions, explainMetrics, planSummary, executionStats

    var schema: MessageSchema {
        switch self {
        case .document: Self.documentSchema
        case .write: Self.writeSchema
        case .value: Self.valueSchema
        case .batchGetDocumentsRequest: Self.batchGetSchema
        case .batchGetDocumentsResponse: Self.batchGetResponseSchema
        case .createDocumentRequest: Self.createSchema
        case .deleteDocumentRequest: Self.deleteSchema
        case .getDocumentRequest: Self.getSchema
        case .updateDocumentRequest: Self.updateSchema
        case .listDocumentsRequest: Self.listSchema
        case .listDocumentsResponse: Self.listResponseSchema
        case .listCollectionIDsRequest: Self.listIDsSchema
        case .listCollectionIDsResponse: Self.listIDsResponseSchema
        case .beginTransactionRequest: Self.beginSchema
        case .beginTransactionResponse: Self.beginResponseSchema
        case .rollbackRequest: Self.rollbackSchema
        case .empty: Self.emptySchema
        case .commitRequest: Self.commitSchema
        case .commitResponse: Self.commitResponseSchema
        case .batchWriteRequest: Self.batchWriteSchema
        case .batchWriteResponse: Self.batchWriteResponseSchema
        case .runQueryRequest: Self.runQuerySchema
        case .runQueryResponse: Self.runQueryResponseSchema
        case .runAggregationQueryRequest: Self.runAggregationSchema
        case .runAggregationQueryResponse: Self.runAggregationResponseSchema
        case .partitionQueryRequest: Self.partitionSchema
        case .partitionQueryResponse: Self.partitionResponseSchema
        case .executePipelineRequest: Self.pipelineSchema
        case .arrayValue: Self.arraySchema
        case .mapValue: Self.mapSchema
        case .geoPoint: Self.geoPointSchema
        case .mask: Self.maskSchema
        case .precondition: Self.preconditionSchema
        case .fieldTransform: Self.fieldTransformSchema
        case .documentTransform: Self.documentTransformSchema
        case .writeResult: Self.writeResultSchema
        case .transactionOptions: Self.optionsSchema
        case .readOnly: Self.readOnlySchema
        case .readWrite: Self.readWriteSchema
        case .status: Self.statusSchema
        case .structuredQuery: Self.querySchema
        case .projection: Self.projectionSchema
        case .fieldReference: Self.fieldReferenceSchema
        case .collectionSelector: Self.selectorSchema
        case .filter: Self.filterSchema
        case .compositeFilter: Self.compositeSchema
        case .fieldFilter: Self.fieldFilterSchema
        case .unaryFilter: Self.unarySchema
        case .order: Self.orderSchema
        case .cursor: Self.cursorSchema
        case .findNearest: Self.findNearestSchema
        case .structuredAggregationQuery: Self.aggregationQuerySchema
        case .aggregation: Self.aggregationSchema
        case .count: Self.countSchema
        case .operand: Self.operandSchema
        case .aggregationResult: Self.aggregationResultSchema
        case .explainOptions: Self.explainSchema
        case .explainMetrics: Self.metricsSchema
        case .planSummary: Self.planSchema
        case .executionStats: Self.statsSchema
        }
    }
}

extension MessageType {
    // MARK: Documents

    private static let documentSchema = MessageSchema(
        "Document",
        [
            .one("name", 1, .string), .map("fields", 2, .message(.value)), .one("createTime", 3, .timestamp),
            .one("updateTime", 4, .timestamp),
        ])

    private static let valueSchema = MessageSchema(
        "Value",
        [
            .one("booleanValue", 1, .boolean, of: "type"), .one("integerValue", 2, .int64, of: "type"),
            .one("doubleValue", 3, .double, of: "type"), .one("referenceValue", 5, .string, of: "type"),
            .one("mapValue", 6, .message(.mapValue), of: "type"),
            .one("geoPointValue", 8, .message(.geoPoint), of: "type"),
            .one("arrayValue", 9, .message(.arrayValue), of: "type"),
            .one("timestampValue", 10, .timestamp, of: "type"), .one("nullValue", 11, .null, of: "type"),
            .one("stringValue", 17, .string, of: "type"), .one("bytesValue", 18, .bytes, of: "type"),
        ])

    private static let arraySchema = MessageSchema("ArrayValue", [.many("values", 1, .message(.value))])
    private static let mapSchema = MessageSchema("MapValue", [.map("fields", 1, .message(.value))])
    private static let geoPointSchema = MessageSchema(
        "LatLng", [.one("latitude", 1, .double), .one("longitude", 2, .double)])
    private static let maskSchema = MessageSchema("DocumentMask", [.many("fieldPaths", 1, .string)])

    private static let batchGetSchema = MessageSchema(
        "BatchGetDocumentsRequest",
        [
            .one("database", 1, .string), .many("documents", 2, .string), .one("mask", 3, .message(.mask)),
            .one("transaction", 4, .bytes, of: "consistency"),
            .one("newTransaction", 5, .message(.transactionOptions), of: "consistency"),
            .one("readTime", 7, .timestamp, of: "consistency"),
        ])
    private static let batchGetResponseSchema = MessageSchema(
        "BatchGetDocumentsResponse",
        [
            .one("found", 1, .message(.document)), .one("missing", 2, .string), .one("transaction", 3, .bytes),
            .one("readTime", 4, .timestamp),
        ])
    private static let getSchema = MessageSchema(
        "GetDocumentRequest",
        [
            .one("name", 1, .string), .one("mask", 2, .message(.mask)),
            .one("transaction", 3, .bytes, of: "consistency"), .one("readTime", 5, .timestamp, of: "consistency"),
        ])
    private static let createSchema = MessageSchema(
        "CreateDocumentRequest",
        [
            .one("parent", 1, .string), .one("collectionId", 2, .string), .one("documentId", 3, .string),
            .one("document", 4, .message(.document)), .one("mask", 5, .message(.mask)),
        ])
    private static let updateSchema = MessageSchema(
        "UpdateDocumentRequest",
        [
            .one("document", 1, .message(.document)), .one("updateMask", 2, .message(.mask)),
            .one("mask", 3, .message(.mask)), .one("currentDocument", 4, .message(.precondition)),
        ])
    private static let deleteSchema = MessageSchema(
        "DeleteDocumentRequest", [.one("name", 1, .string), .one("currentDocument", 2, .message(.precondition))])
    private static let listSchema = MessageSchema(
        "ListDocumentsRequest",
        [
            .one("parent", 1, .string), .one("collectionId", 2, .string), .one("pageSize", 3, .int32),
            .one("pageToken", 4, .string), .one("orderBy", 6, .string), .one("mask", 7, .message(.mask)),
            .one("transaction", 8, .bytes, of: "consistency"), .one("readTime", 10, .timestamp, of: "consistency"),
            .one("showMissing", 12, .boolean),
        ])
    private static let listResponseSchema = MessageSchema(
        "ListDocumentsResponse", [.many("documents", 1, .message(.document)), .one("nextPageToken", 2, .string)])
    private static let listIDsSchema = MessageSchema(
        "ListCollectionIdsRequest",
        [
            .one("parent", 1, .string), .one("pageSize", 2, .int32), .one("pageToken", 3, .string),
            .one("readTime", 4, .timestamp),
        ])
    private static let listIDsResponseSchema = MessageSchema(
        "ListCollectionIdsResponse", [.many("collectionIds", 1, .string), .one("nextPageToken", 2, .string)])

    // MARK: Writes

    private static let writeSchema = MessageSchema(
        "Write",
        [
            .one("update", 1, .message(.document), of: "operation"), .one("delete", 2, .string, of: "operation"),
            .one("updateMask", 3, .message(.mask)), .one("currentDocument", 4, .message(.precondition)),
            .one("verify", 5, .string, of: "operation"),
            .one("transform", 6, .message(.documentTransform), of: "operation"),
            .many("updateTransforms", 7, .message(.fieldTransform)),
        ])
    private static let preconditionSchema = MessageSchema(
        "Precondition",
        [.one("exists", 1, .boolean, of: "condition"), .one("updateTime", 2, .timestamp, of: "condition")])
    private static let fieldTransformSchema = MessageSchema(
        "FieldTransform",
        [
            .one("fieldPath", 1, .string),
            .one("setToServerValue", 2, .enumeration(["SERVER_VALUE_UNSPECIFIED", "REQUEST_TIME"]), of: "transform"),
            .one("increment", 3, .message(.value), of: "transform"),
            .one("maximum", 4, .message(.value), of: "transform"),
            .one("minimum", 5, .message(.value), of: "transform"),
            .one("appendMissingElements", 6, .message(.arrayValue), of: "transform"),
            .one("removeAllFromArray", 7, .message(.arrayValue), of: "transform"),
        ])
    private static let documentTransformSchema = MessageSchema(
        "DocumentTransform",
        [.one("document", 1, .string), .many("fieldTransforms", 2, .message(.fieldTransform))])
    private static let writeResultSchema = MessageSchema(
        "WriteResult", [.one("updateTime", 1, .timestamp), .many("transformResults", 2, .message(.value))])
    private static let commitSchema = MessageSchema(
        "CommitRequest",
        [.one("database", 1, .string), .many("writes", 2, .message(.write)), .one("transaction", 3, .bytes)])
    private static let commitResponseSchema = MessageSchema(
        "CommitResponse", [.many("writeResults", 1, .message(.writeResult)), .one("commitTime", 2, .timestamp)])
    private static let batchWriteSchema = MessageSchema(
        "BatchWriteRequest",
        [.one("database", 1, .string), .many("writes", 2, .message(.write)), .map("labels", 3, .string)])
    private static let batchWriteResponseSchema = MessageSchema(
        "BatchWriteResponse",
        [.many("writeResults", 1, .message(.writeResult)), .many("status", 2, .message(.status))])
    private static let statusSchema = MessageSchema("Status", [.one("code", 1, .int32), .one("message", 2, .string)])

    // MARK: Transactions

    private static let beginSchema = MessageSchema(
        "BeginTransactionRequest",
        [.one("database", 1, .string), .one("options", 2, .message(.transactionOptions))])
    private static let beginResponseSchema = MessageSchema(
        "BeginTransactionResponse", [.one("transaction", 1, .bytes)])
    private static let rollbackSchema = MessageSchema(
        "RollbackRequest", [.one("database", 1, .string), .one("transaction", 2, .bytes)])
    private static let emptySchema = MessageSchema("Empty", [])
    private static let optionsSchema = MessageSchema(
        "TransactionOptions",
        [.one("readOnly", 2, .message(.readOnly), of: "mode"), .one("readWrite", 3, .message(.readWrite), of: "mode")])
    private static let readOnlySchema = MessageSchema("ReadOnly", [.one("readTime", 2, .timestamp)])
    private static let readWriteSchema = MessageSchema(
        "ReadWrite",
        [
            .one("retryTransaction", 1, .bytes),
            .one("concurrencyMode", 2, .enumeration(["CONCURRENCY_MODE_UNSPECIFIED", "OPTIMISTIC", "PESSIMISTIC"])),
        ])

    // MARK: Queries

    private static func queryRequest(
        _ name: String, _ query: MessageSchema.Field, transaction: Int, explain: Int
    ) -> MessageSchema {
        MessageSchema(
            name,
            [
                .one("parent", 1, .string), query, .one("transaction", transaction, .bytes, of: "consistency"),
                .one("newTransaction", transaction + 1, .message(.transactionOptions), of: "consistency"),
                .one("readTime", transaction + 2, .timestamp, of: "consistency"),
                .one("explainOptions", explain, .message(.explainOptions)),
            ])
    }

    private static let runQuerySchema = queryRequest(
        "RunQueryRequest", .one("structuredQuery", 2, .message(.structuredQuery)), transaction: 5, explain: 10)
    private static let runAggregationSchema = queryRequest(
        "RunAggregationQueryRequest",
        .one("structuredAggregationQuery", 2, .message(.structuredAggregationQuery)), transaction: 4, explain: 8)
    private static let runQueryResponseSchema = MessageSchema(
        "RunQueryResponse",
        [
            .one("document", 1, .message(.document)), .one("transaction", 2, .bytes), .one("readTime", 3, .timestamp),
            .one("skippedResults", 4, .int32), .one("done", 6, .boolean),
            .one("explainMetrics", 11, .message(.explainMetrics)),
        ])
    private static let runAggregationResponseSchema = MessageSchema(
        "RunAggregationQueryResponse",
        [
            .one("result", 1, .message(.aggregationResult)), .one("transaction", 2, .bytes),
            .one("readTime", 3, .timestamp), .one("explainMetrics", 10, .message(.explainMetrics)),
        ])
    private static let partitionSchema = MessageSchema(
        "PartitionQueryRequest",
        [
            .one("parent", 1, .string), .one("structuredQuery", 2, .message(.structuredQuery)),
            .one("partitionCount", 3, .int64), .one("pageToken", 4, .string), .one("pageSize", 5, .int32),
            .one("readTime", 6, .timestamp),
        ])
    private static let partitionResponseSchema = MessageSchema(
        "PartitionQueryResponse", [.many("partitions", 1, .message(.cursor)), .one("nextPageToken", 2, .string)])
    /// Only the database is read, because pipelines are refused.
    private static let pipelineSchema = MessageSchema("ExecutePipelineRequest", [.one("database", 1, .string)])

    private static let querySchema = MessageSchema(
        "StructuredQuery",
        [
            .one("select", 1, .message(.projection)), .many("from", 2, .message(.collectionSelector)),
            .one("where", 3, .message(.filter)), .many("orderBy", 4, .message(.order)), .one("limit", 5, .int32Value),
            .one("offset", 6, .int32), .one("startAt", 7, .message(.cursor)), .one("endAt", 8, .message(.cursor)),
            .one("findNearest", 9, .message(.findNearest)),
        ])
    private static let projectionSchema = MessageSchema("Projection", [.many("fields", 2, .message(.fieldReference))])
    private static let fieldReferenceSchema = MessageSchema("FieldReference", [.one("fieldPath", 2, .string)])
    private static let selectorSchema = MessageSchema(
        "CollectionSelector", [.one("collectionId", 2, .string), .one("allDescendants", 3, .boolean)])
    private static let filterSchema = MessageSchema(
        "Filter",
        [
            .one("compositeFilter", 1, .message(.compositeFilter), of: "type"),
            .one("fieldFilter", 2, .message(.fieldFilter), of: "type"),
            .one("unaryFilter", 3, .message(.unaryFilter), of: "type"),
        ])
    private static let compositeSchema = MessageSchema(
        "CompositeFilter",
        [.one("op", 1, .enumeration(["OPERATOR_UNSPECIFIED", "AND", "OR"])), .many("filters", 2, .message(.filter))])
    private static let fieldFilterSchema = MessageSchema(
        "FieldFilter",
        [
            .one("field", 1, .message(.fieldReference)),
            .one(
                "op", 2,
                .enumeration([
                    "OPERATOR_UNSPECIFIED", "LESS_THAN", "LESS_THAN_OR_EQUAL", "GREATER_THAN", "GREATER_THAN_OR_EQUAL",
                    "EQUAL", "NOT_EQUAL", "ARRAY_CONTAINS", "IN", "ARRAY_CONTAINS_ANY", "NOT_IN",
                ])),
            .one("value", 3, .message(.value)),
        ])
    private static let unarySchema = MessageSchema(
        "UnaryFilter",
        [
            .one(
                "op", 1,
                .enumeration(["OPERATOR_UNSPECIFIED", "", "IS_NAN", "IS_NULL", "IS_NOT_NAN", "IS_NOT_NULL"])),
            .one("field", 2, .message(.fieldReference)),
        ])
    private static let orderSchema = MessageSchema(
        "Order",
        [
            .one("field", 1, .message(.fieldReference)),
            .one("direction", 2, .enumeration(["DIRECTION_UNSPECIFIED", "ASCENDING", "DESCENDING"])),
        ])
    private static let cursorSchema = MessageSchema(
        "Cursor", [.many("values", 1, .message(.value)), .one("before", 2, .boolean)])
    private static let findNearestSchema = MessageSchema(
        "FindNearest",
        [
            .one("vectorField", 1, .message(.fieldReference)), .one("queryVector", 2, .message(.value)),
            .one(
                "distanceMeasure", 3,
                .enumeration(["DISTANCE_MEASURE_UNSPECIFIED", "EUCLIDEAN", "COSINE", "DOT_PRODUCT"])),
            .one("limit", 4, .int32Value), .one("distanceResultField", 5, .string),
            .one("distanceThreshold", 6, .doubleValue),
        ])
    private static let aggregationQuerySchema = MessageSchema(
        "StructuredAggregationQuery",
        [.one("structuredQuery", 1, .message(.structuredQuery)), .many("aggregations", 3, .message(.aggregation))])
    private static let aggregationSchema = MessageSchema(
        "Aggregation",
        [
            .one("count", 1, .message(.count), of: "operator"), .one("sum", 2, .message(.operand), of: "operator"),
            .one("avg", 3, .message(.operand), of: "operator"), .one("alias", 7, .string),
        ])
    private static let countSchema = MessageSchema("Count", [.one("upTo", 1, .int64Value)])
    private static let operandSchema = MessageSchema("Operand", [.one("field", 1, .message(.fieldReference))])
    private static let aggregationResultSchema = MessageSchema(
        "AggregationResult", [.map("aggregateFields", 2, .message(.value))])
    private static let explainSchema = MessageSchema("ExplainOptions", [.one("analyze", 1, .boolean)])
    private static let metricsSchema = MessageSchema(
        "ExplainMetrics",
        [.one("planSummary", 1, .message(.planSummary)), .one("executionStats", 2, .message(.executionStats))])
    private static let planSchema = MessageSchema("PlanSummary", [.many("indexesUsed", 1, .structure)])
    private static let statsSchema = MessageSchema(
        "ExecutionStats",
        [
            .one("resultsReturned", 1, .int64), .one("executionDuration", 3, .duration),
            .one("readOperations", 4, .int64), .one("debugStats", 5, .structure),
        ])
}
