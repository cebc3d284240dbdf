"""Transactions of google-cloud-firestore, including concurrent ones."""
import threading

import pytest
from google.api_core import exceptions
from google.cloud import firestore


def test_contending_increments_are_all_counted(db, collection):
    document = collection.document("counter")
    document.set({"n": 0})

    def work():
        # One object per thread, as the client stores the id of the last attempt in it.
        @firestore.transactional
        def increase(transaction):
            value = document.get(transaction=transaction).get("n")
            transaction.update(document, {"n": value + 1})

        for _ in range(5):
            increase(db.transaction(max_attempts=50))

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert document.get().to_dict() == {"n": 30}


def test_a_failed_transaction_writes_nothing(db, collection):
    document = collection.document("a")
    document.set({"n": 1})

    @firestore.transactional
    def fail(transaction):
        transaction.update(document, {"n": 2})
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        fail(db.transaction())
    assert document.get().to_dict() == {"n": 1}


def test_queries_in_a_transaction_see_one_moment(db, collection):
    for n in range(3):
        collection.document(str(n)).set({"n": n})

    @firestore.transactional
    def total(transaction):
        result = sum(d.get("n") for d in collection.stream(transaction=transaction))
        transaction.set(collection.document("total"), {"n": result})
        return result

    assert total(db.transaction()) == 3
    assert collection.document("total").get().to_dict() == {"n": 3}


def test_a_read_only_transaction_does_not_see_later_commits(db, collection):
    document = collection.document("a")
    document.set({"n": 1})
    transaction = db.transaction(read_only=True)
    transaction._begin()
    assert document.get(transaction=transaction).get("n") == 1
    document.set({"n": 2})
    assert document.get(transaction=transaction).get("n") == 1
    transaction._rollback()


def test_an_unknown_transaction_is_refused(db, collection):
    transaction = db.transaction()
    transaction._id = b"nonsense"
    with pytest.raises(exceptions.InvalidArgument):
        collection.document("a").get(transaction=transaction)
