#!/usr/bin/env python3
"""Writes messages.txt: every message of the protocol with all fields set, encoded by the official Python client's protos.

Usage: python3 make-messages.py > messages.txt   (needs: pip install google-cloud-firestore)
A line: name of the message, name of the case, bytes in hex. request_options are left unset; Ferry ignores them.
With the argument `rest` it writes document.json instead: the message `Document all` in the REST form.
"""
import sys

from google.cloud.firestore_v1.types import bloom_filter, common, document, firestore, query, query_profile, write
from google.protobuf import any_pb2, duration_pb2, empty_pb2, json_format, timestamp_pb2, wrappers_pb2
from google.rpc import status_pb2
from google.type import latlng_pb2

DATABASE = "projects/p/databases/(default)"
ROOT = DATABASE + "/documents"
NAME = ROOT + "/tasks/a"


def time(seconds, nanos=0):
    return timestamp_pb2.Timestamp(seconds=seconds, nanos=nanos)


def value(**member):
    return document.Value(**member)


def reference(path):
    return query.StructuredQuery.FieldReference(field_path=path)


VALUES = {
    "null": value(null_value=0),
    "false": value(boolean_value=False),
    "true": value(boolean_value=True),
    "integer": value(integer_value=-(2**63)),
    "zero": value(integer_value=0),
    "double": value(double_value=1.5),
    "negativeZero": value(double_value=-0.0),
    "timestamp": value(timestamp_value=time(-1, 999999000)),
    "string": value(string_value="a\0ü🚢"),
    "bytes": value(bytes_value=b"\x00\xff"),
    "reference": value(reference_value=NAME),
    "geoPoint": value(geo_point_value=latlng_pb2.LatLng(latitude=-90, longitude=180)),
    "array": value(array_value=document.ArrayValue(values=[value(null_value=0), value(string_value="")])),
    "emptyArray": value(array_value=document.ArrayValue()),
    "map": value(map_value=document.MapValue(fields={"b": value(integer_value=1), "a": value(null_value=0)})),
    "emptyMap": value(map_value=document.MapValue()),
    "long": value(string_value="x" * 300),
}
DOCUMENT = document.Document(name=NAME, fields=VALUES, create_time=time(1, 2000), update_time=time(3))
SMALL = document.Document(name=NAME, fields={"f": value(integer_value=1)}, create_time=time(1), update_time=time(2))
DRAFT = document.Document(fields={"f": value(integer_value=1)})
MASK = common.DocumentMask(field_paths=["a", "b.c", "`1`"])
EXISTS = common.Precondition(exists=True)
READ_ONLY = common.TransactionOptions(read_only=common.TransactionOptions.ReadOnly(read_time=time(5)))
READ_WRITE = common.TransactionOptions(
    read_write=common.TransactionOptions.ReadWrite(
        retry_transaction=b"old",
        concurrency_mode=common.TransactionOptions.ConcurrencyMode.PESSIMISTIC,
    )
)
Transform = write.DocumentTransform.FieldTransform
TRANSFORMS = [
    Transform(field_path="t", set_to_server_value=1),
    Transform(field_path="i", increment=value(integer_value=1)),
    Transform(field_path="i", maximum=value(double_value=2)),
    Transform(field_path="i", minimum=value(integer_value=3)),
    Transform(field_path="l", append_missing_elements=document.ArrayValue(values=[value(integer_value=4)])),
    Transform(field_path="l", remove_all_from_array=document.ArrayValue(values=[value(integer_value=5)])),
]
UPDATE = write.Write(
    update=document.Document(name=NAME, fields={"f": value(integer_value=1)}),
    update_mask=MASK,
    update_transforms=TRANSFORMS,
    current_document=EXISTS,
)
DELETE = write.Write(delete=NAME, current_document=common.Precondition(update_time=time(7)))
RESULT = write.WriteResult(update_time=time(8), transform_results=[value(integer_value=1), value(null_value=0)])
STATUS = status_pb2.Status(code=5, message="No", details=[any_pb2.Any(type_url="type.googleapis.com/x", value=b"y")])

Query = query.StructuredQuery
Filter = Query.Filter


def field_filter(path, op, operand):
    return Filter(field_filter=Query.FieldFilter(field=reference(path), op=op, value=operand))


def unary_filter(path, op):
    return Filter(unary_filter=Query.UnaryFilter(field=reference(path), op=op))


def composite(op, *filters):
    return Filter(composite_filter=Query.CompositeFilter(op=op, filters=filters))


FILTER = composite(
    1,
    composite(2, *[field_filter("f", op, value(integer_value=op)) for op in range(1, 11)]),
    composite(2, *[unary_filter("g", op) for op in range(2, 6)]),
)
VECTOR = value(
    map_value=document.MapValue(
        fields={
            "__type__": value(string_value="__vector__"),
            "value": value(array_value=document.ArrayValue(values=[value(double_value=1), value(double_value=0.5)])),
        }
    )
)
QUERY = Query(
    select=Query.Projection(fields=[reference("f"), reference("__name__")]),
    from_=[Query.CollectionSelector(collection_id="tasks", all_descendants=True)],
    where=FILTER,
    order_by=[Query.Order(field=reference("f"), direction=2), Query.Order(field=reference("g"), direction=1)],
    limit=wrappers_pb2.Int32Value(value=10),
    offset=3,
    start_at=query.Cursor(values=[value(integer_value=1)], before=True),
    end_at=query.Cursor(values=[value(integer_value=2)]),
    find_nearest=Query.FindNearest(
        vector_field=reference("v"),
        query_vector=VECTOR,
        distance_measure=2,
        limit=wrappers_pb2.Int32Value(value=5),
        distance_result_field="d",
        distance_threshold=wrappers_pb2.DoubleValue(value=0.25),
    ),
)
PLAIN = Query(from_=[Query.CollectionSelector(collection_id="tasks")], limit=wrappers_pb2.Int32Value())
Aggregation = query.StructuredAggregationQuery.Aggregation
AGGREGATION = query.StructuredAggregationQuery(
    structured_query=PLAIN,
    aggregations=[
        Aggregation(count=Aggregation.Count(up_to=wrappers_pb2.Int64Value(value=9)), alias="c"),
        Aggregation(count=Aggregation.Count()),
        Aggregation(sum=Aggregation.Sum(field=reference("f")), alias="s"),
        Aggregation(avg=Aggregation.Avg(field=reference("g")), alias="a"),
    ],
)
STRUCT = {"b": "x", "a": [1.5, None, True, {"c": False}], "d": {}}
METRICS = query_profile.ExplainMetrics(
    execution_stats=query_profile.ExecutionStats(
        results_returned=1, execution_duration=duration_pb2.Duration(seconds=1, nanos=2), read_operations=3
    ),
)
query_profile.ExplainMetrics.pb(METRICS).plan_summary.indexes_used.add().update(STRUCT)
query_profile.ExplainMetrics.pb(METRICS).execution_stats.debug_stats.update(STRUCT)
ANALYZE = query_profile.ExplainOptions(analyze=True)
BLOOM = bloom_filter.BloomFilter(bits=bloom_filter.BitSequence(bitmap=b"\x01\x02", padding=3), hash_count=7)
PIPELINE = firestore.ExecutePipelineRequest(database=DATABASE)
PIPELINE.structured_pipeline.pipeline.stages = [
    document.Pipeline.Stage(name="collection", args=[value(reference_value="/tasks")])
]
PIPELINE.new_transaction = READ_WRITE

CASES = [(message_value, "Value", name) for name, message_value in VALUES.items()] + [
    (DOCUMENT, "Document", "all"),
    (UPDATE, "Write", "update"),
    (write.Write(update=document.Document(name=NAME), update_mask=common.DocumentMask()), "Write", "touch"),
    (DELETE, "Write", "delete"),
    (RESULT, "WriteResult", "all"),
    (MASK, "DocumentMask", "all"),
    (READ_ONLY, "TransactionOptions", "readOnly"),
    (READ_WRITE, "TransactionOptions", "readWrite"),
    (STATUS, "RPCStatus", "all"),
    (empty_pb2.Empty(), "EmptyMessage", "all"),
    (firestore.GetDocumentRequest(name=NAME, mask=MASK, transaction=b"t"), "GetDocumentRequest", "transaction"),
    (firestore.GetDocumentRequest(name=NAME, read_time=time(1)), "GetDocumentRequest", "readTime"),
    (
        firestore.ListDocumentsRequest(
            parent=ROOT, collection_id="tasks", page_size=2, page_token="t", order_by="a desc", mask=MASK,
            transaction=b"x", show_missing=True,
        ),
        "ListDocumentsRequest", "transaction",
    ),
    (firestore.ListDocumentsRequest(parent=NAME, read_time=time(1)), "ListDocumentsRequest", "readTime"),
    (
        firestore.ListDocumentsResponse(documents=[SMALL, document.Document(name=NAME)], next_page_token="n"),
        "ListDocumentsResponse", "all",
    ),
    (
        firestore.CreateDocumentRequest(parent=ROOT, collection_id="tasks", document_id="a", document=DRAFT, mask=MASK),
        "CreateDocumentRequest", "all",
    ),
    (
        firestore.UpdateDocumentRequest(document=SMALL, update_mask=MASK, mask=common.DocumentMask(), current_document=EXISTS),
        "UpdateDocumentRequest", "all",
    ),
    (firestore.DeleteDocumentRequest(name=NAME, current_document=EXISTS), "DeleteDocumentRequest", "all"),
    (
        firestore.BatchGetDocumentsRequest(database=DATABASE, documents=[NAME], mask=MASK, new_transaction=READ_ONLY),
        "BatchGetDocumentsRequest", "newTransaction",
    ),
    (firestore.BatchGetDocumentsRequest(database=DATABASE, transaction=b"t"), "BatchGetDocumentsRequest", "transaction"),
    (firestore.BatchGetDocumentsRequest(database=DATABASE, read_time=time(1)), "BatchGetDocumentsRequest", "readTime"),
    (
        firestore.BatchGetDocumentsResponse(found=SMALL, transaction=b"t", read_time=time(9)),
        "BatchGetDocumentsResponse", "found",
    ),
    (firestore.BatchGetDocumentsResponse(missing=NAME), "BatchGetDocumentsResponse", "missing"),
    (firestore.BeginTransactionRequest(database=DATABASE, options=READ_WRITE), "BeginTransactionRequest", "all"),
    (firestore.BeginTransactionResponse(transaction=b"t"), "BeginTransactionResponse", "all"),
    (firestore.CommitRequest(database=DATABASE, writes=[UPDATE, DELETE], transaction=b"t"), "CommitRequest", "all"),
    (firestore.CommitResponse(write_results=[RESULT, RESULT], commit_time=time(8)), "CommitResponse", "all"),
    (firestore.RollbackRequest(database=DATABASE, transaction=b"t"), "RollbackRequest", "all"),
    (
        firestore.RunQueryRequest(parent=ROOT, structured_query=QUERY, transaction=b"t", explain_options=ANALYZE),
        "RunQueryRequest", "transaction",
    ),
    (
        firestore.RunQueryRequest(parent=NAME, structured_query=PLAIN, new_transaction=READ_WRITE),
        "RunQueryRequest", "newTransaction",
    ),
    (firestore.RunQueryRequest(parent=NAME, structured_query=PLAIN, read_time=time(1)), "RunQueryRequest", "readTime"),
    (
        firestore.RunQueryResponse(
            document=SMALL, transaction=b"t", read_time=time(9), skipped_results=2, done=True, explain_metrics=METRICS
        ),
        "RunQueryResponse", "all",
    ),
    (
        firestore.RunAggregationQueryRequest(
            parent=ROOT, structured_aggregation_query=AGGREGATION, new_transaction=READ_ONLY, explain_options=ANALYZE
        ),
        "RunAggregationQueryRequest", "newTransaction",
    ),
    (
        firestore.RunAggregationQueryRequest(parent=ROOT, structured_aggregation_query=AGGREGATION, transaction=b"t"),
        "RunAggregationQueryRequest", "transaction",
    ),
    (
        firestore.RunAggregationQueryResponse(
            result={"aggregate_fields": {"c": value(integer_value=1), "a": value(null_value=0)}},
            transaction=b"t", read_time=time(9), explain_metrics=METRICS,
        ),
        "RunAggregationQueryResponse", "all",
    ),
    (
        firestore.PartitionQueryRequest(
            parent=ROOT, structured_query=PLAIN, partition_count=4, page_token="t", page_size=2, read_time=time(1)
        ),
        "PartitionQueryRequest", "all",
    ),
    (
        firestore.PartitionQueryResponse(
            partitions=[query.Cursor(values=[value(reference_value=NAME)])], next_page_token="n"
        ),
        "PartitionQueryResponse", "all",
    ),
    (PIPELINE, "ExecutePipelineRequest", "all"),
    (
        firestore.ExecutePipelineResponse(transaction=b"t", results=[SMALL, DRAFT], execution_time=time(9)),
        "ExecutePipelineResponse", "all",
    ),
    (
        firestore.WriteRequest(
            database=DATABASE, stream_id="s", writes=[UPDATE], stream_token=b"t", labels={"b": "2", "a": "1"}
        ),
        "WriteRequest", "all",
    ),
    (
        firestore.WriteResponse(stream_id="s", stream_token=b"t", write_results=[RESULT], commit_time=time(8)),
        "WriteResponse", "all",
    ),
    (
        firestore.ListenRequest(
            database=DATABASE,
            add_target=firestore.Target(
                query=firestore.Target.QueryTarget(parent=ROOT, structured_query=QUERY),
                resume_token=b"r", target_id=2, once=True, expected_count=wrappers_pb2.Int32Value(value=4),
            ),
            labels={"goog-listen-tags": "limbo-document"},
        ),
        "ListenRequest", "query",
    ),
    (
        firestore.ListenRequest(
            add_target=firestore.Target(
                documents=firestore.Target.DocumentsTarget(documents=[NAME]), read_time=time(6), target_id=3
            )
        ),
        "ListenRequest", "documents",
    ),
    (firestore.ListenRequest(database=DATABASE, remove_target=-1), "ListenRequest", "remove"),
    (
        firestore.ListenResponse(
            target_change=firestore.TargetChange(
                target_change_type=2, target_ids=[1, 300], cause=STATUS, resume_token=b"r", read_time=time(9)
            )
        ),
        "ListenResponse", "targetChange",
    ),
    (
        firestore.ListenResponse(
            document_change=write.DocumentChange(document=SMALL, target_ids=[1], removed_target_ids=[2, 3])
        ),
        "ListenResponse", "documentChange",
    ),
    (
        firestore.ListenResponse(
            document_delete=write.DocumentDelete(document=NAME, removed_target_ids=[1], read_time=time(9))
        ),
        "ListenResponse", "documentDelete",
    ),
    (
        firestore.ListenResponse(
            document_remove=write.DocumentRemove(document=NAME, removed_target_ids=[1], read_time=time(9))
        ),
        "ListenResponse", "documentRemove",
    ),
    (
        firestore.ListenResponse(filter=write.ExistenceFilter(target_id=1, count=2, unchanged_names=BLOOM)),
        "ListenResponse", "filter",
    ),
    (firestore.ListCollectionIdsRequest(parent=NAME, page_size=1, page_token="t", read_time=time(1)), "ListCollectionIDsRequest", "all"),
    (firestore.ListCollectionIdsResponse(collection_ids=["a", "b"], next_page_token="n"), "ListCollectionIDsResponse", "all"),
    (firestore.BatchWriteRequest(database=DATABASE, writes=[DELETE], labels={"a": "1"}), "BatchWriteRequest", "all"),
    (firestore.BatchWriteResponse(write_results=[RESULT], status=[STATUS]), "BatchWriteResponse", "all"),
]

if sys.argv[1:] == ["rest"]:
    print(json_format.MessageToJson(document.Document.pb(DOCUMENT), indent=None))
    sys.exit()

for message, kind, name in CASES:
    protobuf = type(message).pb(message) if hasattr(type(message), "pb") else message
    print(kind, name, protobuf.SerializeToString(deterministic=True).hex() or "-")
