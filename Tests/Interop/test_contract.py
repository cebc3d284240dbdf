"""Edge cases of the contract in the service's own messages: official clients rely on them, but few tests send them."""
import tempfile
from pathlib import Path

import grpc
import pytest
from conftest import Stream, User, refused
from google.cloud.firestore_v1 import types
from google.protobuf import wrappers_pb2
from google.rpc import error_details_pb2, status_pb2
from harness import Server

DATABASE = "projects/ferry/databases/(default)"
ROOT = f"{DATABASE}/documents"
KIND = types.TargetChange.TargetChangeType


def integer(number):
    return types.Value(integer_value=number)


def array(values):
    return types.Value(array_value={"values": list(values)})


def write(path, **fields):
    return types.Write(update={"name": f"{ROOT}/{path}", "fields": fields})


def field(path, operator, value):
    return {"field_filter": {"field": {"field_path": path}, "op": operator, "value": value}}


def both(*filters):
    return {"composite_filter": {"op": "AND", "filters": list(filters)}}


def either(*filters):
    return {"composite_filter": {"op": "OR", "filters": list(filters)}}


def order(path, descending=False):
    return {"field": {"field_path": path}, "direction": 2 if descending else 1}


def query(collection, limit=None, **parts):
    if limit is not None:
        parts["limit"] = wrappers_pb2.Int32Value(value=limit)
    return types.StructuredQuery(from_=[{"collection_id": collection}], **parts)


def ids(answers):
    return [answer.document.name.rsplit("/", 1)[1] for answer in answers if answer.document.name]


@pytest.fixture
def open_stream():
    opened = []

    def start(*arguments):
        opened.append(Stream(*arguments))
        return opened[-1]

    yield start
    for stream in opened:
        stream.close()


# Documents


def test_pipelines_are_refused_as_by_the_standard_edition(db, service, name):
    from google.api_core import exceptions

    with refused("FAILED_PRECONDITION", "only allowed on ENTERPRISE mode") as error:
        service.ExecutePipeline(database=DATABASE)
    trailers = dict(error.value.trailing_metadata())
    status = status_pb2.Status.FromString(trailers["grpc-status-details-bin"])
    reason = error_details_pb2.ErrorInfo()
    assert status.code == 9 and status.details[0].Unpack(reason)
    assert (reason.reason, reason.domain) == ("PIPELINE_REQUIRES_ENTERPRISE_EDITION", "firestore.googleapis.com")
    with pytest.raises(exceptions.FailedPrecondition, match="only allowed on ENTERPRISE mode"):
        list(db.pipeline().collection(name).execute())


def test_a_created_document_is_where_its_parent_says(service, name):
    made = service.CreateDocument(parent=ROOT, collection_id=name, document={"fields": {"n": integer(1)}})
    assert made.name.startswith(f"{ROOT}/{name}/") and len(made.name.rsplit("/", 1)[1]) == 20
    assert service.CreateDocument(
        parent=made.name, collection_id="below", document_id="x", document={"fields": {"n": integer(1), "m": integer(2)}},
        mask={"field_paths": ["m"]}) == service.GetDocument(name=f"{made.name}/below/x", mask={"field_paths": ["m"]})
    for collection, document in [("a/b/c", "x"), ("a", "x/y/z"), ("", "x"), ("__a__", "x"), ("a", "__x__")]:
        with refused("INVALID_ARGUMENT", " is invalid because it "):
            service.CreateDocument(parent=ROOT, collection_id=collection, document_id=document, document={})
    with refused("INVALID_ARGUMENT", "Document name must not be set"):
        service.CreateDocument(parent=ROOT, collection_id="a", document_id="x", document={"name": f"{ROOT}/a/other"})
    with refused("ALREADY_EXISTS", f"Document already exists: {made.name}"):
        service.CreateDocument(parent=ROOT, collection_id=name, document_id=made.name.rsplit("/", 1)[1], document={})


def test_update_and_delete_keep_their_preconditions(service, name):
    path = f"{ROOT}/{name}/a"
    with refused("NOT_FOUND", f"No document to update: {path}"):
        service.UpdateDocument(document={"name": path}, current_document={"exists": True})
    first = service.UpdateDocument(document={"name": path, "fields": {"n": integer(1), "m": integer(2)}})
    second = service.UpdateDocument(
        document={"name": path, "fields": {"n": integer(3)}}, update_mask={"field_paths": ["n", "m"]},
        mask={"field_paths": ["n"]}, current_document={"update_time": first.update_time})
    assert dict(second.fields) == {"n": integer(3)} and second.create_time == first.create_time
    assert dict(service.GetDocument(name=path).fields) == {"n": integer(3)}
    with refused("FAILED_PRECONDITION", "does not match the required base version"):
        service.DeleteDocument(name=path, current_document={"update_time": first.update_time})
    service.DeleteDocument(name=path, current_document={"update_time": second.update_time})
    service.DeleteDocument(name=path)
    with refused("NOT_FOUND", f'Document "{path}" not found.'):
        service.GetDocument(name=path)
    assert service.GetDocument(name=path, read_time=first.update_time).fields["m"] == integer(2)


def pages(service, **request):
    """Returns every page of a listing: ids, whether the documents exist, and their fields."""
    token = ""
    while True:
        page = service.ListDocuments(page_token=token, **request)
        yield [(d.name[len(ROOT) + 1:], bool(d.create_time), sorted(d.fields)) for d in page.documents]
        token = page.next_page_token
        if not token:
            return


def test_listings_have_masks_orders_pages_and_what_is_missing(service, name):
    service.Commit(database=DATABASE, writes=[
        *(write(f"{name}/{n}", n=integer(n), odd=integer(n % 2)) for n in range(5)),
        write(f"{name}/1a/below/x"), write(f"{name}/9/below/x"), write(f"{name}/3/below/x")])
    real = [(f"{name}/{n}", True, ["n"]) for n in range(5)]
    mask = {"field_paths": ["n"]}
    listed = list(pages(service, parent=ROOT, collection_id=name, page_size=2, mask=mask))
    assert listed == [real[:2], real[2:4], real[4:]]
    listed = list(pages(service, parent=ROOT, collection_id=name, page_size=2, mask=mask, order_by="odd desc, n"))
    assert sum(listed, []) == [real[n] for n in (1, 3, 0, 2, 4)]
    # Google's client asks for references like this: without fields, and with documents that only have subcollections.
    all_of_them = [(f"{name}/{n}", n in set("01234"), []) for n in ("0", "1", "1a", "2", "3", "4", "9")]
    for size in range(1, 8):
        listed = list(pages(service, parent=ROOT, collection_id=name, page_size=size, mask={}, show_missing=True))
        assert sum(listed, []) == all_of_them and max(map(len, listed)) == size
    moment = service.GetDocument(name=f"{ROOT}/{name}/4").update_time
    service.Commit(database=DATABASE, writes=[types.Write(delete=f"{ROOT}/{name}/{path}") for path in ("0", "9/below/x")])
    then = pages(service, parent=ROOT, collection_id=name, page_size=3, mask={}, show_missing=True, read_time=moment)
    assert sum(then, []) == all_of_them
    now = pages(service, parent=ROOT, collection_id=name, page_size=3, mask={}, show_missing=True)
    assert sum(now, []) == all_of_them[1:-1]
    below = pages(service, parent=f"{ROOT}/{name}/1a", page_size=1)
    assert list(below) == [[(f"{name}/1a/below/x", True, [])], []]
    with refused("INVALID_ARGUMENT", "show_missing cannot be used with an order."):
        service.ListDocuments(parent=ROOT, collection_id=name, show_missing=True, order_by="n")
    with refused("INVALID_ARGUMENT", 'Invalid order by clause "n sideways".'):
        service.ListDocuments(parent=ROOT, collection_id=name, order_by="n sideways")
    with refused("INVALID_ARGUMENT", "Page size must be nonnegative."):
        service.ListDocuments(parent=ROOT, collection_id=name, page_size=-1)
    with refused("INVALID_ARGUMENT", "Invalid page token."):
        service.ListDocuments(parent=ROOT, collection_id=name, page_token="nonsense")


def test_a_page_of_large_documents_is_no_larger_than_clients_take(service, name):
    for n in range(9):
        service.Commit(database=DATABASE, writes=[write(f"{name}/{n}", big=types.Value(bytes_value=b"x" * 1_000_000))])
    token, sizes = "", []
    while True:
        page = service.ListDocuments(parent=ROOT, collection_id=name, page_token=token)
        sizes.append(len(page.documents))
        token = page.next_page_token
        if not token:
            break
    assert sum(sizes) == 9 and max(sizes) <= 5
    found = [a.found.name for a in service.BatchGetDocuments(
        database=DATABASE, documents=[f"{ROOT}/{name}/{n}" for n in range(1000)]) if a.found.name]
    assert found == [f"{ROOT}/{name}/{n}" for n in range(9)]


def test_a_batch_get_is_of_one_moment_and_lists_missing_documents_last(service, name):
    service.Commit(database=DATABASE, writes=[write(f"{name}/{n:04}", n=integer(n)) for n in range(0, 700, 2)])
    names = [f"{ROOT}/{name}/{n:04}" for n in range(700)]
    answers = service.BatchGetDocuments(database=DATABASE, documents=names + names, new_transaction={"read_only": {}})
    assert answers[0].transaction and not answers[0].found.name
    rest = answers[1:]
    assert [a.found.name for a in rest[:350]] == names[::2] and [a.missing for a in rest[350:]] == names[1::2]
    assert len({a.read_time for a in rest}) == 1
    answers = service.BatchGetDocuments(database=DATABASE, documents=names)
    assert len(answers) == 700 and len({a.read_time for a in answers}) == 1


def test_partitions_of_a_group_are_paged(service, name):
    for start in range(0, 600, 200):
        service.Commit(database=DATABASE, writes=[
            write(f"{name}/{n % 9}/{name}/{n}", n=integer(n)) for n in range(start, start + 200)])
    group = types.StructuredQuery(
        from_=[{"collection_id": name, "all_descendants": True}], order_by=[order("__name__")])
    whole = service.PartitionQuery(parent=ROOT, structured_query=group, partition_count=5)
    assert len(whole.partitions) == 5 and not whole.next_page_token
    moment = service.BatchGetDocuments(database=DATABASE)[0].read_time
    service.Commit(database=DATABASE, writes=[
        types.Write(delete=f"{ROOT}/{name}/{n % 9}/{name}/{n}") for n in range(500)])
    token, found = "", []
    while True:
        page = service.PartitionQuery(
            parent=ROOT, structured_query=group, partition_count=5, page_size=2, page_token=token, read_time=moment)
        assert len(page.partitions) <= 2
        found += page.partitions
        token = page.next_page_token
        if not token:
            break
    assert found == list(whole.partitions)
    assert not service.PartitionQuery(parent=ROOT, structured_query=group, partition_count=5).partitions
    for wrong, words in [
            ({"partition_count": 0}, "partition_count must be greater than 0."),
            ({"partition_count": 2, "page_size": -1}, "Page size must be nonnegative."),
            ({"partition_count": 2, "page_token": "nonsense"}, "Invalid page token."),
            ({"partition_count": 2, "structured_query": query(name)}, "collection group query")]:
        with refused("INVALID_ARGUMENT", words):
            service.PartitionQuery(**{"parent": ROOT, "structured_query": group, **wrong})


# Values at the limits


def test_a_documents_size_is_limited_to_the_byte(service, name):
    def document(size):
        # The size is the name's bytes + 1 + 16, 32 for the document, and each field's name + 1 and value.
        rest = size - (len(f"{name}/a") + 17 + 32) - 2 * (1 + 1 + 1)
        text = [types.Value(string_value="x" * length) for length in (1_000_000, rest - 1_000_000)]
        return write(f"{name}/a", a=text[0], b=text[1])

    service.Commit(database=DATABASE, writes=[document(1_048_576)])
    with refused("INVALID_ARGUMENT", "(1,048,577 bytes) exceeds the maximum allowed size of 1,048,576 bytes."):
        service.Commit(database=DATABASE, writes=[document(1_048_577)])


@pytest.mark.parametrize("last, limit, words", [
    (lambda n: {"f": types.Value(string_value="x" * n)}, 1_048_487, 'The value of property "f" is longer than 1048487 bytes.'),
    (lambda n: {"f": types.Value(bytes_value=b"x" * n)}, 1_048_487, 'The value of property "f" is longer than 1048487 bytes.'),
    (lambda n: {"x" * n: integer(1)}, 1500, "The property.name is longer than 1500 bytes."),
    (lambda n: {"f": nested(n)}, 20, "Property f contains an invalid nested entity."),
    (lambda n: {"f": nested(n, in_array=True)}, 20, "Property f contains an invalid nested entity."),
    (lambda n: {"v": vector(n)}, 2048, "Vectors must have 1 to 2048 dimensions."),
])
def test_values_are_limited(service, name, last, limit, words):
    service.Commit(database=DATABASE, writes=[write(f"{name}/a", **last(limit))])
    with refused("INVALID_ARGUMENT", words):
        service.Commit(database=DATABASE, writes=[write(f"{name}/a", **last(limit + 1))])


def nested(depth, in_array=False):
    """Returns nested maps, optionally with arrays between them, which count too."""
    value = integer(1)
    for level in range(depth):
        value = array([value]) if in_array and level % 2 == 0 else types.Value(map_value={"fields": {"a": value}})
    return value


def vector(dimension):
    return types.Value(map_value={"fields": {
        "__type__": types.Value(string_value="__vector__"),
        "value": array(types.Value(double_value=1.0) for _ in range(dimension))}})


@pytest.mark.parametrize("value, words", [
    ({"array_value": {"values": [array([])]}}, "Nested arrays are not allowed"),
    ({"geo_point_value": {"latitude": 90.5}}, "Geo point latitude '90.5' outside permitted range -90.0 to 90.0."),
    ({"geo_point_value": {"longitude": -180.5}}, "Geo point longitude '-180.5' outside permitted range -180.0 to 180.0."),
    ({"geo_point_value": {"latitude": float("nan")}}, "outside permitted range"),
    ({"timestamp_value": {"seconds": 253402300800}}, "is outside 0001-01-01T00:00:00Z"),
    ({"reference_value": "nonsense"}, 'Property f has an invalid reference. Document name "nonsense" lacks "projects"'),
    ({"map_value": {"fields": {"__x__": integer(1)}}}, "field name __x__ is reserved"),
    ({"map_value": {"fields": {"": integer(1)}}}, "The property.name is the empty string."),
    ({}, "Cannot convert firestore.v1.Value with type unset."),
])
def test_invalid_values_are_named(service, name, value, words):
    with refused("INVALID_ARGUMENT", words):
        service.Commit(database=DATABASE, writes=[write(f"{name}/a", f=types.Value(**value))])


def test_ids_and_transforms_are_limited(service, name):
    service.Commit(database=DATABASE, writes=[write(f"{name}/{'x' * 1500}"), write(f"{name}/{'é' * 750}")])
    with refused("INVALID_ARGUMENT", "The key path element name is longer than 1500 bytes."):
        service.Commit(database=DATABASE, writes=[write(f"{name}/{'é' * 750}x")])
    increments = types.Write(
        update={"name": f"{ROOT}/{name}/a"}, update_transforms=[{"field_path": "n", "increment": integer(1)}] * 250)
    assert len(service.Commit(database=DATABASE, writes=[increments] * 2).write_results) == 2
    with refused("INVALID_ARGUMENT", "up to 500 field transforms"):
        service.Commit(database=DATABASE, writes=[increments] * 3)


def test_queries_are_limited(service, name):
    def run(**parts):
        return service.RunQuery(parent=ROOT, structured_query=query(name, **parts))

    numbers = [integer(n) for n in range(31)]
    run(where=field("n", "IN", array(numbers[:30])))
    run(where=field("n", "NOT_IN", array(numbers[:10])))
    run(where=either(*(field("n", "EQUAL", n) for n in numbers[:30])))
    run(where=both(*(field(f"f{n}", "GREATER_THAN", integer(n)) for n in range(10))))
    run(where=both(*(field("n", "LESS_THAN", integer(n)) for n in range(100))))
    pair = either(field("n", "EQUAL", integer(1)), field("m", "EQUAL", integer(1)))
    for where, words in [
            (field("n", "IN", array(numbers)), "'IN' supports up to 30 comparison values."),
            (field("n", "IN", array([])), "'IN' requires an non-empty ArrayValue."),
            (field("n", "NOT_IN", array(numbers[:11])), "'NOT_IN' supports up to 10 comparison values."),
            (either(*(field("n", "EQUAL", n) for n in numbers)), "more than 30 disjunctions"),
            (both(*[pair] * 5), "more than 30 disjunctions"), (both(*[pair] * 40), "more than 30 disjunctions"),
            (both(*(field(f"f{n}", "GREATER_THAN", integer(n)) for n in range(11))), "inequality filters on 11 fields"),
            (both(*(field("n", "LESS_THAN", integer(n)) for n in range(101))), "101 filters and orders"),
            (both(*(field("n", "EQUAL", integer(1)) for _ in range(10_000))), "10000 filters and orders"),
            (either(*(field("n", "EQUAL", integer(n)) for n in range(10_000))), "10000 filters and orders"),
            (field("n", "IN", array(map(integer, range(10_000)))), "'IN' supports up to 30 comparison values.")]:
        with refused("INVALID_ARGUMENT", words):
            run(where=where)
    for parts, words in [
            ({"limit": -1}, "limit is negative"), ({"offset": -1}, "offset is negative"),
            ({"order_by": [order("__name__"), order("n")]}, "order by clause cannot contain more fields after the key"),
            ({"order_by": [order("n")], "start_at": {"values": numbers[:3]}}, "Cursor has too many values."),
            ({"start_at": {"values": numbers[:1]}}, "Cursor value for __name__ must be the reference of a document."),
            ({"where": field("__name__", "EQUAL", integer(1))}, "__key__ filter value must be a Key"),
            ({"where": field("__x__", "EQUAL", integer(1))}, "Invalid reserved name in field path __x__"),
            ({"order_by": [order(f"f{n}") for n in range(101)]}, "101 filters and orders")]:
        with refused("INVALID_ARGUMENT", words):
            run(**parts)

    def aggregate(count, **options):
        return service.RunAggregationQuery(parent=ROOT, structured_aggregation_query={
            "structured_query": query(name), "aggregations": [{"count": {}}] * count}, **options)

    assert len(aggregate(5)[0].result.aggregate_fields) == 5
    with refused("INVALID_ARGUMENT", "is 5. Received: 6"):
        aggregate(6)
    for options in ({}, {"explain_options": {"analyze": False}}):
        with refused("INVALID_ARGUMENT", "Aggregations can not be empty."):
            aggregate(0, **options)


def test_a_query_that_fails_leaves_no_transaction_behind(service, name):
    service.Commit(database=DATABASE, writes=[write(f"{name}/a", n=integer(1))])
    for _ in range(3):
        with refused("INVALID_ARGUMENT", "offset is negative"):
            service.RunQuery(parent=ROOT, structured_query=query(name, offset=-1), new_transaction={"read_write": {}})
    answers = service.RunQuery(parent=ROOT, structured_query=query(name), new_transaction={"read_write": {}})
    assert answers[0].transaction and not answers[0].document.name and ids(answers) == ["a"]
    service.Commit(database=DATABASE, writes=[write(f"{name}/a", n=integer(2))], transaction=answers[0].transaction)


# Explain


def test_explain_is_accurate_for_every_kind_of_query(service, name):
    service.Commit(database=DATABASE, writes=[
        write(f"{name}/{n:02}", n=integer(n), m=integer(n % 4), t=array([integer(n % 3)])) for n in range(40)])

    def explain(structured, **aggregation):
        """Returns the documents read by the plan and in fact, the metrics, and the number of results."""
        method, fields = "RunQuery", {"structured_query": structured}
        if aggregation:
            method = "RunAggregationQuery"
            fields = {"structured_aggregation_query": {"structured_query": structured, **aggregation}}
        plan = service.call(method, parent=ROOT, explain_options={"analyze": False}, **fields)
        run = service.call(method, parent=ROOT, explain_options={"analyze": True}, **fields)
        assert len(plan) == 1 and not plan[0].explain_metrics.execution_stats
        metrics = run[-1].explain_metrics
        assert [dict(i) for i in metrics.plan_summary.indexes_used] == [
            dict(i) for i in plan[0].explain_metrics.plan_summary.indexes_used]
        stats = metrics.execution_stats
        assert int(stats.debug_stats["documents_scanned"]) <= int(stats.debug_stats["index_entries_scanned"])
        used = [(i["query_scope"], i["properties"]) for i in metrics.plan_summary.indexes_used]
        results = 1 if aggregation else len(ids(run))
        assert stats.results_returned == results
        return used, int(stats.debug_stats["index_entries_scanned"]), stats.read_operations, results

    def one(properties, scope="Collection"):
        return [(scope, properties)]

    assert explain(query(name)) == (one("(__name__ ASC)"), 40, 40, 40)
    assert explain(query(name, limit=3, order_by=[order("n", True)])) == (one("(n DESC, __name__ DESC)"), 3, 3, 3)
    assert explain(query(name, where=field("m", "EQUAL", integer(1)))) == (one("(m ASC, __name__ ASC)"), 10, 10, 10)
    assert explain(query(name, where=field("t", "ARRAY_CONTAINS", integer(1)))) == (
        one("(t CONTAINS, __name__ ASC)"), 13, 13, 13)
    assert explain(query(name, where=field("n", "LESS_THAN_OR_EQUAL", integer(4)))) == (one("(n ASC, __name__ ASC)"), 5, 5, 5)
    used, scanned, reads, results = explain(query(name, where=either(
        field("m", "EQUAL", integer(1)), field("t", "ARRAY_CONTAINS", integer(1)))))
    assert sorted(used) == one("(m ASC, __name__ ASC)") + one("(t CONTAINS, __name__ ASC)")
    assert scanned == 23 and reads == results == 19
    assert explain(query(name, where=field("m", "IN", array([integer(1), integer(2)])))) == (
        one("(m ASC, __name__ ASC)"), 20, 20, 20)
    assert explain(query(name, limit=5, offset=2)) == (one("(__name__ ASC)"), 7, 7, 5)
    assert explain(query(name, limit=0)) == ([], 0, 1, 0)
    assert explain(query(name + "none")) == ([], 0, 1, 0)
    group = types.StructuredQuery(from_=[{"collection_id": name, "all_descendants": True}])
    assert explain(group) == (one("(__name__ ASC)", "Collection group"), 40, 40, 40)
    used, scanned, _, _ = explain(query(name, where=field("m", "EQUAL", integer(1))), aggregations=[{"count": {}}])
    assert used == one("(m ASC, __name__ ASC)") and scanned == 10
    with refused("INVALID_ARGUMENT", "offset is negative"):
        service.RunQuery(parent=ROOT, structured_query=query(name, offset=-1), explain_options={"analyze": False})


# Listen


def listen(stream, path, target, **fields):
    stream.send(database=DATABASE, add_target={"documents": {"documents": [f"{ROOT}/{path}"]}, "target_id": target, **fields})


def answers(stream):
    """Reads up to the next boundary or removal; returns the kind of each message with its targets or its document."""
    told = []
    while True:
        answer = stream.next()
        change = answer.target_change
        if "document_change" in answer:
            told.append(("changed", answer.document_change.document.name.rsplit("/", 1)[1]))
        elif "document_delete" in answer:
            told.append(("deleted", answer.document_delete.document.rsplit("/", 1)[1]))
        elif "target_change" in answer:
            if change.target_change_type == KIND.NO_CHANGE:
                stream.token = change.resume_token
                return told
            told.append((change.target_change_type.name, *change.target_ids))
            if change.target_change_type == KIND.REMOVE:
                return told + [change.cause.code]


def test_target_ids_are_the_clients_or_the_servers(emulator, name, open_stream):
    stream = open_stream(emulator, "Listen")
    listen(stream, f"{name}/a", 0)
    assert answers(stream) == [("ADD", 1), ("deleted", "a"), ("CURRENT", 1)]
    listen(stream, f"{name}/b", 0)
    assert answers(stream) == [("ADD", 2), ("deleted", "b"), ("CURRENT", 2)]
    listen(stream, f"{name}/c", 7)
    with refused("INVALID_ARGUMENT", "Target ID 7 is the client's choice"):
        stream.next()
    stream = open_stream(emulator, "Listen")
    listen(stream, f"{name}/a", -1)
    with refused("INVALID_ARGUMENT", "Target ID must not be negative: -1"):
        stream.next()


def test_a_second_target_of_an_id_is_refused_and_the_first_continues(emulator, service, name, open_stream):
    stream = open_stream(emulator, "Listen")
    listen(stream, f"{name}/a", 2)
    assert answers(stream) == [("ADD", 2), ("deleted", "a"), ("CURRENT", 2)]
    listen(stream, f"{name}/b", 2)
    assert answers(stream) == [("REMOVE", 2), 6]
    service.Commit(database=DATABASE, writes=[write(f"{name}/a"), write(f"{name}/b")])
    assert answers(stream) == [("changed", "a")]
    stream.send(database=DATABASE, remove_target=2)
    assert answers(stream) == [("REMOVE", 2), 0]
    listen(stream, f"{name}/b", 2)
    assert answers(stream) == [("ADD", 2), ("changed", "b"), ("CURRENT", 2)]


def test_tokens_survive_a_kill_and_are_told_apart(open_stream):
    with tempfile.TemporaryDirectory(prefix="ferry-") as directory:
        server = Server(Path(directory), "--emulator")
        server.start()
        from conftest import Service

        service = Service(server)
        service.Commit(database=DATABASE, writes=[write("a/1", n=integer(1)), write("a/2", n=integer(2))])
        everything = {"query": {"parent": ROOT, "structured_query": query("a")}, "target_id": 2}
        stream = open_stream(server, "Listen")
        stream.send(database=DATABASE, add_target=everything)
        assert answers(stream) == [("ADD", 2), ("changed", "1"), ("changed", "2"), ("CURRENT", 2)]
        token = stream.token
        service.Commit(database=DATABASE, writes=[write("a/2", n=integer(22)), write("a/3", n=integer(3))])
        assert answers(stream) == [("changed", "2"), ("changed", "3")]
        elsewhere = open_stream(server, "Listen")
        other = DATABASE.replace("(default)", "other")
        elsewhere.send(database=other, add_target={
            "query": {"parent": f"{other}/documents", "structured_query": query("a")}, "target_id": 2})
        answers(elsewhere)
        server.kill()
        server.start()
        again = Service(server)
        again.Commit(database=DATABASE, writes=[types.Write(delete=f"{ROOT}/a/1")])
        for resume, told in [
                (token, [("ADD", 2), ("deleted", "1"), ("changed", "2"), ("changed", "3"), ("CURRENT", 2)]),
                (stream.token, [("ADD", 2), ("deleted", "1"), ("CURRENT", 2)]),
                # The token is of another history, so everything is sent again.
                (elsewhere.token, [("ADD", 2), ("RESET", 2), ("changed", "2"), ("changed", "3"), ("CURRENT", 2)]),
                (b"nonsense", [("REMOVE", 2), 3])]:
            resumed = open_stream(server, "Listen")
            resumed.send(database=DATABASE, add_target={**everything, "resume_token": resume})
            assert answers(resumed) == told
        server.stop()


def test_a_users_target_is_watched_despite_others_with_its_id(server, user, other, open_stream):
    path = user.db().collection("tasks").document().path
    stream = open_stream(server, "Listen", user.token)
    listen(stream, path, 2)
    assert answers(stream)[-1] == ("CURRENT", 2)
    listen(stream, f"{path}-other", 2)
    assert answers(stream) == [("REMOVE", 2), 6]
    # It belongs to another user now: the first target must end without its content.
    other.db().document(path).set({"userId": other.id, "secret": "x"})
    assert answers(stream) == [("REMOVE", 2), 7]
    with pytest.raises(grpc.RpcError):
        stream.call.cancel()
        stream.next()


def test_a_document_that_leaves_a_query_is_sent_only_to_permitted_users(emulator, service, name, open_stream):
    user = User(emulator)
    mine = query("tasks", where=both(
        field("userId", "EQUAL", types.Value(string_value=user.id)), field("n", "LESS_THAN", integer(5))))

    def become(owner, n):
        service.Commit(database=DATABASE, writes=[
            write(f"tasks/{name}", userId=types.Value(string_value=owner), n=integer(n))])

    become(user.id, 1)
    streams = {token: open_stream(emulator, "Listen", token) for token in (user.token, "owner")}
    for stream in streams.values():
        stream.send(database=DATABASE, add_target={"query": {"parent": ROOT, "structured_query": mine}, "target_id": 2})
        assert answers(stream) == [("ADD", 2), ("changed", name), ("CURRENT", 2)]
    become(user.id, 7)
    for stream in streams.values():
        told = stream.next().document_change
        assert told.document.fields["n"] == integer(7) and list(told.removed_target_ids) == [2]
        assert answers(stream) == []
    become(user.id, 2)
    for stream in streams.values():
        assert answers(stream) == [("changed", name)]
    become("somebody else", 3)
    told = streams["owner"].next().document_change
    assert told.document.fields["n"] == integer(3) and list(told.removed_target_ids) == [2]
    told = streams[user.token].next().document_remove
    assert told.document == f"{ROOT}/tasks/{name}" and list(told.removed_target_ids) == [2]
