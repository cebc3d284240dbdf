"""Two servers on one PostgreSQL: each sees what the other commits, and no acknowledged commit is lost when any of them is
killed."""
import random
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import pytest
from google.api_core import exceptions
from harness import BIN, Server, until
from postgres import Postgres


@pytest.fixture
def replicas():
    with tempfile.TemporaryDirectory(prefix="ferry-") as directory:
        root = Path(directory)
        database = Postgres(root / "postgres").start()
        servers = []
        for name in "ab":
            (root / name).mkdir()
            servers.append(Server(root / name, "--emulator", "--database", database.url))
            servers[-1].start()
        yield database, servers
        for server in servers:
            server.stop()
        database.stop()


@pytest.fixture
def client(monkeypatch):
    from google.cloud import firestore

    def connect(server):
        monkeypatch.setenv("FIRESTORE_EMULATOR_HOST", server.documents)
        return firestore.Client(project="ferry")

    return connect


def test_a_listener_of_one_server_sees_the_commits_of_the_other(replicas, client):
    first, second = (client(server) for server in replicas[1])
    seen = {}
    changed = threading.Event()

    def on_snapshot(documents, changes, time):
        for document in documents:
            seen[document.id] = document.get("n")
        changed.set()

    watch = first.collection("notes").on_snapshot(on_snapshot)
    until(changed.is_set, "the first snapshot")
    started = time.monotonic()
    second.document("notes/1").set({"n": 1})
    until(lambda: seen.get("1") == 1, "the commit of the other server", timeout=5)
    assert time.monotonic() - started < 2
    first.document("notes/2").set({"n": 2})
    until(lambda: seen.get("2") == 2, "the commit of its own server", timeout=5)
    assert second.document("notes/2").get().get("n") == 2
    watch.unsubscribe()


def test_transactions_on_both_servers_exclude_each_other(replicas, client):
    from google.cloud import firestore

    clients = [client(server) for server in replicas[1]]
    clients[0].document("counters/1").set({"n": 0})

    def increment(db):
        for _ in range(15):
            @firestore.transactional
            def once(transaction):
                reference = db.document("counters/1")
                number = reference.get(transaction=transaction).get("n")
                transaction.update(reference, {"n": number + 1})

            once(db.transaction(max_attempts=200))

    threads = [threading.Thread(target=increment, args=(db,)) for db in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert clients[1].document("counters/1").get().get("n") == 30


def test_acknowledged_commits_survive_kills_of_servers_and_database(replicas, client):
    database, servers = replicas
    chance = random.Random(1)
    clients = [client(server) for server in servers]
    acknowledged, attempted = {}, {}
    enough = threading.Event()

    def write(worker):
        db = clients[worker % 2]
        number = 0
        while not enough.is_set():
            number += 1
            attempted[worker] = number
            batch = db.batch()
            for half in "ab":
                batch.set(db.document(f"kept/{worker}-{half}"), {"n": number})
            try:
                batch.commit(timeout=5, retry=None)
                acknowledged[worker] = number
            except (exceptions.GoogleAPICallError, exceptions.RetryError):
                time.sleep(0.05)

    threads = [threading.Thread(target=write, args=(worker,)) for worker in range(6)]
    for thread in threads:
        thread.start()
    for round in range(9):
        before = dict(acknowledged)
        until(lambda: all(acknowledged.get(worker, 0) > before.get(worker, 0) for worker in range(6)),
              "commits of every writer", timeout=60)
        victim = round % 3
        if victim == 2:
            database.kill()
            time.sleep(chance.random() / 2)
            database.start()
        else:
            servers[victim].kill()
            time.sleep(chance.random() / 2)
            servers[victim].start()
    enough.set()
    for thread in threads:
        thread.join()
    for db in clients:
        for worker in range(6):
            halves = [db.document(f"kept/{worker}-{half}").get().get("n") for half in "ab"]
            assert halves[0] == halves[1]
            assert acknowledged[worker] <= halves[0] <= attempted[worker]


def test_a_data_directory_with_documents_is_refused(tmp_path):
    server = Server(tmp_path, "--emulator")
    server.start()
    server.stop()
    result = subprocess.run(
        [str(BIN / "ferry-server"), "run", "--data", str(server.data), "--database", "postgres://ferry@/ferry"],
        capture_output=True, text=True, timeout=30)
    assert result.returncode == 78
    assert "has documents of its own" in result.stderr


def test_a_password_in_the_url_is_refused(tmp_path):
    result = subprocess.run(
        [str(BIN / "ferry-server"), "run", "--data", str(tmp_path), "--database", "postgres://a:secret@db/ferry"],
        capture_output=True, text=True, timeout=30)
    assert result.returncode == 78
    assert "database-password" in result.stderr and "secret" not in result.stderr


def test_the_password_comes_from_a_file(tmp_path):
    """The server that asks for it gets it; with another one the start fails."""
    database = Postgres(tmp_path / "postgres").start()
    psql = [str(database.binaries / "psql"), "-h", str(database.root), "-U", "ferry", "-d", "postgres", "-qc"]
    subprocess.run([*psql, "CREATE USER guarded SUPERUSER PASSWORD 'hidden'"], check=True)
    (database.root / "data" / "pg_hba.conf").write_text("local all ferry trust\nlocal all guarded scram-sha-256\n")
    subprocess.run([*psql, "SELECT pg_reload_conf()"], check=True, stdout=subprocess.DEVNULL)
    password = tmp_path / "password"
    url = f"postgres://guarded@/postgres?host={database.root}"
    server = Server(tmp_path / "right", "--database", url, "--database-password", str(password))
    (tmp_path / "right").mkdir()
    password.write_text("hidden\n")
    server.start()
    server.stop()
    password.write_text("wrong\n")
    with pytest.raises(AssertionError):
        server.start()
    assert "hidden" not in server.log.read_text() and "wrong" not in server.log.read_text()
    database.stop()
