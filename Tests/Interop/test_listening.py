"""Tests of on_snapshot of google-cloud-firestore."""
import queue

import pytest
from google.cloud.firestore_v1.base_query import FieldFilter

TIMEOUT = 20


class Heard:
    """Collects the snapshots of a listener."""

    def __init__(self, target):
        self.snapshots = queue.Queue()
        self.watch = target.on_snapshot(
            lambda documents, changes, time: self.snapshots.put(
                ([d.to_dict() for d in documents], [(c.type.name, c.document.id) for c in changes])))

    def next(self):
        return self.snapshots.get(timeout=TIMEOUT)

    def until(self, documents):
        """Waits for this state, and returns all changes up to it. A snapshot may combine several changes."""
        changes = []
        while True:
            state, more = self.next()
            changes += more
            if state == documents:
                return changes


@pytest.fixture
def listen():
    heard = []

    def start(target):
        heard.append(Heard(target))
        return heard[-1]

    yield start
    for one in heard:
        one.watch.unsubscribe()


def test_a_listener_receives_the_results_then_their_changes(collection, listen):
    collection.document("a").set({"n": 1})
    heard = listen(collection)
    assert heard.next() == ([{"n": 1}], [("ADDED", "a")])
    collection.document("b").set({"n": 2})
    assert heard.until([{"n": 1}, {"n": 2}]) == [("ADDED", "b")]
    collection.document("a").update({"n": 3})
    assert heard.until([{"n": 3}, {"n": 2}]) == [("MODIFIED", "a")]
    collection.document("b").delete()
    assert heard.until([{"n": 3}]) == [("REMOVED", "b")]


def test_an_empty_query_says_so_at_once(collection, listen):
    assert listen(collection).next() == ([], [])


def test_documents_enter_and_leave_a_filter(collection, listen):
    collection.document("a").set({"n": 1, "open": True})
    heard = listen(collection.where(filter=FieldFilter("open", "==", True)))
    assert heard.next()[1] == [("ADDED", "a")]
    collection.document("a").update({"open": False})
    assert heard.until([]) == [("REMOVED", "a")]
    collection.document("a").update({"open": True})
    assert heard.until([{"n": 1, "open": True}]) == [("ADDED", "a")]


def test_a_limit_lets_the_next_one_in(collection, listen):
    for n in range(3):
        collection.document(str(n)).set({"n": n})
    heard = listen(collection.order_by("n").limit(2))
    assert heard.next()[0] == [{"n": 0}, {"n": 1}]
    collection.document("0").delete()
    assert sorted(heard.until([{"n": 1}, {"n": 2}])) == [("ADDED", "2"), ("REMOVED", "0")]


def test_a_batch_is_received_as_one_snapshot(db, collection, listen):
    heard = listen(collection)
    heard.next()
    batch = db.batch()
    for n in range(50):
        batch.set(collection.document(f"{n:02}"), {"n": n})
    batch.commit()
    state, changes = heard.next()
    assert len(state) == len(changes) == 50


def test_a_listener_may_precede_its_document(collection, listen):
    heard = listen(collection.document("a"))
    assert heard.next() == ([], [])
    collection.document("a").set({"n": 1})
    assert heard.until([{"n": 1}]) == [("ADDED", "a")]
    collection.document("a").delete()
    assert heard.until([]) == [("REMOVED", "a")]


def test_a_listener_on_a_collection_group(db, name, listen):
    heard = listen(db.collection_group(name))
    assert heard.next() == ([], [])
    db.document(f"tasks/{name}/{name}/x").set({"n": 1})
    assert heard.until([{"n": 1}]) == [("ADDED", "x")]


def test_many_listeners_receive_one_commit(collection, listen):
    heard = [listen(collection) for _ in range(20)]
    for one in heard:
        one.next()
    collection.document("a").set({"n": 1})
    for one in heard:
        assert one.until([{"n": 1}]) == [("ADDED", "a")]
