"""Queries with google-cloud-firestore."""
import pytest
from google.api_core import exceptions
from google.cloud import firestore
from google.cloud.firestore_v1.base_query import And, FieldFilter, Or
from google.cloud.firestore_v1.base_vector_query import DistanceMeasure
from google.cloud.firestore_v1.vector import Vector


@pytest.fixture(scope="module")
def tasks(db):
    import uuid

    collection = db.collection("q" + uuid.uuid4().hex[:12])
    batch = db.batch()
    for n in range(20):
        batch.set(collection.document(f"t{n:02}"), {
            "n": n, "parity": n % 2, "tags": [f"tag{n % 3}", "all"], "title": f"Task {n:02}", "half": n / 2,
            "maybe": None if n % 5 == 0 else n})
    batch.commit()
    return collection


def ids(query, **options):
    return [int(document.id[1:]) for document in query.stream(**options)]


def where(collection, path, operator, value):
    return collection.where(filter=FieldFilter(path, operator, value))


@pytest.mark.parametrize("operator, value, expected", [
    ("==", 7, [7]), ("<", 3, [0, 1, 2]), ("<=", 3, [0, 1, 2, 3]), (">", 17, [18, 19]), (">=", 17, [17, 18, 19]),
    ("in", [1, 5, 99], [1, 5]), ("!=", 0, list(range(1, 20))), ("not-in", list(range(1, 9)), [0, *range(9, 20)])])
def test_operators(tasks, operator, value, expected):
    assert ids(where(tasks, "n", operator, value)) == expected


def test_arrays(tasks):
    assert ids(where(tasks, "tags", "array_contains", "tag1")) == [1, 4, 7, 10, 13, 16, 19]
    assert len(ids(where(tasks, "tags", "array_contains_any", ["tag1", "tag2"]))) == 13


def test_null_is_found_only_by_explicit_filters(tasks):
    assert ids(where(tasks, "maybe", "==", None)) == [0, 5, 10, 15]
    assert 5 not in ids(where(tasks, "maybe", "!=", 3))


def test_filters_join_with_and_and_or(tasks):
    both = tasks.where(filter=And([FieldFilter("parity", "==", 1), FieldFilter("n", ">", 14)]))
    assert ids(both) == [15, 17, 19]
    either = tasks.where(filter=Or([FieldFilter("n", "==", 3), FieldFilter("n", ">=", 18)]))
    assert sorted(ids(either)) == [3, 18, 19]


def test_orders_and_limits(tasks):
    descending = tasks.order_by("n", direction=firestore.Query.DESCENDING)
    assert ids(descending.limit(3)) == [19, 18, 17]
    assert [int(d.id[1:]) for d in tasks.order_by("n").limit_to_last(2).get()] == [18, 19]
    assert ids(tasks.order_by("parity").order_by("n", direction=firestore.Query.DESCENDING).limit(3)) == [18, 16, 14]
    assert ids(tasks.order_by("n").offset(18)) == [18, 19]


def test_values_of_all_types_have_one_order(db, collection):
    import datetime

    from google.cloud.firestore_v1 import GeoPoint

    def time(second):
        return datetime.datetime(2026, 11, 21, 12, 0, second, tzinfo=datetime.timezone.utc)

    # Values in the same list are equal for a query, and are ordered by name.
    ascending = [
        [None], [False], [True], [float("nan")], [float("-inf")], [-(2**63)], [-1, -1.0], [-0.5], [0, 0.0, -0.0], [0.5],
        [2**53], [2**53 + 1], [2**63 - 1], [2.0**63], [float("inf")], [time(1)], [time(2)], [""], ["a"], ["a\0"], ["aa"],
        ["e\u0301"], ["é"], ["\uffff"], ["😀"], [b""], [b"\0"], [b"\0\0"], [b"\xff"], [db.document("a/a")],
        [db.document("a/a/a/a")], [db.document("a/b")], [db.document("b/a")], [GeoPoint(-1, 5)], [GeoPoint(0, -5)], [GeoPoint(0, 5)],
        [[]], [[1]], [[1, "a"]], [[2]], [Vector([9.0])], [Vector([1.0, 1.0])], [Vector([1.0, 2.0])], [{}], [{"a": 1}],
        [{"a": 1, "b": 0}], [{"a": 2}], [{"b": 0}]]
    batch = db.batch()
    names = []
    for n, equal in enumerate(ascending):
        for m, value in enumerate(equal):
            names.append(f"{(7 * n) % 100:02}-{n:02}-{m}")
            batch.set(collection.document(names[-1]), {"v": value})
    batch.commit()
    ordered = collection.order_by("v")
    assert [d.id for d in ordered.stream()] == names
    assert [d.id for d in collection.order_by("v", direction=firestore.Query.DESCENDING).stream()] == [
        name for n in reversed(range(len(ascending))) for name in reversed([i for i in names if i[3:5] == f"{n:02}"])]
    for n, equal in enumerate(ascending):
        if n in (0, 3):
            continue
        wanted = [name for name in names if name[3:5] == f"{n:02}"]
        assert [d.id for d in where(collection, "v", "==", equal[0]).stream()] == wanted, equal
        after = ordered.start_after({"v": equal[0]})
        assert [d.id for d in after.stream()] == names[names.index(wanted[-1]) + 1:], equal
    # A range contains values of its type only, and NaN is in no range.
    assert [d.to_dict()["v"] for d in where(collection, "v", ">", 2**53).stream()] == [
        2**53 + 1, 2**63 - 1, 2.0**63, float("inf")]
    assert sum(1 for _ in where(collection, "v", "<=", float("inf")).stream()) == 14
    assert [d.to_dict()["v"] for d in where(collection, "v", ">=", b"\0\0").stream()] == [b"\0\0", b"\xff"]


def test_cursors(tasks):
    ordered = tasks.order_by("n")
    assert ids(ordered.start_at({"n": 17})) == [17, 18, 19]
    assert ids(ordered.start_after({"n": 17})) == [18, 19]
    assert ids(ordered.end_before({"n": 2})) == [0, 1]
    assert ids(ordered.end_at({"n": 2})) == [0, 1, 2]
    assert ids(ordered.start_after(tasks.document("t17").get())) == [18, 19]


def test_paging_by_cursor_returns_every_document_once(tasks):
    seen, last = [], None
    while True:
        query = tasks.order_by("half").limit(6)
        page = list((query.start_after(last) if last else query).stream())
        if not page:
            break
        seen += [int(document.id[1:]) for document in page]
        last = page[-1]
    assert seen == list(range(20))


def test_projections(tasks):
    assert [d.to_dict() for d in tasks.select(["n"]).order_by("n").limit(1).stream()] == [{"n": 0}]
    assert [d.to_dict() for d in tasks.select([]).limit(1).stream()] == [{}]


def test_by_document_name(tasks):
    from google.cloud.firestore_v1.field_path import FieldPath

    name = FieldPath.document_id()
    assert ids(tasks.where(filter=FieldFilter(name, ">=", tasks.document("t18")))) == [18, 19]
    assert ids(tasks.order_by(name, direction=firestore.Query.DESCENDING).limit(1)) == [19]


def test_count_sum_and_average(tasks):
    odd = where(tasks, "parity", "==", 1)
    answer = {a.alias: a.value for a in odd.count("c").sum("n", alias="s").avg("n", alias="a").get()[0]}
    assert answer == {"c": 10, "s": 100, "a": 10.0}
    empty = where(tasks, "n", ">", 1000)
    assert empty.sum("n").get()[0][0].value == 0 and empty.count().get()[0][0].value == 0
    assert tasks.count().get()[0][0].value == 20


def test_collection_groups(db, name):
    group = "group" + name
    for parent in "ab":
        for n in range(3):
            db.document(f"{name}/{parent}/{group}/{n}").set({"n": n, "parent": parent})
    db.document(f"{group}/top").set({"n": 9, "parent": ""})
    found = db.collection_group(group).where(filter=FieldFilter("n", ">=", 1)).order_by("n").stream()
    assert [(d.get("n"), d.get("parent")) for d in found] == [(1, "a"), (1, "b"), (2, "a"), (2, "b"), (9, "")]
    assert sum(1 for _ in db.collection_group(group).stream()) == 7


def test_partitions_cover_a_collection_group(db, name):
    group = "part" + name
    writer = db.bulk_writer()
    for n in range(400):
        writer.set(db.document(f"{name}/p/{group}/{n:04}"), {"n": n})
    writer.close()
    partitions = list(db.collection_group(group).get_partitions(4))
    assert 2 <= len(partitions) <= 5
    assert sorted(d.get("n") for p in partitions for d in p.query().stream()) == list(range(400))


def test_the_nearest_vectors(collection):
    for n in range(5):
        collection.document(f"v{n}").set({"at": Vector([float(n), 0.0])})
    nearest = collection.find_nearest(
        "at", Vector([3.2, 0.0]), distance_measure=DistanceMeasure.EUCLIDEAN, limit=2).get()
    assert [d.id for d in nearest] == ["v3", "v4"]


@pytest.mark.parametrize("build, message", [
    (lambda c: where(c, "n", "not-in", [1]).where(filter=FieldFilter("n", "!=", 2)), "."),
    (lambda c: where(c, "n", "in", list(range(31))), "."),
    (lambda c: c.order_by("n").limit(-1), "."),
])
def test_queries_that_production_refuses_are_refused(tasks, build, message):
    with pytest.raises((exceptions.InvalidArgument, ValueError), match=message):
        list(build(tasks).stream())


def test_a_large_result_streams(db, name):
    collection = db.collection(name)
    writer = db.bulk_writer()
    for n in range(2000):
        writer.set(collection.document(f"{n:05}"), {"n": n, "text": "x" * 500})
    writer.close()
    assert [d.get("n") for d in collection.order_by("n").stream()] == list(range(2000))
