"""The Listen and Write streams as the mobile clients use them: tokens, resumption, permissions."""
import subprocess
import tempfile
from pathlib import Path

import grpc
import pytest
from conftest import BIN, Stream, User, firestore_client
from google.api_core.exceptions import ResourceExhausted
from google.cloud.firestore_v1 import types
from harness import Server

DATABASE = "projects/ferry/databases/(default)"


@pytest.fixture
def open_stream():
    opened = []

    def start(*arguments):
        opened.append(Stream(*arguments))
        return opened[-1]

    yield start
    for stream in opened:
        stream.close()


def increment(path):
    return types.Write(
        update=types.Document(name=f"{DATABASE}/documents/{path}"), update_mask=types.DocumentMask(),
        update_transforms=[types.DocumentTransform.FieldTransform(field_path="n", increment=types.Value(integer_value=1))])


def test_a_batch_that_is_sent_again_after_a_lost_answer_is_applied_once(open_stream):
    with tempfile.TemporaryDirectory(prefix="ferry-") as directory:
        server = Server(Path(directory), "--emulator")
        server.start()
        stream = open_stream(server, "Write")
        stream.send(database=DATABASE)
        opening = stream.next()
        assert opening.stream_id and opening.stream_token
        stream.send(stream_token=opening.stream_token, writes=[increment("a/1")])
        first = stream.next()
        stream.send(stream_token=opening.stream_token, writes=[increment("a/1")])
        second = stream.next()
        assert [r.write_results[0].transform_results[0].integer_value for r in (first, second)] == [1, 2]
        # The responses are lost, and the server is killed.
        server.kill()
        server.start()
        again = open_stream(server, "Write")
        again.send(database=DATABASE, stream_id=opening.stream_id, stream_token=opening.stream_token)
        assert again.next().stream_id == opening.stream_id
        for lost in (first, second):
            again.send(writes=[increment("a/1")])
            answer = again.next()
            assert (answer.commit_time, answer.stream_token) == (lost.commit_time, lost.stream_token)
            assert answer.write_results == lost.write_results
        again.send(writes=[increment("a/1")])
        assert again.next().write_results[0].transform_results[0].integer_value == 3
        # Resuming from the last response that arrived repeats nothing.
        later = open_stream(server, "Write")
        later.send(database=DATABASE, stream_id=opening.stream_id, stream_token=second.stream_token)
        later.next()
        later.send(writes=[increment("a/2")])
        with pytest.raises(grpc.RpcError) as error:
            later.next()
        assert error.value.code() == grpc.StatusCode.INVALID_ARGUMENT
        foreign = open_stream(server, "Write")
        foreign.send(database=DATABASE, stream_id="somebody's", stream_token=b"somebody's:1")
        with pytest.raises(grpc.RpcError) as error:
            foreign.next()
        assert error.value.code() == grpc.StatusCode.INVALID_ARGUMENT
        server.stop()


def listen_to(stream, *paths, target=2, **fields):
    names = [f"{DATABASE}/documents/{path}" for path in paths]
    stream.send(database=DATABASE, add_target=types.Target(
        documents=types.Target.DocumentsTarget(documents=names), target_id=target, **fields))


def told(stream):
    """Reads the messages up to the next boundary or removal."""
    said = []
    while True:
        answer = stream.next()
        change = answer.target_change
        if "document_change" in answer:
            said.append(("changed", answer.document_change.document.name.rsplit("/", 1)[1]))
        elif "document_delete" in answer:
            said.append(("deleted", answer.document_delete.document.rsplit("/", 1)[1]))
        elif "filter" in answer:
            said.append(("filter", answer.filter.count, answer.filter.unchanged_names.hash_count > 0))
        elif change.target_change_type == types.TargetChange.TargetChangeType.REMOVE:
            return said + [("removed", change.cause.code)]
        elif change.target_change_type == types.TargetChange.TargetChangeType.NO_CHANGE:
            stream.token = change.resume_token
            return said


def test_a_user_listens_to_single_documents_that_are_its_own(server, user, other, open_stream):
    db = user.db()
    mine, theirs = db.collection("tasks").document(), other.db().collection("tasks").document()
    theirs.set({"userId": other.id})
    stream = open_stream(server, "Listen", user.token)
    listen_to(stream, mine.path)
    assert told(stream) == [("deleted", mine.id)]
    mine.set({"userId": user.id})
    assert told(stream) == [("changed", mine.id)]
    child = mine.collection("history").document("1")
    listen_to(stream, child.path, target=4)
    assert told(stream) == [("deleted", "1")]
    child.set({"text": "x"})
    assert told(stream) == [("changed", "1")]
    listen_to(stream, theirs.path, target=6)
    assert told(stream) == [("removed", 7)]
    listen_to(stream, f"{theirs.path}/history/1", target=8)
    assert told(stream) == [("removed", 7)]
    mine.delete()
    assert told(stream) == [("deleted", mine.id)]


def test_a_listener_loses_a_document_that_changes_owner(server, user, other, open_stream):
    name = user.db().collection("tasks").document()
    stream = open_stream(server, "Listen", user.token)
    listen_to(stream, name.path)
    assert told(stream) == [("deleted", name.id)]
    listen_to(stream, "tasks/some-other-name", target=4)
    assert told(stream) == [("deleted", "some-other-name")]
    other.db().document(name.path).set({"userId": other.id, "secret": "x"})
    assert told(stream) == [("removed", 7)]
    # The stream and its other targets continue.
    user.db().document("tasks/some-other-name").set({"userId": user.id})
    while (said := told(stream)) == []:
        pass
    assert said == [("changed", "some-other-name")]
    user.db().document("tasks/some-other-name").delete()


def test_a_resuming_listener_with_too_many_documents_gets_a_filter(emulator, db, collection, open_stream):
    for n in range(3):
        collection.document(str(n)).set({"n": n})
    paths = [f"{collection.id}/{n}" for n in range(3)]
    stream = open_stream(emulator, "Listen")
    listen_to(stream, *paths)
    assert sorted(told(stream)) == [("changed", "0"), ("changed", "1"), ("changed", "2")]
    collection.document("2").delete()
    for expected, has_names in [(3, False), (5, True)]:
        resumed = open_stream(emulator, "Listen")
        listen_to(resumed, *paths, resume_token=stream.token, expected_count=expected)
        assert told(resumed) == [("deleted", "2"), ("filter", 2, has_names)]


def test_the_streams_of_a_disabled_account_end():
    with tempfile.TemporaryDirectory(prefix="ferry-") as directory:
        server = Server(Path(directory))
        server.start()
        user = User(server, email="me@example.org", password="correct horse")
        listening, writing = Stream(server, "Listen", user.token), Stream(server, "Write", user.token)
        listen_to(listening, "tasks/1")
        told(listening)
        writing.send(database=DATABASE)
        writing.next()
        subprocess.run([str(BIN / "ferry-server"), "user", "disable", "me@example.org", "--data", str(server.data)],
                       check=True, capture_output=True)
        for stream in (listening, writing):
            with pytest.raises(grpc.RpcError) as error:
                stream.next()
            assert error.value.code() == grpc.StatusCode.UNAUTHENTICATED
            stream.close()
        server.stop()


def test_explain_reports_the_index_and_the_work(emulator, collection):
    from google.cloud import firestore
    from google.cloud.firestore_v1.base_query import FieldFilter
    from google.cloud.firestore_v1.query_profile import ExplainOptions

    client = firestore_client(emulator.documents, "owner")
    batch = client.batch()
    for n in range(50):
        batch.set(client.collection(collection.id).document(f"{n:02}"), {"n": n, "even": n % 2 == 0})
    batch.commit()
    query = client.collection(collection.id).where(filter=FieldFilter("n", ">=", 45)).order_by(
        "n", direction=firestore.Query.DESCENDING)
    planned = query.get(explain_options=ExplainOptions(analyze=False))
    assert list(planned) == []
    plan = planned.get_explain_metrics().plan_summary.indexes_used
    assert [dict(index) for index in plan] == [{"query_scope": "Collection", "properties": "(n DESC, __name__ DESC)"}]
    run = query.get(explain_options=ExplainOptions(analyze=True))
    assert [d.get("n") for d in run] == [49, 48, 47, 46, 45]
    metrics = run.get_explain_metrics()
    assert metrics.execution_stats.results_returned == 5 and metrics.execution_stats.read_operations == 5
    assert metrics.execution_stats.debug_stats["documents_scanned"] == "5"
    assert metrics.execution_stats.debug_stats["index_entries_scanned"] == "5"
    count = query.count().get(explain_options=ExplainOptions(analyze=True))
    assert count[0][0].value == 5
    assert count.get_explain_metrics().execution_stats.debug_stats["index_entries_scanned"] == "5"


@pytest.mark.parametrize("compression", [grpc.Compression.Gzip, grpc.Compression.Deflate])
def test_a_client_may_compress_what_it_sends(emulator, name, compression):
    documents = firestore_client(emulator.documents, "owner", compression=compression).collection(name)
    text = "the same words again and again " * 10_000
    documents.document("long").set({"text": text})
    documents.document("short").set({"text": "x"})
    assert {found.id: found.to_dict()["text"] for found in documents.stream()} == {"long": text, "short": "x"}


def test_a_message_that_is_too_large_only_when_decompressed_is_refused(emulator, name):
    documents = firestore_client(emulator.documents, "owner", compression=grpc.Compression.Gzip).collection(name)
    with pytest.raises(ResourceExhausted):
        documents.document("bomb").set({"text": "x" * (100 << 20)}, retry=None)
    documents.document("after").set({"text": "x"})
    assert documents.document("after").get().exists
