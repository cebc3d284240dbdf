"""`ferry-server` as a program: its configuration, its output and its end."""
import json
import os
import signal
import socket
import sqlite3
import stat
import subprocess
import urllib.request
from pathlib import Path

import pytest
from conftest import BIN, Refused, User, administrator_keys, call, s3_client
from harness import Server, until


def run(*arguments, input=None, **environment):
    return subprocess.run([str(BIN / "ferry-server"), *map(str, arguments)], input=input, text=True, capture_output=True,
                          timeout=30, env={**os.environ, **environment})


@pytest.fixture
def root():
    import tempfile

    with tempfile.TemporaryDirectory(prefix="ferry-") as directory:
        yield Path(directory)


@pytest.fixture
def fresh(root):
    server = Server(root)
    server.start()
    yield server
    if server.running:
        server.stop()


def test_discovery_names_every_endpoint(server):
    document = call(f"{server.url}/.well-known/ferry")
    assert document["project"] == "ferry" and document["database"] == "(default)" and document["version"]
    assert document["documents"] == {"address": server.documents, "tls": False}
    assert document["objects"] == {"url": server.url, "bucket": "ferry", "region": "us-east-1", "keys": "sts"}
    assert document["identity"]["url"] == server.url and len(document["identity"]["accounts"]) == 32
    assert document["sts"] == {"url": server.url}
    with urllib.request.urlopen(f"{server.url}/healthz") as answer:
        assert answer.read() == b"ok\n"
    with urllib.request.urlopen(server.url) as answer:
        assert f"ferry login {server.url}" in answer.read().decode()


def test_discovery_uses_the_name_that_the_client_used(root):
    server = Server(root, "--insecure")
    server.documents, server.url = "0.0.0.0:0", "http://0.0.0.0:0"
    server.start()
    port, documents = server.url.rsplit(":", 1)[1], server.documents.rsplit(":", 1)[1]
    document = call(f"http://127.0.0.1:{port}/.well-known/ferry", headers={"Host": f"tasks.home:{port}"})
    assert document["documents"]["address"] == f"tasks.home:{documents}"
    assert document["objects"]["url"] == f"http://tasks.home:{port}"
    for bad in ["a b", "x/y", "<script>", ""]:
        document = call(f"http://127.0.0.1:{port}/.well-known/ferry", headers={"Host": bad})
        assert bad == "" or bad not in json.dumps(document)
    server.stop()


def test_the_data_directory_is_private(fresh):
    for path in [fresh.data, *fresh.data.rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_flags_and_file_agree_and_flags_win(root):
    file = root / "server.yaml"
    file.write_text(f"data: {root}/server\nhttp: 127.0.0.1:0\ndocuments: 127.0.0.1:0\nproject: other\nemulator: true\n")
    server = Server(root)
    program = [str(BIN / "ferry-server"), "--config", str(file), "--project", "mine"]
    process = subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    url = process.stdout.readline().split()[1]
    assert call(f"{url}/.well-known/ferry")["project"] == "mine"
    process.send_signal(signal.SIGTERM)
    # The ready line is the only one.
    assert process.stdout.read() == "" and process.wait(10) == 0
    assert server.data.exists()


@pytest.mark.parametrize("arguments, file, message", [
    (["--documnts", "x:1"], None, "did you mean '--documents'"),
    (["--http", "nonsense"], None, "HOST:PORT"),
    (["--http", "127.0.0.1:70000"], None, "HOST:PORT"),
    (["--tls-cert", "a.pem"], None, "tls-key"),
    (["--tls-cert", "/nowhere/a.pem", "--tls-key", "/nowhere/b.pem"], None, "/nowhere/a.pem"),
    (["--emulator", "--http", "0.0.0.0:0"], None, "loopback"),
    (["--emulator", "--documents", "[::]:0"], None, "loopback"),
    (["--project", "Not A Project"], None, "lower-case"),
    (["--config", "/nowhere.yaml"], None, "/nowhere.yaml"),
    ([], "htp: 127.0.0.1:0\n", 'did you mean "http"'),
    ([], "http: [1, 2]\n", "line 1"),
    ([], "emulator: perhaps\n", "true or false"),
    ([], "http: {\n", "line"),
    ([], "log-level: loud\n", "debug"),
])
def test_bad_configuration_is_named_and_ends_with_78(root, arguments, file, message):
    if file is not None:
        (root / "c.yaml").write_text(file)
        arguments = [*arguments, "--config", root / "c.yaml"]
    result = run("run", "--data", root / "data", *arguments)
    assert result.returncode == 78 and message in result.stderr and result.stdout == ""
    assert not (root / "data").exists()


def test_a_second_server_on_the_same_data_is_refused(fresh):
    result = run("run", "--data", fresh.data, "--http", "127.0.0.1:0", "--documents", "127.0.0.1:0")
    assert result.returncode == 1 and f"process {fresh.process.pid}" in result.stderr and str(fresh.data) in result.stderr


@pytest.mark.parametrize("port", ["--http", "--documents"])
def test_a_port_in_use_is_named_with_the_remedy(root, port):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        other = "--documents" if port == "--http" else "--http"
        result = run("run", "--data", root / "data", port, address, other, "127.0.0.1:0")
    assert result.returncode == 1 and address in result.stderr and "another port" in result.stderr
    assert result.stdout == ""


def test_sigterm_ends_it_within_five_seconds_with_listeners_open(root, monkeypatch):
    import queue
    import time

    from google.cloud import firestore

    server = Server(root, "--emulator")
    server.start()
    monkeypatch.setenv("FIRESTORE_EMULATOR_HOST", server.documents)
    heard = queue.Queue()
    watches = [firestore.Client(project="ferry").collection("tasks").on_snapshot(lambda *_: heard.put(1)) for _ in range(3)]
    for _ in watches:
        heard.get(timeout=20)
    with socket.create_connection(("127.0.0.1", int(server.url.rsplit(":", 1)[1]))):
        began = time.monotonic()
        assert server.stop() == 0
        assert time.monotonic() - began < 5
    # The listeners reconnect automatically.
    server.start()
    firestore.Client(project="ferry").collection("tasks").add({"n": 1})
    heard.get(timeout=30)
    for watch in watches:
        watch.unsubscribe()
    server.stop()


def test_tokens_and_data_survive_a_restart(fresh):
    user = User(fresh, email="me@example.org", password="correct horse")
    _, reference = user.db().collection("tasks").add({"userId": user.id})
    user.s3().put_object(Bucket="ferry", Key=f"{user.id}/a", Body=b"kept")
    assert fresh.stop() == 0
    fresh.start()
    assert user.db().document(reference.path).get().exists
    assert user.s3().get_object(Bucket="ferry", Key=f"{user.id}/a")["Body"].read() == b"kept"


def test_users_are_added_listed_and_disabled_while_the_server_runs(fresh):
    data = ["--data", fresh.data]
    assert run("user", "add", "me@example.org", "--password-stdin", *data, input="correct horse\n").returncode == 0
    result = run("user", "add", "me@example.org", "--password-stdin", *data, input="correct horse\n")
    assert result.returncode == 1 and "exists already" in result.stderr
    assert run("user", "add", "b@example.org", "--password-stdin", *data, input="short\n").returncode == 1

    def sign_in():
        return call(f"{fresh.url}/v1/accounts:signInWithPassword", {"email": "me@example.org", "password": "correct horse"})

    token = sign_in()["idToken"]
    assert run("user", "list", *data).stdout.split("\t")[0] == "me@example.org"
    assert "disabled" in run("user", "disable", "me@example.org", *data).stdout
    with pytest.raises(Refused, match="USER_DISABLED"):
        sign_in()
    until(lambda: refuses(fresh, token), "the running server to refuse the token")
    assert run("user", "disable", "nobody@example.org", *data).returncode == 1
    assert "active" in run("user", "disable", "--undo", "me@example.org", *data).stdout
    sign_in()


def refuses(server, token):
    try:
        call(f"{server.url}/v1/accounts:lookup", {"idToken": token})
    except Refused:
        return True


def test_keys_are_removed_while_the_server_runs(fresh):
    key, secret = administrator_keys(fresh, "backup job")
    client = s3_client(fresh, key, secret)

    def works():
        try:
            return client.list_buckets()["Buckets"][0]["Name"] == "ferry"
        except client.exceptions.ClientError:
            return False

    until(works, "the key to work")
    assert run("keys", "list", "--data", fresh.data).stdout == f"{key}\tbackup job\n"
    assert run("keys", "remove", key, "--data", fresh.data).returncode == 0
    until(lambda: not works(), "the key to be refused")
    assert run("keys", "remove", key, "--data", fresh.data).returncode == 1


def test_both_ports_speak_tls(root):
    import grpc
    import ssl

    key, certificate = root / "key.pem", root / "cert.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-days", "1",
                    "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
                   check=True, capture_output=True)
    server = Server(root, "--tls-cert", certificate, "--tls-key", key)
    server.start()
    assert server.url.startswith("https://")
    context = ssl.create_default_context(cafile=str(certificate))
    with urllib.request.urlopen(f"{server.url}/.well-known/ferry", context=context) as answer:
        assert json.loads(answer.read())["documents"] == {"address": server.documents, "tls": True}
    channel = grpc.secure_channel(server.documents, grpc.ssl_channel_credentials(certificate.read_bytes()))
    with pytest.raises(grpc.RpcError) as error:
        channel.unary_unary("/google.firestore.v1.Firestore/GetDocument")(b"")
    assert error.value.code() == grpc.StatusCode.UNAUTHENTICATED
    assert server.stop() == 0


def test_help_manual_and_completions_come_from_one_declaration():
    assert "Usage: ferry-server" in run("--help").stdout
    assert "--documents HOST:PORT" in run("run", "--help").stdout
    manual = run("manual").stdout
    assert manual.startswith('.TH "FERRY\\-SERVER" 8') and "tls\\-cert" in manual
    for shell in ("bash", "zsh", "fish"):
        assert "ferry-server" in run("completion", shell).stdout
    assert run("--version").stdout.startswith("ferry-server ")


def test_a_backup_of_a_running_server_restores_everything(root, fresh):
    user = User(fresh, email="me@example.org", password="correct horse")
    _, reference = user.db().collection("tasks").add({"userId": user.id, "title": "kept"})
    user.s3().put_object(Bucket="ferry", Key=f"{user.id}/a", Body=b"kept")
    result = run("backup", root / "backup", "--data", fresh.data)
    assert result.returncode == 0 and "1 objects" in result.stdout, result.stderr
    reference.update({"title": "later"})
    assert run("backup", root / "backup", "--data", fresh.data).returncode == 1
    fresh.stop()
    assert run("restore", root / "backup", "--data", fresh.data).returncode == 1
    result = run("restore", root / "backup", "--data", root / "restored")
    assert result.returncode == 0, result.stderr
    fresh.data = root / "restored"
    fresh.start()
    user = User.__new__(User)
    user.server = fresh
    answer = call(f"{fresh.url}/v1/accounts:signInWithPassword", {"email": "me@example.org", "password": "correct horse"})
    user.id, user.token = answer["localId"], answer["idToken"]
    assert user.db().document(reference.path).get().get("title") == "kept"
    assert user.s3().get_object(Bucket="ferry", Key=f"{user.id}/a")["Body"].read() == b"kept"


def test_check_finds_damage(root, fresh):
    user = User(fresh)
    # Large objects have their own files, small ones are in a segment.
    for n in range(3):
        user.s3().put_object(Bucket="ferry", Key=f"{user.id}/large-{n}", Body=b"x" * 300_000)
        user.s3().put_object(Bucket="ferry", Key=f"{user.id}/small-{n}", Body=b"x" * 1000)
    result = run("check", "--objects", "--data", fresh.data)
    assert (result.returncode, result.stdout) == (0, f"{fresh.data} is undamaged\n")
    changed, shortened, gone = [path for path in (fresh.data / "objects" / "files").rglob("*") if path.is_file()]
    changed.write_bytes(b"y" * 300_000)
    shortened.write_bytes(b"x" * 299_999)
    gone.unlink()
    [segment] = (fresh.data / "objects" / "segments").iterdir()
    with segment.open("r+b") as file:
        # An object follows the first 128 bytes of its blocks.
        for offset, damage in ((4096 + 128 + 500, b"y"), (8192, bytes(4096))):
            file.seek(offset)
            file.write(damage)
    result = run("check", "--objects", "--data", fresh.data)
    assert result.returncode == 1 and len(result.stdout.splitlines()) == 5
    for name in (changed.name, shortened.name, gone.name, "segments/1 at 4096", "segments/1 at 8192"):
        assert name in result.stdout
    # An old backup must not be restored over data that machines still have.
    assert "uploads it again" in result.stderr
    assert len(run("check", "--data", fresh.data).stdout.splitlines()) == 3
    fresh.stop()
    database = fresh.data / "documents" / "main.db"
    user_tasks = [f"tasks/{n}" for n in range(3)]
    fresh.start()
    owner = User(fresh)
    for path in user_tasks:
        owner.db().document(path).set({"userId": owner.id, "title": path})
    # The server is running, so its index may be behind its documents.
    assert "main.db" not in run("check", "--data", fresh.data).stdout
    fresh.stop()
    with sqlite3.connect(database) as connection:
        # With so few documents all entries are in the table of recent ones.
        connection.execute("DELETE FROM recent WHERE row = (SELECT max(row) FROM recent)")
    assert "documents/main.db: tasks/2 lacks an index entry." in run("check", "--data", fresh.data).stdout
    database.write_bytes(database.read_bytes()[:8192] + b"\xff" * 8192)
    assert "documents/main.db" in run("check", "--data", fresh.data).stdout
    result = run("check", "--data", root / "nowhere")
    assert result.returncode == 1 and "no server data" in result.stderr


def test_documents_are_exported_and_imported_as_lines_of_json(root, fresh):
    user = User(fresh)
    db = user.db()
    db.document("tasks/a").set({"userId": user.id, "n": 2**60, "d": 0.5, "b": b"\x00\xff", "l": [None, {"x": "é\n"}]})
    db.document("tasks/a/notes/1").set({"text": "below"})
    result = run("export", "--data", fresh.data)
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert [line["name"].split("/documents/")[1] for line in lines] == ["tasks/a", "tasks/a/notes/1"]
    assert lines[0]["fields"]["n"] == {"integerValue": str(2**60)} and lines[0]["updateTime"].endswith("Z")
    assert "2 documents" in run("export", root / "all.ndjson", "--data", fresh.data).stdout
    assert run("import", root / "all.ndjson", "--data", fresh.data).returncode == 1  # A server runs on it.
    db.document("tasks/a").update({"n": 1})
    before = db.document("tasks/b")
    before.set({"userId": user.id})
    fresh.stop()
    result = run("import", root / "all.ndjson", "--data", fresh.data)
    assert result.returncode == 0 and "2 documents" in result.stdout, result.stderr
    fresh.start()
    assert db.document("tasks/a").get().to_dict() == {
        "userId": user.id, "n": 2**60, "d": 0.5, "b": b"\x00\xff", "l": [None, {"x": "é\n"}]}
    assert before.get().exists
    fresh.stop()
    good, bad = (root / "all.ndjson").read_text(), root / "bad.ndjson"
    for damage in ["{", '{"name": "x"}', good.splitlines()[0].replace("projects/ferry", "projects/other")]:
        bad.write_text(good.replace("2**60", "7") + damage + "\n")
        result = run("import", bad, "--data", root / "empty")
        assert result.returncode == 1 and "bad.ndjson" in result.stderr
        assert run("export", "--data", root / "empty").stdout == ""


def test_collecting_reports_that_another_bucket_is_unchanged(fresh, root):
    file = root / "server.yaml"
    file.write_text(f"data: {fresh.data}\nobjects: https://s3.example.org/tasks\n")
    for command in ("check", "gc"):
        for options in (["--config", file], ["--data", fresh.data, "--objects", "https://s3.example.org/tasks"]):
            told = run("objects", command, *options)
            assert told.returncode == 0 and "no keys for it" in told.stderr, told
            assert "in https://s3.example.org/tasks:" in told.stdout
        assert run("objects", command, "--data", fresh.data).stderr == ""
