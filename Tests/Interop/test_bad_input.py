"""Requests that no client would send: the right status, a message that names the error, and the server keeps serving."""
import random
import tempfile
import threading
import time
from pathlib import Path

import grpc
import pytest
from conftest import Service, Stream, refused
from google.cloud.firestore_v1 import types
from harness import Server, until

DATABASE = "projects/ferry/databases/(default)"
ROOT = f"{DATABASE}/documents"
UNARY = ["GetDocument", "ListDocuments", "CreateDocument", "UpdateDocument", "DeleteDocument", "BatchGetDocuments",
         "BeginTransaction", "Commit", "Rollback", "RunQuery", "RunAggregationQuery", "PartitionQuery", "ExecutePipeline",
         "ListCollectionIds", "BatchWrite"]
STREAMS = ["Listen", "Write"]


@pytest.fixture(autouse=True)
def serves_on(service, name):
    """Checks after each test that the server accepts a write and reads it."""
    yield
    service.Commit(database=DATABASE, writes=[types.Write(update={"name": f"{ROOT}/{name}/after"})])
    assert service.GetDocument(name=f"{ROOT}/{name}/after").name.endswith("after")


def varint(number):
    encoded = b""
    while number > 0x7f:
        encoded += bytes([number & 0x7f | 0x80])
        number >>= 7
    return encoded + bytes([number])


def part(number, content):
    """Encodes a length-delimited field."""
    return varint(number << 3 | 2) + varint(len(content)) + content


def text_fields(descriptor, above=()):
    """Yields the paths to every string in a message, as fields; each type once per path."""
    for field in descriptor.fields:
        # The server skips options that it does not use like unknown fields; functions are only for pipelines.
        if field.name in ("request_options", "structured_pipeline", "function_value", "pipeline_value"):
            continue
        if field.name in ("field_reference_value", "variable_reference_value"):
            continue
        if field.type == field.TYPE_STRING:
            yield (field,)
        elif field.type == field.TYPE_MESSAGE and field.message_type not in above:
            for way in text_fields(field.message_type, (*above, descriptor)):
                yield (field, *way)


def ways(method):
    return [(method, way) for way in text_fields(getattr(types, f"{method}Request").pb().DESCRIPTOR)]


def answer(emulator, service, method, message):
    """Sends bytes and returns the status."""
    if method in STREAMS:
        stream = Stream(emulator, method)
        stream.send_bytes(message)
        stream.requests.put(None)
        try:
            while True:
                stream.next()
        except StopIteration:
            return grpc.StatusCode.OK, ""
        except grpc.RpcError as error:
            return error.code(), error.details()
        finally:
            stream.close()
    try:
        service.call(method, message)
        return grpc.StatusCode.OK, ""
    except grpc.RpcError as error:
        return error.code(), error.details()


def test_invalid_utf8_is_named_in_every_field(emulator, service):
    every = [way for method in UNARY + STREAMS for way in ways(method)]
    assert len(every) > 150
    for method, way in every:
        message = b"a\xffb"
        for field in reversed(way):
            message = part(field.number, message)
            # The server checks names before content.
            if field.full_name.endswith(".Document.fields") and method != "CreateDocument":
                message = part(1, f"{ROOT}/a/b".encode()) + message
            elif field.full_name.endswith(".CreateDocumentRequest.document"):
                message = part(1, ROOT.encode()) + part(2, b"a") + message
        code, details = answer(emulator, service, method, message)
        where = (method, [field.name for field in way], details)
        assert code == grpc.StatusCode.INVALID_ARGUMENT, where
        assert f"field {way[-1].number} is not valid UTF-8" in details, where
        assert f"{method}Request:".lower() in details.lower() or "(at field" in details, where


def nested_maps(depth):
    value = part(17, b"x")
    for _ in range(depth):
        value = part(6, part(1, part(1, b"a") + part(2, value)))
    return part(1, DATABASE.encode()) + part(2, part(1, part(1, f"{ROOT}/a/b".encode()) + part(2, part(1, b"f") + part(2, value))))


def nested_filters(depth):
    where = part(3, varint(1 << 3) + varint(5) + part(2, part(2, b"n")))
    for _ in range(depth):
        where = part(1, varint(1 << 3) + varint(1) + part(2, where))
    return part(1, ROOT.encode()) + part(2, part(2, part(2, b"a")) + part(3, where))


@pytest.mark.parametrize("depth", [21, 30, 33, 34, 100, 3000])
def test_deep_values_are_refused(service, depth):
    words = "invalid nested entity" if depth < 30 else ""
    with refused("INVALID_ARGUMENT", words) as error:
        service.Commit(nested_maps(depth))
    assert "nested" in error.value.details()


def test_deep_filters_are_refused_and_less_deep_ones_are_not(service):
    assert len(service.RunQuery(nested_filters(40))) >= 1
    for depth in (60, 1000, 5000):
        with refused("INVALID_ARGUMENT", "nested deeper than 100 levels"):
            service.RunQuery(nested_filters(depth))


@pytest.mark.parametrize("bad", [
    "", "/", "a/b", "projects/ferry", "projects/ferry/databases/(default)", "projects//databases/(default)/documents/a/b",
    "projects/ferry/databases//documents/a/b", f"{ROOT}/a//b", f"{ROOT}/a/b/", f"{ROOT}/./b", f"{ROOT}/a/..",
    f"{ROOT}/__a__/b", f"{ROOT}/a/__b__", f"{ROOT}/a", f"{ROOT}/{'a/' * 201}b", f"{ROOT}/a/{'x' * 1501}",
    f"projects/ferry/databases/(default)/DOCUMENTS/a/b", f"x{ROOT}/a/b"])
def test_malformed_names_are_named(service, bad):
    write = types.Write(update={"name": bad})
    calls = [
        lambda: service.GetDocument(name=bad), lambda: service.DeleteDocument(name=bad),
        lambda: service.UpdateDocument(document={"name": bad}), lambda: service.Commit(database=DATABASE, writes=[write]),
        lambda: service.BatchWrite(database=DATABASE, writes=[write]),
        lambda: service.BatchGetDocuments(database=DATABASE, documents=[bad])]
    for call in calls:
        with refused("INVALID_ARGUMENT") as error:
            call()
        details = error.value.details()
        assert any(words in details for words in ("name", "Collection id", "Resource id", "Project id")), details


def test_random_bytes_are_never_more_than_a_bad_request(emulator, service):
    generator = random.Random(7)
    fair = {grpc.StatusCode.OK, grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND,
            grpc.StatusCode.FAILED_PRECONDITION}
    seeds = [nested_maps(2), nested_filters(2), part(1, DATABASE.encode()), part(1, f"{ROOT}/a/b".encode())]
    for method in UNARY + STREAMS:
        for round in range(60 if method in UNARY else 15):
            message = bytearray(generator.choice(seeds) if round % 2 else generator.randbytes(generator.randrange(200)))
            for _ in range(generator.randrange(4)):
                if message:
                    message[generator.randrange(len(message))] = generator.randrange(256)
            code, details = answer(emulator, service, method, bytes(message))
            assert code in fair, (method, bytes(message), code, details)


def test_a_request_over_the_limit_is_refused_by_its_size(service, name):
    with refused("RESOURCE_EXHAUSTED"):
        service.Commit(database=DATABASE, writes=[
            types.Write(update={"name": f"{ROOT}/{name}/{n}", "fields": {"f": types.Value(bytes_value=b"x" * 1_000_000)}})
            for n in range(20)])


def test_an_unknown_method_is_unimplemented(service):
    with refused("UNIMPLEMENTED"):
        service.call("Nothing", b"")


# Floods. Each uses its own server, so that its memory can be measured.


@pytest.fixture
def alone():
    with tempfile.TemporaryDirectory(prefix="ferry-") as directory:
        server = Server(Path(directory), "--emulator")
        server.start()
        yield server
        assert server.stop() == 0


def resident(server):
    """Returns the server's resident memory in mebibytes."""
    for line in Path(f"/proc/{server.process.pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024


def commit(service, path, **fields):
    began = time.monotonic()
    service.Commit(database=DATABASE, writes=[types.Write(update={"name": f"{ROOT}/{path}", "fields": fields})])
    return time.monotonic() - began


def test_a_flood_of_unread_targets_is_bounded(alone):
    service = Service(alone)
    for n in range(20):
        commit(service, f"a/{n}", f=types.Value(bytes_value=b"x" * 100_000))
    before = resident(alone)
    stream = Stream(alone, "Listen")
    for n in range(20_000):
        stream.send(database=DATABASE, add_target={
            "query": {"parent": ROOT, "structured_query": {"from_": [{"collection_id": "a"}]}}, "target_id": n % 15_000 + 1})
    # The stream is full; others are served at their usual speed.
    stream.next()
    times = [commit(service, f"b/{n}") for n in range(50)]
    assert max(times) < 2 and resident(alone) - before < 150
    stream.close()
    quick = Stream(alone, "Listen")
    quick.send(database=DATABASE, add_target={"documents": {"documents": [f"{ROOT}/b/1"]}, "target_id": 1})
    assert quick.next().target_change.target_ids == [1]
    quick.close()


def test_too_many_targets_are_refused_and_the_others_continue(alone):
    stream = Stream(alone, "Listen")
    for n in range(1, 1002):
        stream.send(database=DATABASE, add_target={"documents": {"documents": [f"{ROOT}/a/b"]}, "target_id": n})
    while True:
        change = stream.next().target_change
        if change.target_change_type == types.TargetChange.TargetChangeType.REMOVE:
            break
    assert (list(change.target_ids), change.cause.code) == ([1001], 8)
    commit(Service(alone), "a/b")
    while not (answer := stream.next()).document_change.document.name:
        pass
    assert len(answer.document_change.target_ids) == 1000
    stream.close()


def test_a_stalled_consumer_delays_no_other_and_then_catches_up(alone):
    service = Service(alone)
    stream = Stream(alone, "Listen")
    stream.send(database=DATABASE, add_target={
        "query": {"parent": ROOT, "structured_query": {"from_": [{"collection_id": "a"}]}}, "target_id": 2})
    stream.next()
    before = resident(alone)
    # 300 MB of changes to 5 documents.
    times = [commit(service, f"a/{n % 5}", n=types.Value(integer_value=n), f=types.Value(bytes_value=b"x" * 1_000_000))
             for n in range(300)]
    assert sorted(times)[len(times) // 2] < 0.5 and resident(alone) - before < 250
    held = {}
    while sorted(held.values()) != [295, 296, 297, 298, 299]:
        document = stream.next().document_change.document
        if document.name:
            held[document.name] = document.fields["n"].integer_value
    stream.close()


def test_streams_that_are_left_are_forgotten(alone):
    service = Service(alone)

    def descriptors():
        return len(list(Path(f"/proc/{alone.process.pid}/fd").iterdir()))

    before = descriptors()
    for _ in range(100):
        # Each connection is closed without a message.
        streams = [Stream(alone, method) for method in STREAMS for _ in range(2)]
        for stream in streams:
            stream.send(database=DATABASE)
            stream.requests.put(None)
            stream.channel.close()
    until(lambda: descriptors() <= before + 5, "the connections to be closed", timeout=30)
    commit(service, "a/b")


def test_an_abandoned_transaction_blocks_only_its_documents_for_a_limited_time(alone):
    service = Service(alone)
    commit(service, "a/read")
    abandoned = service.BeginTransaction(database=DATABASE).transaction
    service.BatchGetDocuments(database=DATABASE, documents=[f"{ROOT}/a/read"], transaction=abandoned)
    outcome = []

    def blocked():
        began = time.monotonic()
        with refused("ABORTED", "Transaction lock timeout."):
            commit(service, "a/read", n=types.Value(integer_value=1))
        outcome.append(time.monotonic() - began)

    waiting = threading.Thread(target=blocked)
    waiting.start()
    assert max(commit(service, f"a/{n}") for n in range(50)) < 2
    waiting.join()
    assert 10 < outcome[0] < 25
    # Its owner continues: the documents that it read are unchanged.
    service.Commit(database=DATABASE, transaction=abandoned, writes=[types.Write(delete=f"{ROOT}/a/read")])


def test_a_flood_of_transactions_is_bounded(alone):
    service = Service(alone)
    refusals = []

    def begin(count):
        for _ in range(count):
            try:
                service.BeginTransaction(database=DATABASE)
            except grpc.RpcError as error:
                refusals.append((error.code(), error.details()))

    threads = [threading.Thread(target=begin, args=(2600,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refusals) == 400
    assert set(refusals) == {(grpc.StatusCode.RESOURCE_EXHAUSTED,
                              "Too many transactions are open on this server. Try again later.")}
    assert max(commit(service, f"a/{n}") for n in range(20)) < 2
