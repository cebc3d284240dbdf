"""Two servers on one PostgreSQL as their users know them: accounts, tokens and machines of one are those of the other."""
import base64
import json
import subprocess
import time
import urllib.error
import urllib.request

import pytest

from harness import BIN, PASSWORD, Machine, Server, agree, until
from postgres import Postgres

URL = "https://tasks.example.org"


@pytest.fixture
def database(root):
    database = Postgres(root / "postgres").start()
    yield database
    database.stop()


@pytest.fixture
def replicas(root, database):
    """Two servers, each with a data directory of its own."""
    servers = []
    for name in "ab":
        (root / name).mkdir()
        servers.append(Server(root / name, "--database", database.url))
        servers[-1].start()
    yield servers
    for server in servers:
        server.stop()


def call(url, body=None, token=None):
    """Returns the status and the JSON of a response."""
    headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})}
    request = urllib.request.Request(url, json.dumps(body).encode() if body is not None else None, headers)
    try:
        with urllib.request.urlopen(request, timeout=10) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read() or b"null")


def administer(database, *words):
    """Runs a command of an administrator, and returns its output. `database` is a cluster or a URL."""
    url = database if isinstance(database, str) else database.url
    result = subprocess.run([str(BIN / "ferry-server"), *words, "--database", url], capture_output=True, text=True,
                            timeout=60)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_machines_on_two_servers_have_the_same_tasks(root, replicas):
    laptop, desk = Machine(root, "laptop"), Machine(root, "desk")
    try:
        for machine, server, create in ((laptop, replicas[0], True), (desk, replicas[1], False)):
            machine.start()
            machine.login(server, create=create)
        laptop.write("Buy milk.md", "Oat\n")
        until(lambda: desk.read("Buy milk.md") == "Oat\n", "the task of the other server's machine")
        desk.write("Call Anna.md", "Tomorrow\n")
        until(lambda: laptop.read("Call Anna.md") == "Tomorrow\n", "the task of the other server's machine")
        # A server that is killed takes nothing along, and its machine goes on when it is back.
        replicas[0].kill()
        desk.write("Written meanwhile.md", "")
        desk.sync()
        laptop.write("Written alone.md", "")
        replicas[0].start()
        agree(laptop, desk, timeout=60)
        assert set(desk.list()) == {"Buy milk", "Call Anna", "Written meanwhile", "Written alone"}
    finally:
        for machine in (laptop, desk):
            if machine.daemon.running:
                machine.stop()


def test_machines_go_on_after_the_database_was_killed(root, database, replicas):
    laptop, desk = Machine(root, "laptop"), Machine(root, "desk")
    try:
        for machine, server, create in ((laptop, replicas[0], True), (desk, replicas[1], False)):
            machine.start()
            machine.login(server, create=create)
        for round in range(3):
            laptop.write(f"Before {round}.md", "")
            database.kill()
            desk.write(f"During {round}.md", "")
            database.start()
            agree(laptop, desk, timeout=60)
        assert len(desk.list()) == 6
    finally:
        for machine in (laptop, desk):
            if machine.daemon.running:
                machine.stop()


def test_machines_go_on_with_the_standby_after_a_failover(root, database):
    """What a machine has synced is there after the primary has died, and no machine takes the new one for a server that was put
    back."""
    standby = Postgres(root / "standby", primary=database).start()
    database.wait_for_standby()
    url = f"postgres://ferry@/postgres?host={database.root},{standby.root}"
    servers, machines = [], []
    try:
        for name in "ab":
            (root / name).mkdir()
            servers.append(Server(root / name, "--database", url))
            servers[-1].start()
        for number, name in enumerate(["laptop", "desk"]):
            machines.append(Machine(root, name))
            machines[-1].start()
            machines[-1].login(servers[number], create=number == 0)
        laptop, desk = machines
        for number in range(20):
            laptop.write(f"Before {number}.md", "")
        laptop.sync()
        database.kill()
        desk.write("Meanwhile.md", "")
        started = time.monotonic()
        standby.promote()
        agree(laptop, desk, timeout=60)
        # An account is there too, and a new one can be made.
        assert "me@example.org" in administer(url, "user", "list")
        administer(url, "user", "add", "anna@example.org")
        assert len(desk.list()) == 21
        assert "held" not in laptop.ferry("status") and time.monotonic() - started < 30
        assert "undamaged" in administer(url, "check")
    finally:
        for program in [*(machine.daemon for machine in machines), *servers]:
            if program.running:
                program.stop()
        standby.stop()
        database.start()


def test_tokens_and_keys_of_one_server_are_valid_at_the_other(root, database):
    servers = []
    for name in "ab":
        (root / name).mkdir()
        # Behind one proxy, both issue tokens in the name of its URL.
        servers.append(Server(root / name, "--database", database.url, "--url", URL, "--sign-up", "open"))
        servers[-1].start()
        servers[-1].local = next(
            json.loads(line)["http"] if line.startswith("{") else line.split("http=", 1)[1].split()[0].strip('"')
            for line in servers[-1].log.read_text().splitlines() if "http" in line and "127.0.0.1" in line)
    first, second = (f"http://{server.local}" for server in servers)
    try:
        status, account = call(f"{first}/v1/accounts:signUp", {"email": "me@example.org", "password": PASSWORD})
        assert status == 200, account
        status, refreshed = call(
            f"{second}/v1/token", {"grant_type": "refresh_token", "refresh_token": account["refreshToken"]})
        assert status == 200, refreshed
        for server in (first, second):
            for token in (account["idToken"], refreshed["id_token"]):
                status, found = call(f"{server}/v1/accounts:lookup", {"idToken": token})
                assert status == 200 and found["users"][0]["localId"] == account["localId"]
        keys = [call(f"{server}/.well-known/jwks.json")[1]["keys"] for server in (first, second)]
        assert keys[0] == keys[1] and len(keys[0]) == 1
        discovery = [call(f"{server}/.well-known/ferry")[1] for server in (first, second)]
        assert discovery[0] == discovery[1]
        # What an administrator does on a machine of its own holds at both servers at once.
        assert "me@example.org" in administer(database, "user", "list")
        administer(database, "user", "disable", "me@example.org")
        started = time.monotonic()
        for server in (first, second):
            until(lambda: call(f"{server}/v1/accounts:lookup", {"idToken": account["idToken"]})[0] == 400,
                  "the disabled account to be refused", timeout=5)
        assert time.monotonic() - started < 3
        # Guesses at one server count at the other.
        administer(database, "user", "enable", "me@example.org")
        body = {"email": "me@example.org", "password": "wrong"}
        for number in range(5):
            assert call(f"{(first, second)[number % 2]}/v1/accounts:signInWithPassword", body)[0] == 400
        # The wait that follows is one second, and doubles with each further guess.
        for server in (first, second):
            while "TOO_MANY_ATTEMPTS" not in call(f"{server}/v1/accounts:signInWithPassword", body)[1]["error"]["message"]:
                number += 1
                assert number < 7, "each server counts for itself"
            status, refusal = call(f"{server}/v1/accounts:signInWithPassword", {**body, "password": PASSWORD})
            assert status in (400, 429) and "TOO_MANY_ATTEMPTS" in refusal["error"]["message"], refusal
    finally:
        for server in servers:
            server.stop()


@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
def test_a_new_signing_key_is_published_before_it_signs(root, request, engine):
    database = request.getfixturevalue("database") if engine == "postgresql" else None
    server = Server(root, *(["--database", database.url] if database else []), "--sign-up", "open")
    server.start()
    place = ["--database", database.url] if database else ["--data", str(server.data)]
    keys = lambda: {key["kid"] for key in call(f"{server.url}/.well-known/jwks.json")[1]["keys"]}
    signer = lambda token: json.loads(base64.urlsafe_b64decode(token.split(".")[0] + "=="))["kid"]
    try:
        account = call(f"{server.url}/v1/accounts:signUp", {"email": "me@example.org", "password": PASSWORD})[1]
        [former] = keys()
        subprocess.run([str(BIN / "ferry-server"), "keys", "rotate", *place], check=True, timeout=60)
        until(lambda: len(keys()) == 2, "the new key to be published")
        body = {"grant_type": "refresh_token", "refresh_token": account["refreshToken"]}
        refreshed = call(f"{server.url}/v1/token", body)[1]
        for token in account["idToken"], refreshed["id_token"]:
            assert signer(token) == former
            assert call(f"{server.url}/v1/accounts:lookup", {"idToken": token})[0] == 200
    finally:
        server.stop()


def test_documents_move_between_the_engines_and_are_checked(root, database, server, machines):
    """From a data directory into the database while a server uses it, and back."""
    laptop, desk = machines
    laptop.write("Buy milk.md", "Oat\n")
    agree(laptop, desk)
    tool, file = str(BIN / "ferry-server"), root / "documents.ndjson"
    subprocess.run([tool, "export", str(file), "--data", str(server.data)], check=True, capture_output=True, timeout=60)
    (root / "a").mkdir()
    replica = Server(root / "a", "--database", database.url)
    replica.start()
    try:
        count = len(file.read_text().splitlines())
        assert f"imported {count} documents" in administer(database, "import", str(file))
        again = administer(database, "export")
        assert {json.loads(line)["name"] for line in again.splitlines()} == {
            json.loads(line)["name"] for line in file.read_text().splitlines()}
        assert "Buy milk" in again and "undamaged" in administer(database, "check")
        database.sql("UPDATE ferry.document SET fields='\\xff' WHERE document=(SELECT min(document) FROM ferry.document)")
        result = subprocess.run([tool, "check", "--database", database.url], capture_output=True, text=True, timeout=60)
        assert result.returncode == 1 and "is damaged" in result.stdout
    finally:
        replica.stop()


def test_a_data_directory_moves_into_the_database_and_nobody_signs_in_again(root, database, server, machines):
    laptop, desk = machines
    laptop.write("Buy milk.md", "Oat\n")
    agree(laptop, desk)
    server.stop()
    laptop.write("Written meanwhile.md", "")
    assert "1 accounts and" in administer(database, "import", str(server.data))
    (root / "a").mkdir()
    replica = Server(root / "a", "--database", database.url)
    replica.url, replica.documents = server.url, server.documents
    replica.start()
    try:
        desk.write("Call Anna.md", "")
        # The documents have new times, which machines do not take for the old ones without being told.
        for machine in machines:
            until(lambda: "ferry rebind" in machine.status().get("hint", ""), "the machine to notice the move")
            machine.ferry("rebind")
        agree(laptop, desk, timeout=60)
        assert set(desk.list()) == {"Buy milk", "Written meanwhile", "Call Anna"}
        again = subprocess.run([str(BIN / "ferry-server"), "import", str(server.data), "--database", database.url],
                               capture_output=True, text=True, timeout=60)
        assert again.returncode == 1 and "accounts already" in again.stderr
    finally:
        for machine in machines:
            machine.stop()
        replica.stop()


def test_a_deleted_account_loses_its_documents_by_one_of_the_servers(root, database, replicas):
    laptop = Machine(root, "laptop")
    laptop.start()
    try:
        laptop.login(replicas[0], create=True)
        laptop.write("Buy milk.md", "Oat\n")
        laptop.sync()
    finally:
        laptop.stop()
    assert "Buy milk" in administer(database, "export")
    administer(database, "user", "delete", "me@example.org", "--yes")
    until(lambda: administer(database, "export") == "", "the documents to be removed", timeout=20)
    assert administer(database, "user", "list") == ""
    assert database.sql("SELECT count(*) FROM ferry_accounts.removal") == "0\n"


def test_a_data_directory_with_accounts_is_refused(root, database):
    server = Server(root)
    server.start()
    server.stop()
    for file in (server.data / "documents").iterdir():
        file.unlink()
    result = subprocess.run(
        [str(BIN / "ferry-server"), "run", "--data", str(server.data), "--database", database.url],
        capture_output=True, text=True, timeout=30)
    assert result.returncode == 78
    assert "has accounts of its own" in result.stderr
