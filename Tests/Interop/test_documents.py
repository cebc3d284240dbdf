"""Reading and writing documents with google-cloud-firestore."""
import datetime
import math

import pytest
from google.api_core import exceptions
from google.cloud import firestore
from google.cloud.firestore_v1.base_query import FieldFilter
from google.cloud.firestore_v1 import ArrayRemove, ArrayUnion, DELETE_FIELD, GeoPoint, Increment, SERVER_TIMESTAMP
from google.cloud.firestore_v1.vector import Vector

UTC = datetime.timezone.utc


def test_every_kind_of_value_round_trips(db, collection):
    moment = datetime.datetime(2026, 11, 21, 12, 30, 15, 123456, UTC)
    values = {
        "null": None, "yes": True, "no": False, "int": -(2**63), "big": 2**63 - 1, "float": 1.5, "text": "é✓ \0 text",
        "bytes": b"\x00\xff", "time": moment, "place": GeoPoint(48.2, 16.4), "link": collection.document("other"),
        "list": [1, "two", {"three": 3}], "map": {"a": {"b": {"c": 1}}, "with.dot": 1, "with `tick`": 2, "": 3},
        "vector": Vector([1.0, 2.0]), "empty list": [], "empty map": {}, "infinity": float("inf")}
    values["map"].pop("")
    document = collection.document("all")
    document.set(values)
    assert document.get().to_dict() == values
    document.set({"nan": float("nan"), "minus": -0.0, "zero": 0})
    found = document.get().to_dict()
    assert math.isnan(found["nan"]) and math.copysign(1, found["minus"]) == -1 and type(found["zero"]) is int
    # The values are equal for a query, but different content for a write.
    before = document.get().update_time
    assert document.update({"minus": -0.0}).update_time == before < document.update({"minus": 0.0}).update_time


def test_add_creates_an_id_and_get_finds_the_document(collection):
    time, reference = collection.add({"title": "Buy milk"})
    snapshot = reference.get()
    assert len(reference.id) == 20 and snapshot.exists
    assert snapshot.to_dict() == {"title": "Buy milk"}
    assert snapshot.create_time == snapshot.update_time == time


def test_a_missing_document_is_an_empty_snapshot(collection):
    snapshot = collection.document("nowhere").get()
    assert not snapshot.exists and snapshot.to_dict() is None and snapshot.read_time is not None


def test_create_refuses_an_existing_document(collection):
    document = collection.document("a")
    document.create({"n": 1})
    with pytest.raises(exceptions.AlreadyExists, match="Document already exists"):
        document.create({"n": 2})
    assert document.get().to_dict() == {"n": 1}


def test_set_replaces_and_merge_keeps(collection):
    document = collection.document("a")
    document.set({"keep": 1, "map": {"x": 1, "y": 2}})
    document.set({"map": {"y": 3}, "new": True}, merge=True)
    assert document.get().to_dict() == {"keep": 1, "map": {"x": 1, "y": 3}, "new": True}
    document.set({"map": {"x": 9, "y": 9}, "keep": 9}, merge=["map.x"])
    assert document.get().to_dict() == {"keep": 1, "map": {"x": 9, "y": 3}, "new": True}
    document.set({"only": 1})
    assert document.get().to_dict() == {"only": 1}


def test_update_changes_paths_and_needs_the_document(collection):
    document = collection.document("a")
    with pytest.raises(exceptions.NotFound, match="No document to update"):
        document.update({"n": 1})
    document.set({"a": {"b": 1, "c": 2}, "gone": 1})
    document.update({"a.b": 5, "gone": DELETE_FIELD, "`odd key`": 7})
    assert document.get().to_dict() == {"a": {"b": 5, "c": 2}, "odd key": 7}


def test_preconditions_on_the_last_update(db, collection):
    document = collection.document("a")
    first = document.set({"n": 1}).update_time
    second = document.update({"n": 2}, option=db.write_option(last_update_time=first)).update_time
    with pytest.raises(exceptions.FailedPrecondition):
        document.update({"n": 3}, option=db.write_option(last_update_time=first))
    with pytest.raises(exceptions.FailedPrecondition):
        document.delete(option=db.write_option(last_update_time=first))
    document.delete(option=db.write_option(last_update_time=second))
    assert not document.get().exists


def test_deleting_twice_is_no_error(db, collection):
    document = collection.document("a")
    document.set({})
    document.delete()
    document.delete()
    with pytest.raises(exceptions.NotFound):
        document.delete(option=db.write_option(exists=True))


def test_server_timestamps_are_the_commits_time(collection):
    document = collection.document("a")
    result = document.set({"at": SERVER_TIMESTAMP, "in": {"at": SERVER_TIMESTAMP}})
    values = document.get().to_dict()
    # A commit's time and its server timestamps agree to the microsecond.
    assert values["at"] == values["in"]["at"] == result.update_time
    assert abs(datetime.datetime.now(UTC) - values["at"]) < datetime.timedelta(seconds=60)


def test_increments_and_arrays(collection):
    document = collection.document("a")
    document.set({"n": 1, "f": 1, "list": ["a", "b"]})
    document.update({
        "n": Increment(4), "f": Increment(0.5), "fresh": Increment(7), "list": ArrayUnion(["b", "c"])})
    assert document.get().to_dict() == {"n": 5, "f": 1.5, "fresh": 7, "list": ["a", "b", "c"]}
    document.update({"list": ArrayRemove(["a", "c"]), "n": firestore.Maximum(100), "f": firestore.Minimum(0)})
    assert document.get().to_dict() == {"n": 100, "f": 0, "fresh": 7, "list": ["b"]}


def test_commit_times_increase(collection):
    times = [collection.document(str(n)).set({"n": n}).update_time for n in range(20)]
    assert times == sorted(times) and len(set(times)) == 20


def test_a_batch_is_all_or_nothing(db, collection):
    batch = db.batch()
    for n in range(500):
        batch.set(collection.document(f"{n:03}"), {"n": n})
    results = batch.commit()
    assert len(results) == 500 and len({result.update_time for result in results}) == 1
    batch = db.batch()
    batch.set(collection.document("000"), {"n": -1})
    batch.update(collection.document("missing"), {"n": -1})
    with pytest.raises(exceptions.NotFound):
        batch.commit()
    assert collection.document("000").get().to_dict() == {"n": 0}


def test_bulk_writer_reports_each_write(db, collection):
    written, failed = [], []
    writer = db.bulk_writer()
    writer.on_write_result(lambda reference, result, _: written.append(reference.id))
    writer.on_write_error(lambda error, _: failed.append(error.code) or False)
    collection.document("there").set({})
    for n in range(120):
        writer.set(collection.document(str(n)), {"n": n})
    writer.create(collection.document("there"), {})
    writer.close()
    assert len(written) == 120 and failed == [6]
    assert collection.count().get()[0][0].value == 121


def test_get_all_reports_found_and_missing_and_masks(db, collection):
    collection.document("a").set({"x": 1, "y": 2})
    collection.document("b").set({"x": 3})
    snapshots = {s.id: s for s in db.get_all([collection.document(i) for i in "abc"], field_paths=["x"])}
    assert snapshots["a"].to_dict() == {"x": 1} and snapshots["b"].to_dict() == {"x": 3}
    assert not snapshots["c"].exists


def test_list_documents_shows_those_that_only_have_children(db, collection):
    collection.document("real").set({})
    collection.document("ghost").collection("below").document("child").set({})
    assert sorted(d.id for d in collection.list_documents()) == ["ghost", "real"]
    assert sorted(d.id for d in collection.list_documents(page_size=1)) == ["ghost", "real"]


def test_collections_are_listed_at_the_root_and_below(db, collection, name):
    collection.document("a").collection("one").document("x").set({})
    collection.document("a").collection("two").document("x").set({})
    assert sorted(c.id for c in collection.document("a").collections()) == ["one", "two"]
    assert name in [c.id for c in db.collections()]


def test_recursive_delete_removes_descendants(db, collection):
    for n in range(30):
        collection.document(f"d{n}").set({})
        collection.document(f"d{n}").collection("below").document("x").set({})
    assert db.recursive_delete(collection) == 60
    assert list(collection.list_documents()) == []


def test_a_named_database_is_apart(emulator, name, monkeypatch):
    monkeypatch.setenv("FIRESTORE_EMULATOR_HOST", emulator.documents)
    here, there = firestore.Client(project="ferry"), firestore.Client(project="ferry", database="other")
    here.document(f"{name}/a").set({"in": "default"})
    assert not there.document(f"{name}/a").get().exists
    there.document(f"{name}/a").set({"in": "other"})
    assert here.document(f"{name}/a").get().to_dict() == {"in": "default"}
    assert there.document(f"{name}/a").get().to_dict() == {"in": "other"}
    elsewhere = firestore.Client(project=f"project-{name}")
    assert list(elsewhere.collections()) == []
    elsewhere.document(f"{name}/a").set({"in": "another project"})
    assert here.document(f"{name}/a").get().to_dict() == {"in": "default"}


@pytest.mark.parametrize("path, message", [
    ("__bad__/a", "because it is reserved"), ("{name}/__bad__", "because it is reserved")])
def test_reserved_names_are_refused(db, name, path, message):
    with pytest.raises(exceptions.InvalidArgument, match=message):
        db.document(path.format(name=name)).set({})


def test_a_document_over_a_mebibyte_is_refused(collection):
    with pytest.raises(exceptions.InvalidArgument, match="exceeds the maximum allowed size"):
        collection.document("a").set({"big": b"x" * 600_000, "more": b"x" * 600_000})


def test_reads_at_a_time_in_the_past(collection):
    document = collection.document("a")
    time = document.set({"n": 1}).update_time
    document.set({"n": 2})
    assert document.get(read_time=time).to_dict() == {"n": 1}
    assert [d.to_dict() for d in collection.get(read_time=time)] == [{"n": 1}]


async def _async_play(project, name):
    client = firestore.AsyncClient(project=project)
    collection = client.collection(name)
    document = collection.document("a")
    await document.create({"n": 1})
    with pytest.raises(exceptions.AlreadyExists):
        await document.create({"n": 1})
    await document.update({"n": Increment(1), "list": ArrayUnion([1])})
    assert (await document.get()).to_dict() == {"n": 2, "list": [1]}
    batch = client.batch()
    for n in range(10):
        batch.set(collection.document(f"b{n}"), {"n": n})
    assert len(await batch.commit()) == 10
    assert [d.id async for d in collection.where(filter=FieldFilter("n", "==", 2)).stream()] == ["a", "b2"]
    assert [d.id for d in await collection.order_by("n").limit_to_last(2).get()] == ["b8", "b9"]
    assert (await collection.where(filter=FieldFilter("n", ">", 2)).count().get())[0][0].value == 7
    assert {d.id: d.exists async for d in client.get_all([document, collection.document("no")])} == {"a": True, "no": False}
    assert sorted([d.id async for d in collection.list_documents()]) == ["a", *(f"b{n}" for n in range(10))]
    await document.collection("below").document("x").set({})
    assert [c.id async for c in document.collections()] == ["below"]

    @firestore.async_transactional
    async def increase(transaction):
        snapshot = await document.get(transaction=transaction)
        transaction.update(document, {"n": snapshot.get("n") + 1})
        return snapshot.get("n")

    import asyncio
    # Each thread uses its own transaction, all at once.
    seen = await asyncio.gather(*(increase(client.transaction(max_attempts=50)) for _ in range(5)))
    assert sorted(seen) == [2, 3, 4, 5, 6] and (await document.get()).get("n") == 7
    assert await client.recursive_delete(collection) == 12
    assert [d async for d in collection.stream()] == []


def test_the_async_client_too(emulator, name, monkeypatch):
    import asyncio

    monkeypatch.setenv("FIRESTORE_EMULATOR_HOST", emulator.documents)
    asyncio.run(_async_play("ferry", name))
