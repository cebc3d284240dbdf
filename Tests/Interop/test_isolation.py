"""Accounts that do not trust each other: none can read, delay or exhaust another's through the documents' service."""
import pytest

from conftest import Service, User, refused
from harness import PASSWORD

ROOT = "projects/ferry/databases/(default)/documents"
DATABASE = "projects/ferry/databases/(default)"


@pytest.fixture
def owner(server, name):
    return Account(server, email=f"{name}@example.org", password=PASSWORD)


@pytest.fixture
def stranger(server):
    return Account(server)


class Account:
    """A user, and the calls of the service on that user's behalf."""

    def __init__(self, server, **credentials):
        self.user = User(server, **credentials)
        self.id = self.user.id
        self.service = Service(server, self.user.token)

    def set(self, path, mask=None, **fields):
        return self.write(path, mask, **fields).commit_time

    def write(self, path, mask=None, transaction=b"", **fields):
        write = {"update": {"name": f"{ROOT}/{path}", "fields": {key: value(content) for key, content in fields.items()}}}
        if mask is not None:
            write["update_mask"] = {"field_paths": mask}
        # A wait for a lock would end in an error after 15 seconds.
        return self.service.call("Commit", timeout=10, database=DATABASE, writes=[write], transaction=transaction)

    def delete(self, path):
        self.service.Commit(database=DATABASE, writes=[{"delete": f"{ROOT}/{path}"}])

    def begin(self, **options):
        return self.service.BeginTransaction(database=DATABASE, options=options or None).transaction

    def get(self, path, **moment):
        return self.service.GetDocument(name=f"{ROOT}/{path}", **moment)

    def batch_get(self, *paths, **moment):
        return self.service.BatchGetDocuments(database=DATABASE, documents=[f"{ROOT}/{path}" for path in paths], **moment)

    def list(self, parent, collection, **moment):
        return self.service.ListDocuments(parent=f"{ROOT}/{parent}", collection_id=collection, **moment).documents

    def query(self, query, parent="", **moment):
        answers = self.service.RunQuery(parent=f"{ROOT}/{parent}".rstrip("/"), structured_query=query, **moment)
        return [answer.document.name.removeprefix(f"{ROOT}/") for answer in answers if answer.document.name]

    def count(self, query, parent="", **moment):
        aggregation = {"structured_query": query, "aggregations": [{"alias": "n", "count": {}}]}
        [answer] = self.service.RunAggregationQuery(
            parent=f"{ROOT}/{parent}".rstrip("/"), structured_aggregation_query=aggregation, **moment)
        return answer.result.aggregate_fields["n"].integer_value


def value(content):
    if isinstance(content, list):
        return {"array_value": {"values": [value(element) for element in content]}}
    return {"integer_value": content} if isinstance(content, int) else {"string_value": content}


def where(collection, group=False, **fields):
    filters = [{"field_filter": {"field": {"field_path": key}, "op": "EQUAL", "value": value(content)}}
               for key, content in fields.items()]
    return {"from_": [{"collection_id": collection, "all_descendants": group}],
            "where": {"composite_filter": {"op": "AND", "filters": filters}}}


READS = {
    "get": lambda account, path, **moment: account.get(path, **moment),
    "get of nothing": lambda account, path, **moment: account.get(f"{path}/history/none", **moment),
    "batch get": lambda account, path, **moment: account.batch_get(path, **moment),
    "batch get below": lambda account, path, **moment: account.batch_get(f"{path}/history/1", **moment),
    "list": lambda account, path, **moment: account.list(path, "history", **moment),
    "query below": lambda account, path, **moment: account.query(where("history"), path, **moment),
    "query": lambda account, path, **moment: account.query(where("tasks", title="secret"), **moment),
    "aggregation": lambda account, path, **moment: account.count(where("tasks", title="secret"), **moment),
}


@pytest.mark.parametrize("read", READS)
def test_a_refused_read_in_a_transaction_delays_nobody(owner, stranger, name, read):
    task = f"tasks/{name}"
    owner.set(task, userId=owner.id, title="secret")
    owner.set(f"{task}/history/1", userId=owner.id)
    mine = owner.begin()
    owner.get(task, transaction=mine)
    transaction = stranger.begin()
    for _ in range(2):
        with refused("PERMISSION_DENIED"):
            READS[read](stranger, task, transaction=transaction)
    if read not in ("get", "get of nothing", "list"):
        with refused("PERMISSION_DENIED"):
            READS[read](stranger, task, new_transaction={"read_write": {}})
    owner.service.call("Commit", timeout=10, database=DATABASE, transaction=mine, writes=[
        {"update": {"name": f"{ROOT}/{path}", "fields": {"userId": value(owner.id), "title": value("secret")}}}
        for path in (task, f"{task}/history/1", f"{task}/history/none")])
    # The stranger's transaction is as it was: nothing of it was in the way.
    stranger.write(f"tasks/{name}-2", userId=stranger.id, transaction=transaction)


def test_a_read_of_a_name_that_is_free_delays_nobody(owner, stranger, name):
    transaction = stranger.begin()
    with refused("NOT_FOUND"):
        stranger.get(f"tasks/{name}", transaction=transaction)
    owner.set(f"tasks/{name}", userId=owner.id)
    with refused("ABORTED", "contention"):
        stranger.write(f"tasks/{name}-2", userId=stranger.id, transaction=transaction)


def test_a_transaction_is_its_accounts_alone(owner, stranger, name):
    owner.set(f"tasks/{name}", userId=owner.id)
    transaction = owner.begin()
    owner.get(f"tasks/{name}", transaction=transaction)
    forged = bytes([transaction[0]]) + bytes(8) + transaction[9:]
    for account, id in ((stranger, transaction), (stranger, forged), (owner, forged)):
        with refused("INVALID_ARGUMENT", "Invalid transaction."):
            account.service.Rollback(database=DATABASE, transaction=id)
        with refused("INVALID_ARGUMENT", "Invalid transaction."):
            account.write(f"tasks/{name}-2", userId=account.id, transaction=id)
        with refused("INVALID_ARGUMENT", "Invalid transaction."):
            account.query(where("tasks", userId=account.id), transaction=id)
        # As a retry it is worth no more than any other bytes: its age is not believed.
        retry = account.begin(read_write={"retry_transaction": id})
        assert retry[1:9] > transaction[1:9]
        account.service.Rollback(database=DATABASE, transaction=retry)
    assert owner.begin(read_write={"retry_transaction": transaction})[1:9] == transaction[1:9]
    owner.write(f"tasks/{name}", userId=owner.id, transaction=transaction)


def test_an_account_has_a_hundred_transactions_and_others_go_on(owner, stranger):
    open = [stranger.begin() for _ in range(100)]
    with refused("RESOURCE_EXHAUSTED", "100 open transactions"):
        stranger.begin()
    owner.service.Rollback(database=DATABASE, transaction=owner.begin())
    for transaction in open:
        stranger.service.Rollback(database=DATABASE, transaction=transaction)
    stranger.begin()
