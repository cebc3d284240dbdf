"""Administration of accounts: invitations, codes, passwords, quotas, deleted accounts, and a server that lost its data."""
import json
import os
import pty
import subprocess
import time
import urllib.error
import urllib.request

import pytest

from harness import BIN, PASSWORD, Machine, Server, until


def administer(server, *words, check=True, input=None):
    """Runs a command of the server's administrator, and returns the cells of the first line that it prints."""
    result = subprocess.run([str(BIN / "ferry-server"), *map(str, words), "--data", str(server.data)], capture_output=True,
                            text=True, timeout=60, input=input)
    if not check:
        return result
    assert result.returncode == 0, (words, result.stderr)
    return result.stdout.rstrip("\n").split("\n")[0].split("\t")


def post(url, body):
    request = urllib.request.Request(url, data=json.dumps(body).encode(), headers={"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.loads(answer.read())
    except urllib.error.HTTPError as error:
        return json.loads(error.read())


@pytest.fixture
def strict(root):
    server = Server(root, "--sign-up", "invite")
    server.start()
    yield server
    server.stop()


def test_an_account_needs_an_invitation(strict, root, laptop):
    laptop.start()
    for words in (["--email", "me@example.org", "--create", "--password-stdin"], []):
        refused = laptop.ferry("login", strict.url, *words, input=PASSWORD, check=False)
        assert refused.returncode == 1 and "invitation" in refused.stderr and "--invite" in refused.stderr
    assert "users" not in post(f"{strict.url}/v1/accounts:signUp", {})
    assert post(f"{strict.url}/v1/accounts:signUp", {})["error"]["message"].startswith("ADMIN_ONLY_OPERATION : ")
    wrong = laptop.ferry("login", strict.url, "--invite", "aaaaa-bbbbb-ccccc-ddddd", check=False)
    assert wrong.returncode == 1 and "unknown, used up or expired" in wrong.stderr
    [code] = administer(strict, "invite", "--uses", "2", "--expires", "1h")
    assert code not in (strict.data / "accounts" / "accounts.sqlite").read_bytes().decode("latin1")
    laptop.ferry("login", strict.url, "--email", "me@example.org", "--create", "--password-stdin", "--invite", code, input=PASSWORD)
    desk = Machine(root, "desk")
    desk.start()
    desk.ferry("login", strict.url, "--invite", code)
    desk.ferry("logout")
    refused = desk.ferry("login", strict.url, "--invite", code, check=False)
    assert refused.returncode == 1 and "used up" in refused.stderr
    desk.stop()


def test_a_code_sets_the_password_of_an_account_that_the_administrator_created(strict, laptop):
    laptop.start()
    email, _, code = administer(strict, "user", "add", "me@example.org")
    assert email == "me@example.org"
    assert administer(strict, "user", "list")[2] == "invited"
    weak = laptop.ferry("login", strict.url, "--code", code, "--password-stdin", input="abc", check=False)
    assert weak.returncode == 2 and "6 characters" in weak.stderr
    laptop.ferry("login", strict.url, "--code", code, "--password-stdin", input="first password\n")
    assert "me@example.org" in laptop.ferry("whoami")
    used = laptop.ferry("login", strict.url, "--code", code, "--password-stdin", input=PASSWORD, check=False)
    assert used.returncode == 1 and "used" in used.stderr
    laptop.write("Mine.md", "")
    laptop.sync()
    # The password was forgotten.
    code = administer(strict, "user", "reset-password", "me@example.org")[2]
    laptop.ferry("login", strict.url, "--code", code, "--password-stdin", input=PASSWORD)
    laptop.sync()
    assert set(laptop.list()) == {"Mine"}
    laptop.ferry("logout")
    old = laptop.ferry("login", strict.url, "--email", "me@example.org", "--password-stdin", input="first password", check=False)
    assert old.returncode == 1
    laptop.login(strict)


def test_a_password_is_changed_and_other_machines_sign_in_again(server, machines):
    laptop, desk = machines
    # Tokens from the second in which the password changes stay valid; these are from an earlier one.
    signed_in = int(time.time())
    until(lambda: int(time.time()) > signed_in, "the next second")
    wrong = laptop.ferry("password", "--password-stdin", input="wrong one\nnew password\n", check=False)
    assert wrong.returncode == 1 and "password is wrong" in wrong.stderr
    weak = laptop.ferry("password", "--password-stdin", input=f"{PASSWORD}\nabc\n", check=False)
    assert weak.returncode == 2 and "6 characters" in weak.stderr
    laptop.ferry("password", "--password-stdin", input=f"{PASSWORD}\nnew password\n")
    laptop.write("After.md", "")
    laptop.sync()
    until(lambda: desk.status()["state"] == "needs-sign-in", "the other machine to be signed out")
    desk.ferry("login", server.url, "--email", "me@example.org", "--password-stdin", input="new password")
    desk.sync()
    assert set(desk.list()) == {"After"}


def test_a_new_password_is_asked_for_twice(server, laptop):
    laptop.start()

    def login(*answers):
        """Types the answers on a terminal."""
        controller, terminal = pty.openpty()
        process = subprocess.Popen(
            [str(BIN / "ferry"), "login", server.url, "--email", "me@example.org", "--create"], stdin=terminal, stdout=terminal,
            stderr=terminal, env={**os.environ, **laptop.environment}, start_new_session=True)
        os.close(terminal)
        told = b""
        for answer in answers:
            before = told.count(b": ")
            while told.count(b": ") == before:
                told += os.read(controller, 1024)
            os.write(controller, answer.encode() + b"\n")
        status = process.wait(30)
        os.close(controller)
        return status

    assert login("one password", "another password") == 2
    assert laptop.status()["state"] == "needs-sign-in"
    assert login(PASSWORD, PASSWORD) == 0
    assert "me@example.org" in laptop.ferry("whoami")


def test_the_tasks_of_another_account_are_not_uploaded_without_consent(server, laptop):
    laptop.start()
    laptop.login(server, create=True)
    laptop.write("First.md", "")
    laptop.sync()
    mine = laptop.json("whoami")["account"]
    attempts = [
        ["--email", "other@example.org", "--create", "--password-stdin"], [],
    ]
    for signed_in in (True, False):
        for words in attempts:
            if signed_in and not words:
                continue  # An anonymous sign-in to the server of the account keeps that account.
            refused = laptop.ferry("login", server.url, *words, input=PASSWORD, check=False)
            assert refused.returncode == 6 and "--merge" in refused.stderr and "another account" in refused.stderr, refused
        if signed_in:
            assert laptop.json("whoami")["account"] == mine
            laptop.ferry("logout")
    assert "users" not in administer(server, "user", "list")
    assert len(administer(server, "user", "list", check=False).stdout.splitlines()) == 1
    administer(server, "user", "add", "third@example.org", "--password-stdin", input=PASSWORD)
    refused = laptop.ferry("login", server.url, "--email", "third@example.org", "--password-stdin", input=PASSWORD, check=False)
    assert refused.returncode == 6 and laptop.status()["state"] == "needs-sign-in"
    # A sign-in that was refused does not use up the code.
    code = administer(server, "user", "reset-password", "third@example.org")[2]
    words = ["login", server.url, "--code", code, "--password-stdin"]
    assert laptop.ferry(*words, input="third password", check=False).returncode == 6
    laptop.ferry(*words, "--merge", input="third password")
    laptop.sync()
    assert set(laptop.list()) == {"First"}
    # The user returns to the first account, as those files belong to the third one now.
    assert laptop.ferry("login", server.url, "--email", "me@example.org", "--password-stdin", input=PASSWORD,
                        check=False).returncode == 6


def test_an_account_is_deleted_with_all_its_data_while_the_server_runs(server, root, machines):
    laptop, desk = machines
    laptop.write("Mine.md", "")
    (laptop.tasks / "Mine.files").mkdir()
    (laptop.tasks / "Mine.files" / "a.bin").write_bytes(os.urandom(300_000))
    laptop.sync()
    user = laptop.json("whoami")["account"]["userId"]
    other = Machine(root, "other")
    other.start()
    other.login(server, email="other@example.org", create=True)
    other.write("Theirs.md", "")
    other.sync()
    row = next(r for r in administer(server, "user", "list", check=False).stdout.splitlines() if user in r).split("\t")
    assert int(row[3]) > 0 and int(row[4]) >= 300_000
    assert administer(server, "user", "delete", "me@example.org", check=False).returncode == 2
    assert administer(server, "user", "delete", user, "--yes")[2] == "deleted"
    left = administer(server, "export", check=False).stdout
    assert user not in left and "Theirs" in left
    import sqlite3
    index = sqlite3.connect(f"file:{server.data}/objects/index.db?mode=ro", uri=True)
    assert index.execute("SELECT count(*) FROM object WHERE key LIKE ?", (f"{user}/%",)).fetchone() == (0,)
    until(lambda: laptop.status()["state"] == "needs-sign-in", "the machine to be signed out")
    assert laptop.read("Mine.md") is not None
    other.write("More.md", "")
    other.sync()
    other.stop()
    # The server is stopped.
    server.stop()
    administer(server, "user", "delete", "other@example.org", "--yes")
    assert "Theirs" not in administer(server, "export", check=False).stdout
    assert administer(server, "user", "list", check=False).stdout == ""
    assert "is undamaged" in administer(server, "check", check=False).stdout


def test_changes_over_the_quota_stay_on_the_machine_and_status_names_the_remedy(root, laptop):
    server = Server(root, "--quota-documents", "14", "--quota-objects", "1M")
    server.start()
    laptop.start()
    laptop.login(server, create=True)
    laptop.write("One.md", "")
    laptop.sync()
    used = laptop.json("whoami")["usage"]
    assert 0 < used["documents"] <= used["documentsLimit"] == 14 and used["objectBytesLimit"] == 1 << 20
    for number in range(20):
        laptop.write(f"Task {number}.md", "")
    assert laptop.ferry("sync", "--wait", "--timeout", "30", check=False).returncode == 6

    def problem():
        return next((p for p in laptop.status()["problems"] if p["code"] == "quota"), None)

    told = until(problem, "the refusal")
    assert "the limit is 14" in told["message"] and "whoami" in told["hint"], told
    assert laptop.status()["state"] == "running"
    assert laptop.json("whoami")["usage"]["documents"] <= 14
    # Existing accounts keep working.
    laptop.write("One.md", "Changed\n")
    assert laptop.ferry("sync", "--wait", "--timeout", "30", check=False).returncode == 6
    assert "Changed" in administer(server, "export", check=False).stdout
    assert len([name for name in laptop.files() if name.endswith(".md")]) == 21
    (laptop.tasks / "One.files").mkdir()
    (laptop.tasks / "One.files" / "big.bin").write_bytes(os.urandom(2 << 20))
    until(lambda: "1.0 MiB that it may" in json.dumps([laptop.status(), laptop.json("transfers")]), "the refusal of the attachment")
    administer(server, "user", "quota", "me@example.org", "--documents", "1000", "--objects", "10M")
    assert "1000, set for this account" in administer(server, "user", "show", "me@example.org", check=False).stdout

    def all_there():
        laptop.ferry("transfers", "resume", check=False)
        laptop.ferry("sync", "--wait", "--timeout", "20", check=False)
        status = laptop.status()
        return not status["problems"] and status["activeTransfers"] + status["waitingTransfers"] == 0

    until(all_there, lambda: f"everything to be sent: {laptop.status()} {laptop.json('transfers')}", timeout=60)
    export = administer(server, "export", check=False).stdout
    assert all(f"Task {number}" in export for number in range(20)) and "big.bin" in export
    server.stop()


def test_a_server_on_an_empty_directory_signs_no_machine_out(server, machines):
    laptop, desk = machines
    laptop.write("One.md", "")
    laptop.sync()
    server.stop()
    kept = server.data.with_name("kept")
    server.data.rename(kept)
    server.start()
    held = until(lambda: (s := laptop.status())["state"] == "server-held" and s, "the machine to notice", timeout=60)
    assert "does not know this account" in held["reason"] and "empty data directory" in held["reason"]
    laptop.write("Meanwhile.md", "")
    assert laptop.ferry("sync", "--wait", "--timeout", "5", check=False).returncode != 0
    assert laptop.ferry("rebind", check=False).returncode != 0
    laptop.stop()
    laptop.start()
    until(lambda: laptop.status()["state"] == "server-held", "the machine to notice after a restart", timeout=60)
    server.stop()
    server.data.rename(server.data.with_name("empty"))
    kept.rename(server.data)
    server.start()
    until(lambda: laptop.status()["state"] == "running", lambda: f"the machine to go on: {laptop.status()}", timeout=90)
    laptop.sync()
    desk.sync()
    assert set(desk.list()) == {"One", "Meanwhile"}
