"""Accounts do not trust each other: none can read, delay or exhaust another's documents through the service."""
import datetime

import grpc
import pytest

from conftest import Service, Stream, User, refused
from harness import PASSWORD, until

ROOT = "projects/ferry/databases/(default)/documents"
DATABASE = "projects/ferry/databases/(default)"


@pytest.fixture
def owner(server, name):
    return Account(server, email=f"{name}@example.org", password=PASSWORD)


@pytest.fixture
def stranger(server):
    return Account(server)


class Account:
    """A user, and the calls of the service with the user's token."""

    def __init__(self, server, **credentials):
        self.user = User(server, **credentials)
        self.id = self.user.id
        self.email = credentials.get("email", "anonymous")
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
    if isinstance(content, datetime.datetime):
        return {"timestamp_value": content}
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
def test_a_refused_read_in_a_transaction_delays_no_other(owner, stranger, name, read):
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
    # The stranger's transaction is unaffected, as nothing blocked it.
    stranger.write(f"tasks/{name}-2", userId=stranger.id, transaction=transaction)


def test_a_read_of_an_unused_name_delays_no_other(owner, stranger, name):
    transaction = stranger.begin()
    with refused("NOT_FOUND"):
        stranger.get(f"tasks/{name}", transaction=transaction)
    owner.set(f"tasks/{name}", userId=owner.id)
    with refused("ABORTED", "contention"):
        stranger.write(f"tasks/{name}-2", userId=stranger.id, transaction=transaction)


def test_a_transaction_is_usable_only_by_its_account(owner, stranger, name):
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
        # As a retry token it has no more effect than arbitrary bytes: the server ignores the age in it.
        retry = account.begin(read_write={"retry_transaction": id})
        assert retry[1:9] > transaction[1:9]
        account.service.Rollback(database=DATABASE, transaction=retry)
    assert owner.begin(read_write={"retry_transaction": transaction})[1:9] == transaction[1:9]
    owner.write(f"tasks/{name}", userId=owner.id, transaction=transaction)


def test_an_account_has_at_most_a_hundred_transactions_and_others_continue(owner, stranger):
    open = [stranger.begin() for _ in range(100)]
    with refused("RESOURCE_EXHAUSTED", "100 open transactions"):
        stranger.begin()
    owner.service.Rollback(database=DATABASE, transaction=owner.begin())
    for transaction in open:
        stranger.service.Rollback(database=DATABASE, transaction=transaction)
    stranger.begin()


def share(owner, member, list):
    """The owner invites, and the other account accepts."""
    owner.set(f"invitations/{owner.id}.{member.id}.{list}", **{"from": owner.id, "to": member.id}, listId=list,
              listName="Shared", fromName=owner.email, toName=member.email,
              createdTime=datetime.datetime.now(datetime.timezone.utc))
    member.set(f"lists/{list}", mask=["sharedWith"], sharedWith=[member.id])


@pytest.fixture
def shared(owner, stranger, name):
    """Creates a list of the owner of which the stranger is a member, and a private one."""
    lists = (f"{name}-shared", f"{name}-private")
    owner.set(f"lists/{lists[0]}", userId=owner.id, name="Shared")
    share(owner, stranger, lists[0])
    owner.set(f"lists/{lists[1]}", userId=owner.id, name="Private")
    return lists


class Watcher:
    """Tracks the results of a query's listener by the last segments of the documents' names."""

    def __init__(self, server, account, query, token=b""):
        self.stream, self.found, self.told = Stream(server, "Listen", account.user.token), set(), []
        target = {"query": {"parent": ROOT, "structured_query": query}, "target_id": 1, "resume_token": token}
        self.stream.send(database=DATABASE, add_target=target)

    def advance(self, until):
        """Reads up to a boundary at or after `until`, or to the target's end, whose cause it returns."""
        while True:
            answer = self.stream.next()
            kind = answer._pb.WhichOneof("response_type")
            if kind == "document_change":
                change = answer.document_change
                self.told.append(str(change.document))
                name = change.document.name.rsplit("/", 1)[1]
                (self.found.add if change.target_ids else self.found.discard)(name)
            elif kind in ("document_remove", "document_delete"):
                self.found.discard(getattr(answer, kind).document.rsplit("/", 1)[1])
            elif answer.target_change.target_change_type == 2:
                return answer.target_change.cause
            elif kind == "target_change" and not answer.target_change.target_ids and answer.target_change.read_time:
                self.token = answer.target_change.resume_token
                if answer.target_change.read_time >= until:
                    return None


def test_history_follows_its_task_out_of_a_shared_list(server, owner, stranger, shared, name):
    common, private = shared
    owner.set(f"tasks/{name}", userId=owner.id, listId=common)
    written = owner.set(f"tasks/{name}/history/1", userId=owner.id, listId=common, value="old")
    query = where("history", group=True, userId=owner.id, listId=common)
    watcher = Watcher(server, stranger, query)
    watcher.advance(written)
    assert (stranger.query(query), watcher.found) == ([f"tasks/{name}/history/1"], {"1"})
    # The same commit adds an entry, as clients write it that know the old list.
    moved = owner.service.Commit(database=DATABASE, writes=[
        {"update": {"name": f"{ROOT}/tasks/{name}/history/2",
                    "fields": {"userId": value(owner.id), "listId": value(common), "value": value("SECRET")}}},
        {"update": {"name": f"{ROOT}/tasks/{name}", "fields": {"listId": value(private)}},
         "update_mask": {"field_paths": ["listId"]}}]).commit_time
    late = owner.set(f"tasks/{name}/history/1", mask=["value"], value="SECRET")
    shown = owner.set(f"tasks/{name}-other", userId=owner.id, listId=common)
    shown = owner.set(f"tasks/{name}-other/history/3", userId=owner.id, listId=common)
    assert moved < late < shown
    watcher.advance(shown)
    assert watcher.found == {"3"} and not [text for text in watcher.told if "SECRET" in text]
    assert stranger.query(query) == [f"tasks/{name}-other/history/3"]
    assert stranger.count(query) == 1
    again = Watcher(server, stranger, query)
    again.advance(shown)
    assert again.found == {"3"}
    for path in (f"tasks/{name}/history/1", f"tasks/{name}/history/2"):
        with refused("PERMISSION_DENIED"):
            stranger.get(path)
    everything = where("history", group=True, userId=owner.id, listId=private)
    assert owner.query(everything) == [f"tasks/{name}/history/1", f"tasks/{name}/history/2"]
    watcher.stream.close()
    again.stream.close()


def test_past_reads_need_past_and_present_access(server, owner, stranger, shared, name):
    common, private = shared
    history = f"tasks/{name}/history"
    owner.set(f"tasks/{name}", userId=owner.id, listId=private, notes="SECRET")
    before = owner.set(f"{history}/1", userId=owner.id, listId=private, value="SECRET")
    owner.delete(f"{history}/1")
    during = owner.set(f"tasks/{name}", userId=owner.id, listId=common)
    query = where("tasks", userId=owner.id, listId=common)
    below = {"from_": [{"collection_id": "history"}]}

    def reads(**moment):
        return {
            "get": lambda: stranger.get(f"tasks/{name}", **moment),
            "get deleted": lambda: stranger.get(f"{history}/1", **moment),
            "batch get": lambda: stranger.batch_get(f"tasks/{name}", **moment) if moment else None,
            "list": lambda: stranger.list(f"tasks/{name}", "history", **moment),
            "query below": lambda: stranger.query(below, f"tasks/{name}", **moment),
            "count below": lambda: stranger.count(below, f"tasks/{name}", **moment),
        }

    past = {"read_time": before}
    transaction = {"transaction": stranger.begin(read_only={"read_time": before})}
    for moment in (past, transaction):
        for what, read in reads(**moment).items():
            with refused("PERMISSION_DENIED"):
                pytest.fail(f"{what}: {read()}")
    with refused("PERMISSION_DENIED"):
        # A later page is read at the time in its token, which any client can write.
        microseconds = int(before.timestamp() * 1_000_000)
        stranger.list(f"tasks/{name}", "history", page_token=f"{microseconds}-30")
    assert stranger.query(query, read_time=during) == [f"tasks/{name}"]
    assert stranger.count(query, read_time=during) == 1
    assert stranger.get(f"tasks/{name}", read_time=during).fields["listId"].string_value == common
    # A document that the member can no longer read is not shown in its old version either.
    owner.set(f"tasks/{name}", mask=["listId"], listId=private)
    for read in (stranger.query, stranger.count):
        with refused("PERMISSION_DENIED"):
            read(query, read_time=during)
    with refused("PERMISSION_DENIED"):
        stranger.get(f"tasks/{name}", read_time=during)
    # A list that was shared later.
    share(owner, stranger, private)
    for read in (stranger.query, stranger.count):
        with refused("PERMISSION_DENIED"):
            read(where("tasks", userId=owner.id, listId=private), read_time=before)
    assert stranger.query(where("tasks", userId=owner.id, listId=private)) == [f"tasks/{name}"]
    assert owner.query(where("tasks", userId=owner.id, listId=private), read_time=before) == [f"tasks/{name}"]


def test_a_listener_does_not_resume_from_before_the_sharing(server, owner, stranger, shared, name):
    common, private = shared
    written = owner.set(f"tasks/{name}", userId=owner.id, listId=private)
    mine = Watcher(server, owner, where("tasks", userId=owner.id))
    mine.advance(written)
    early = mine.token
    owner.delete(f"tasks/{name}")
    share(owner, stranger, private)
    query = where("tasks", userId=owner.id, listId=private)
    now = owner.set(f"tasks/{name}-new", userId=owner.id, listId=private)
    cause = Watcher(server, stranger, query, token=early).advance(now)
    assert cause is not None and cause.code == 7
    member = Watcher(server, stranger, query)
    assert member.advance(now) is None
    later = Watcher(server, stranger, query, token=member.token)
    assert later.advance(owner.set(f"tasks/{name}-next", userId=owner.id, listId=private)) is None
    assert later.found == {f"{name}-next"}


def test_an_account_has_at_most_a_hundred_listen_streams_and_others_continue(server, owner, stranger):
    def opened(account):
        stream = Stream(server, "Listen", account.user.token)
        query = where("tasks", userId=account.id)
        target = {"query": {"parent": ROOT, "structured_query": query}, "target_id": 1}
        stream.send(database=DATABASE, add_target=target)
        stream.next()
        return stream

    streams = [opened(stranger) for _ in range(100)]
    with refused("RESOURCE_EXHAUSTED", "100 listen streams"):
        opened(stranger)
    streams.append(opened(owner))
    streams.pop(0).close()

    def reopened():
        try:
            return opened(stranger)
        except grpc.RpcError:
            return None

    streams.append(until(reopened, "room for another stream"))
    for stream in streams:
        stream.close()


def test_the_bytes_of_an_accounts_listen_targets_are_limited(server, owner, stranger):
    stream = Stream(server, "Listen", stranger.user.token)
    for number in range(1, 100):
        query = where("tasks", userId=stranger.id, title="x" * 300_000 + str(number))
        stream.send(database=DATABASE, add_target={
            "query": {"parent": ROOT, "structured_query": query}, "target_id": number})
    while True:
        change = stream.next().target_change
        if change.target_change_type == 2:
            break
    assert (change.cause.code, "16777216 bytes of listen targets" in change.cause.message) == (8, True)
    written = owner.set(f"tasks/{owner.id}", userId=owner.id)
    watcher = Watcher(server, owner, where("tasks", userId=owner.id))
    watcher.advance(written)
    stream.close()
