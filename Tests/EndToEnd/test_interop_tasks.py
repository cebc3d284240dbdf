"""Google's own client works on the documents of the tasks that the daemon syncs."""
import os
import threading
from datetime import datetime, timezone

import pytest

from harness import Machine, Server, until

firestore = pytest.importorskip("google.cloud.firestore")


@pytest.fixture
def setting(root, monkeypatch):
    """A machine, and Google's client signed in as its user."""
    server = Server(root, "--emulator")
    server.start()
    laptop = Machine(root, "laptop")
    laptop.start()
    laptop.login(server, create=True)
    laptop.sync()
    monkeypatch.setenv("FIRESTORE_EMULATOR_HOST", server.documents)
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "GOOGLE_APPLICATION_CREDENTIALS"):
        monkeypatch.delenv(name, raising=False)
    client = firestore.Client(project="ferry")
    yield laptop, client, laptop.json("whoami")["account"]["userId"]
    client.close()
    laptop.stop()
    server.stop()


def task(user, title, **fields):
    return {"title": title, "userId": user, "completed": False, "createdTime": firestore.SERVER_TIMESTAMP, **fields}


def of(client, user):
    return client.collection("tasks").where(filter=firestore.FieldFilter("userId", "==", user))


def test_changes_by_the_client_reach_the_files(setting):
    laptop, client, user = setting
    _, reference = client.collection("tasks").add(task(user, "From Google", priority=0, tags=["a"], notes="Line\n"))
    until(lambda: laptop.read("From Google.md"), laptop.daemon.tail)
    assert laptop.read("From Google.md") == "---\npriority: high\ntags: [a]\n---\nLine\n"
    reference.update({"priority": 2, "tags": firestore.ArrayUnion(["b"]), "updatedTime": firestore.SERVER_TIMESTAMP})
    until(lambda: "priority: low\ntags: [a, b]\n" in (laptop.read("From Google.md") or ""), lambda: laptop.files())
    reference.update({"title": "Renamed there"})
    until(lambda: laptop.read("Renamed there.md"), lambda: laptop.files())
    assert laptop.read("From Google.md") is None
    assert laptop.list()["Renamed there"]["id"] == reference.id
    reference.update({"completed": True, "completedTime": firestore.SERVER_TIMESTAMP})
    until(lambda: laptop.list()["Renamed there"].get("completed"), lambda: laptop.list())
    # A hard delete of the document moves the file to the local trash.
    reference.delete()
    until(lambda: laptop.read("Renamed there.md") is None, lambda: laptop.files())


def test_an_attachment_is_downloaded_despite_an_invalid_time_or_mode(setting):
    laptop, client, user = setting
    laptop.ferry("add", "Origin")
    (laptop.tasks / "Origin.files").mkdir()
    (laptop.tasks / "Origin.files/run.sh").write_text("#!/bin/sh\n")
    def known():
        documents = (document.to_dict() for document in of(client, user).stream())
        return [entry for fields in documents for entry in fields.get("attachments", {}).values()]
    until(known, laptop.daemon.tail)
    (entry,) = known()
    odd = {
        "a": {"name": "early.sh", "modifiedTime": datetime(1, 1, 1, tzinfo=timezone.utc), "executable": True},
        "b": {"name": "late.sh", "modifiedTime": datetime(9999, 12, 31, tzinfo=timezone.utc), "executable": "yes"},
        "c": {"name": "../../wrong.sh", "modifiedTime": "yesterday", "executable": 1},
    }
    attachments = {key: entry | values for key, values in odd.items()}
    client.collection("tasks").add(task(user, "Odd", attachments=attachments))
    here = laptop.tasks / "Odd.files"
    until(lambda: here.exists() and len(list(here.iterdir())) == 3, lambda: f"{laptop.files()} {laptop.daemon.tail()}")
    laptop.sync()
    assert {path.read_text() for path in here.iterdir()} == {"#!/bin/sh\n"}
    assert [path.name for path in here.iterdir() if path.stat().st_mode & 0o111] == ["early.sh"]
    assert len(list(laptop.tasks.parent.rglob("*wrong.sh"))) == 1


def test_the_client_reads_tasks_that_files_and_commands_created(setting):
    laptop, client, user = setting
    laptop.write("By file.md", "---\npriority: high\ndue: 2026-12-24\ntags: [x, y]\ncolor: red\n---\nBody\n")
    laptop.write("Work/In a list.md", "")
    identifier = laptop.json("add", "By command", "priority:low")["task"]["id"]
    laptop.sync()
    snapshot = client.document(f"tasks/{identifier}").get()
    assert snapshot.exists and snapshot.get("title") == "By command" and snapshot.get("priority") == 2
    assert snapshot.get("userId") == user and snapshot.get("createdTime") is not None
    tasks = {document.get("title"): document.to_dict() for document in of(client, user).stream()}
    assert set(tasks) == {"By file", "In a list", "By command"}
    by_file = tasks["By file"]
    assert by_file["priority"] == 0 and by_file["tags"] == ["x", "y"] and by_file["notes"] == "Body\n"
    assert by_file["due"].strftime("%Y-%m-%d") == "2026-12-24"
    lists = {document.id: document.get("name") for document in client.collection("lists").stream()}
    assert lists[tasks["In a list"]["listId"]] == "Work"
    urgent = of(client, user).where(filter=firestore.FieldFilter("priority", "==", 0)).order_by("title").limit(5).get()
    assert [document.get("title") for document in urgent] == ["By file"]
    tagged = of(client, user).where(filter=firestore.FieldFilter("tags", "array_contains", "y")).get()
    assert [document.get("title") for document in tagged] == ["By file"]
    assert of(client, user).count().get()[0][0].value == 3


def test_explain_attributes_changes_to_other_programs(setting):
    laptop, client, user = setting
    _, reference = client.collection("tasks").add(task(user, "From Google", priority=0))
    reference.update({"notes": "Line\n"})
    until(lambda: "Line" in (laptop.read("From Google.md") or ""), lambda: laptop.files())
    laptop.ferry("set", "Google", "+mine")
    laptop.sync()
    explained = laptop.json("explain", "Google")
    assert {f["label"]: f["device"] for f in explained["fields"]} == {
        "title": "another program", "completed": "another program", "priority": "another program", "notes": "another program",
        "tags": "laptop"}
    assert not explained.get("remarks")
    reference.update({"tags": ["theirs"]})
    until(lambda: laptop.list()["From Google"]["tags"] == ["theirs"], laptop.list)
    assert "does not report which fields" in laptop.json("explain", "Google")["remarks"][0]


def test_a_listener_receives_changes_of_the_files(setting):
    laptop, client, user = setting
    heard, lock = [], threading.Lock()

    def changed(_, changes, __):
        with lock:
            heard.extend((change.type.name, change.document.get("title"), change.document.get("completed")) for change in changes)

    def has(*event):
        with lock:
            return event in heard

    watch = of(client, user).on_snapshot(changed)
    try:
        laptop.write("Heard.md", "")
        until(lambda: has("ADDED", "Heard", False), lambda: heard)
        laptop.write("Heard.md", "---\ncompleted: true\n---\n")
        until(lambda: has("MODIFIED", "Heard", True), lambda: heard)
        (laptop.tasks / "Heard.md").rename(laptop.tasks / "Renamed.md")
        until(lambda: has("MODIFIED", "Renamed", True), lambda: heard)
    finally:
        watch.unsubscribe()


def test_concurrent_transactions_and_file_edits_lose_nothing(setting):
    laptop, client, user = setting
    identifier = laptop.json("add", "Counter")["task"]["id"]
    laptop.sync()
    reference = client.document(f"tasks/{identifier}")

    @firestore.transactional
    def count(transaction):
        snapshot = reference.get(transaction=transaction)
        fields = (snapshot.to_dict() or {}).get("fields") or {}
        transaction.update(reference, {"fields": {**fields, "count": fields.get("count", 0) + 1}})

    def work():
        for _ in range(5):
            count(client.transaction(max_attempts=50))

    workers = [threading.Thread(target=work) for _ in range(3)]
    for worker in workers:
        worker.start()
    for number in range(10):
        laptop.ferry("set", identifier, f"+tag{number}")
    for worker in workers:
        worker.join()
    laptop.sync()
    until(lambda: "count: 15" in (laptop.read("Counter.md") or ""), lambda: laptop.read("Counter.md"))
    final = reference.get().to_dict()
    assert final["fields"]["count"] == 15
    assert set(final["tags"]) == {f"tag{number}" for number in range(10)}
    assert laptop.status()["conflicts"] == 0


def test_documents_that_lack_fields_or_have_strange_ones_are_tasks_too(setting):
    laptop, client, user = setting
    client.document("tasks/bare").set({"userId": user, "title": "Bare"})
    client.document("tasks/odd").set({
        "userId": user, "title": "Odd", "priority": "urgent", "completed": "yes", "tags": "x", "notes": 5, "isFavorite": True})
    until(lambda: laptop.read("Bare.md") is not None and laptop.read("Odd.md") is not None, lambda: (laptop.files(), laptop.status()))
    laptop.ferry("done", "Bare")
    laptop.sync()
    assert client.document("tasks/bare").get().get("completed") is True
    laptop.write("Odd.md", laptop.read("Odd.md") + "More\n")
    laptop.sync()
    odd = client.document("tasks/odd").get().to_dict()
    assert odd["isFavorite"] is True, "a field that Ferry does not know is kept"


def test_another_users_tasks_are_not_synced(setting):
    laptop, client, user = setting
    client.document("tasks/theirs").set(task("somebody else", "Theirs"))
    client.document("tasks/mine").set(task(user, "Mine"))
    until(lambda: laptop.read("Mine.md") is not None, laptop.daemon.tail)
    assert set(laptop.files()) == {"Mine.md"}


os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
