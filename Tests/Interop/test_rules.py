"""Security rules that the operator writes, met by Google's client, and the commands that check and test them."""
import json
import signal
import subprocess

import pytest
from google.api_core.exceptions import PermissionDenied
from google.cloud.firestore import DELETE_FIELD
from google.cloud.firestore_v1.base_query import FieldFilter

from conftest import User, started
from harness import BIN, until

RULES = """rules_version = '2';
service cloud.firestore {
  match /databases/{database}/documents {
    match /notes/{note} {
      allow read: if resource.data.owner == request.auth.uid || resource.data.public == true;
      allow create: if request.resource.data.owner == request.auth.uid
        && request.resource.data.text.matches('[a-z ]{1,20}');
      allow update: if resource.data.owner == request.auth.uid
        && request.resource.data.diff(resource.data).affectedKeys().hasOnly(['text', 'public']);
    }
    match /rooms/{room}/messages/{message} {
      allow read, create: if exists(/databases/$(database)/documents/rooms/$(room)/members/$(request.auth.uid));
    }
    match /rooms/{room}/members/{member} {
      allow create: if member == request.auth.uid;
    }
  }
}
"""


@pytest.fixture
def ruled(tmp_path):
    path = tmp_path / "firestore.rules"
    path.write_text(RULES)
    for server in started("--rules", str(path)):
        server.rules = path
        yield server


def test_rules_decide_about_googles_client(ruled):
    ann, bob = User(ruled), User(ruled)
    mine = ann.db().collection("notes").document("a")
    mine.create({"owner": ann.id, "text": "oat milk", "public": False})
    assert mine.get().to_dict()["text"] == "oat milk"
    for refused in (
        lambda: bob.db().document("notes/a").get(),
        lambda: bob.db().document("notes/b").create({"owner": ann.id, "text": "x"}),
        lambda: bob.db().document("notes/b").create({"owner": bob.id, "text": "NO"}),
        lambda: bob.db().document("notes/a").update({"text": "mine now"}),
        lambda: mine.update({"owner": bob.id}),
        lambda: mine.update({"owner": DELETE_FIELD}),
        lambda: mine.delete(),
        lambda: ann.db().document("elsewhere/a").set({}),
        lambda: list(ann.db().collections()),
    ):
        with pytest.raises(PermissionDenied):
            refused()
    notes = bob.db().collection("notes")
    with pytest.raises(PermissionDenied):
        list(notes.stream())
    with pytest.raises(PermissionDenied):
        list(notes.where(filter=FieldFilter("owner", "==", ann.id)).stream())
    public = notes.where(filter=FieldFilter("public", "==", True))
    assert list(public.stream()) == []
    mine.update({"public": True})
    assert [note.id for note in public.stream()] == ["a"]
    assert public.count().get()[0][0].value == 1


def test_a_listener_ends_when_its_condition_does(ruled):
    """A member who listens sees what comes; nobody else can listen."""
    ann, bob = User(ruled), User(ruled)
    ann.db().document(f"rooms/r/members/{ann.id}").create({})
    seen = []
    messages = ann.db().collection("rooms/r/messages")
    watch = messages.on_snapshot(lambda documents, changes, time: seen.append({document.id for document in documents}))
    until(lambda: seen, lambda: "no first snapshot")
    messages.document("m").create({"text": "hello"})
    until(lambda: {"m"} in seen, lambda: f"{seen}")
    watch.unsubscribe()
    with pytest.raises(PermissionDenied):
        bob.db().document("rooms/r/messages/m").get()


def test_a_reload_replaces_the_rules_or_keeps_them(ruled):
    ann = User(ruled)
    ann.db().document("notes/a").create({"owner": ann.id, "text": "x"})
    ruled.rules.write_text(RULES.replace("allow update: if", "allow update: if fals"))
    ruled.process.send_signal(signal.SIGHUP)
    until(lambda: "firestore.rules:8:" in ruled.tail(20), lambda: ruled.tail(20))
    ann.db().document("notes/a").update({"text": "y"})
    ruled.rules.write_text(RULES.replace("allow update: if", "allow update: if false &&"))
    ruled.process.send_signal(signal.SIGHUP)

    def is_refused():
        try:
            ann.db().document("notes/a").update({"text": "z"})
        except PermissionDenied:
            return True

    until(is_refused, lambda: ruled.tail(20))


def run(*words):
    return subprocess.run([BIN / "ferry-server", *map(str, words)], capture_output=True, text=True, timeout=30)


def test_mistakes_are_named_before_the_server_starts(tmp_path):
    path = tmp_path / "firestore.rules"
    path.write_text(RULES.replace("request.auth.uid", "requst.auth.uid", 1))
    for words in (["rules", "check", path], ["run", "--data", tmp_path / "data", "--rules", path]):
        ended = run(*words)
        assert ended.returncode in (1, 78), ended
        assert f"{path}:5:45: \"requst\" is not a variable here." in ended.stderr, ended
    path.write_text(RULES)
    assert run("rules", "check", path).stdout == f"{path}: no mistakes\n"


def test_cases_are_decided_by_command(tmp_path):
    rules, cases = tmp_path / "firestore.rules", tmp_path / "cases.json"
    rules.write_text(RULES)
    note = {"owner": "ann", "text": "x"}
    right = [
        {"name": "owners read", "allow": True, "method": "get", "path": "notes/1", "auth": {"uid": "ann"}, "before": note},
        {"name": "others do not", "allow": False, "method": "get", "path": "notes/1", "auth": {"uid": "bob"}, "before": note},
        {"name": "members list", "allow": True, "method": "list", "path": "rooms/r/messages", "auth": {"uid": "ann"},
         "documents": {"rooms/r/members/ann": {}}},
        {"name": "owners list", "allow": True, "method": "list", "path": "notes", "auth": {"uid": "ann"},
         "query": {"where": [["owner", "==", "ann"]]}},
    ]
    cases.write_text(json.dumps(right))
    ended = run("rules", "test", rules, cases)
    assert (ended.returncode, ended.stdout) == (0, "4 cases, 0 failed\n"), ended
    cases.write_text(json.dumps([{**right[0], "allow": False}, {**right[1], "allow": True}]))
    ended = run("rules", "test", rules, cases)
    assert ended.returncode == 1
    assert ended.stdout.splitlines() == [
        "owners read: allowed, expected to be denied", "others do not: denied, expected to be allowed",
        "  line 5, column 78: There is no \"public\" here.", "2 cases, 2 failed",
    ]
