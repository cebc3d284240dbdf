"""A warm standby: `ferry-server replicate` copies a server's data, and `promote` makes the copy a server at the same address."""
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import urllib.error
import urllib.request

import pytest

from harness import BIN, Machine, Program, Server, agree, until


def run(*words, check=True):
    result = subprocess.run([str(BIN / "ferry-server"), *map(str, words)], capture_output=True, text=True, timeout=120)
    assert not check or result.returncode == 0, result.stderr
    return result


class Standby:
    """The copy of a server on another machine."""

    def __init__(self, root, server):
        self.server, self.data, self.key = server, root / "standby", root / "key.json"
        self.key.write_text(run("keys", "add", "--standby", "second machine", "--data", server.data).stdout)
        self.options = ["--from", server.url, "--key", self.key, "--data", self.data]
        self.program = Program("ferry-server", ["replicate", "--interval", "1", *self.options], root / "standby.log")

    def pull(self):
        return run("replicate", "--once", *self.options).stdout

    def refusal(self):
        result = run("replicate", "--once", *self.options, check=False)
        return result.stderr if result.returncode else ""

    def promote(self, *words, **options):
        return run("promote", "--data", self.data, *words, **options)

    def take_over(self):
        """Starts a server on the promoted copy at the address of the former one."""
        self.server.data = self.data
        self.server.start()


@pytest.fixture
def standby(root, server):
    standby = Standby(root, server)
    yield standby
    if standby.program.running:
        standby.program.stop()


def content(server):
    """Returns what is stored: the documents, the accounts and the bytes of objects."""
    documents = run("export", "--data", server.data).stdout.splitlines()
    objects = {str(path.relative_to(server.data)): hashlib.sha256(path.read_bytes()).hexdigest()
               for path in (server.data / "objects/files").rglob("*") if path.is_file()}
    return sorted(documents), run("user", "list", "--data", server.data).stdout, objects


def test_machines_go_on_with_the_standby(root, server, machines, standby):
    laptop, desk = machines
    standby.program.start()
    # A file of its own, some small ones in segments, and text in documents.
    laptop.write("Trip.md", "pack\n")
    (laptop.tasks / "Trip.files").mkdir()
    for name, size in (("map.bin", 3_000_000), ("ticket.bin", 40_000), ("note.bin", 10)):
        (laptop.tasks / "Trip.files" / name).write_bytes(os.urandom(size))
    for number in range(30):
        desk.write(f"Task {number}.md", f"text {number}\n")
    agree(laptop, desk, timeout=60)
    stored = content(server)
    until(lambda: stored[2].keys() <= {str(path.relative_to(standby.data)) for path in standby.data.rglob("*")},
          "the attachments to be copied")
    # Two pulls that began after the last commit.
    as_of = lambda: json.loads((standby.data / "standby.json").read_text()).get("asOf") or 0
    for _ in range(2):
        before = as_of()
        until(lambda: as_of() > before, standby.program.tail)
    assert "uses" in standby.promote(check=False).stderr, "the copy is locked while it is pulled"
    standby.program.stop()
    assert "still answers" in standby.promote(check=False).stderr
    server.signal(signal.SIGSTOP)
    assert "only be slow" in standby.promote(check=False).stderr, "a server that is silent may still be there"
    server.kill()
    laptop.write("While away.md", "offline\n")
    for command in (["run"], ["user", "list"], ["backup", root / "copy"], ["check"]):
        refused = run(*command, "--data", standby.data, check=False)
        assert refused.returncode != 0 and "promote" in refused.stderr, refused.stderr
    told = standby.promote().stdout
    assert re.search(r"is a server's data, .* at 20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$", told.strip()), told
    # Before a server runs on it, which the laptop would send its task.
    server.data = standby.data
    assert content(server) == stored
    standby.take_over()
    desk.write("After.md", "on the standby\n")
    agree(laptop, desk, timeout=60)
    assert {"While away", "After", "Trip"} < set(desk.list())
    assert "held" not in laptop.ferry("status")
    assert "undamaged" in run("check", "--objects", "--data", standby.data).stdout
    # A machine that comes later gets everything from the standby.
    phone = Machine(root, "phone")
    phone.start()
    try:
        phone.login(server)
        agree(laptop, phone, timeout=60)
        for name in ("map.bin", "ticket.bin", "note.bin"):
            assert (phone.tasks / "Trip.files" / name).read_bytes() == (laptop.tasks / "Trip.files" / name).read_bytes()
    finally:
        phone.stop()


def test_machines_notice_what_the_standby_lacks_and_send_it_again(root, server, machines, standby):
    laptop, desk = machines
    laptop.write("Copied.md", "before\n")
    agree(laptop, desk)
    standby.pull()
    laptop.write("Copied.md", laptop.read("Copied.md").replace("before", "after"))
    laptop.write("Lost.md", "acknowledged after the last pull\n")
    agree(laptop, desk)
    files = laptop.files()
    server.kill()
    standby.promote()
    standby.take_over()
    for machine in machines:
        until(lambda: machine.status()["state"] == "server-held", lambda: f"{machine.status()}\n{machine.daemon.tail()}",
              timeout=60)
        assert machine.files() == files
    for machine in machines:
        machine.ferry("rebind")
        until(lambda: machine.status()["state"] == "running", lambda: f"{machine.status()}\n{machine.daemon.tail()}", timeout=30)
    agree(laptop, desk, timeout=60)
    assert laptop.files() == files
    assert "undamaged" in run("check", "--objects", "--data", standby.data).stdout


def test_a_pull_copies_what_has_changed_and_survives_its_end(root, server, machines, standby):
    laptop, desk = machines
    for number in range(200):
        laptop.write(f"Task {number}.md", f"{'text ' * 50}{number}\n")
    agree(laptop, desk, timeout=90)
    size = lambda text: int(text.split()[-2])
    first = size(standby.pull())
    stored = (server.data / "documents/main.db").stat().st_size
    assert first > stored
    laptop.write("One more.md", "")
    agree(laptop, desk)
    assert 0 < size(standby.pull()) < first / 2
    # A delta that was received only in part, and what a reader left, change nothing.
    copy = standby.data / "documents/main.db"
    (standby.data / "documents/main.db.arriving").write_bytes(b"FERRYDL1 and no more")
    # One that was complete when the standby ended is applied.
    good = copy.read_bytes()
    laptop.write("And another.md", "")
    agree(laptop, desk)
    (standby.data / "objects/index.db").unlink()
    standby.pull()
    assert copy.read_bytes() != good and (standby.data / "objects/index.db").exists()
    # A copy that was changed becomes that of the server again.
    with open(copy, "r+b") as file:
        file.seek(5 * 4096)
        file.write(os.urandom(4096))
    laptop.write("The last.md", "")
    agree(laptop, desk)
    standby.pull()
    server.kill()
    standby.promote()
    assert "undamaged" in run("check", "--objects", "--data", standby.data).stdout
    standby.take_over()
    agree(laptop, desk, timeout=60)


def test_only_a_standbys_key_copies_a_server(root, server, machines, standby):
    standby.pull()
    assert "a standby copies" in server.tail() and "second machine" in server.tail()
    account = root / "account.json"
    account.write_text(run("keys", "add", "--service-account", "office", "--data", server.data).stdout)
    refused = run("replicate", "--once", "--from", server.url, "--key", account, "--data", standby.data, check=False)
    assert refused.returncode != 0 and "is not a key" in refused.stderr
    listed = [line.split("\t") for line in run("keys", "list", "--data", server.data).stdout.splitlines()]
    [key] = [words[0] for words in listed if words[-1] == "standby"]
    status = lambda: urllib.request.urlopen(f"{server.url}/.ferry/standby")
    with pytest.raises(urllib.error.HTTPError, match="401"):
        status()
    run("keys", "remove", key, "--data", server.data)
    assert "does not accept the key" in standby.refusal()
    with pytest.raises(urllib.error.HTTPError, match="404"):
        status()
    other = run("replicate", "--once", "--from", "http://10.1.2.3:7441", "--key", standby.key, "--data", standby.data, check=False)
    assert other.returncode != 0 and "https" in other.stderr
    shutil.rmtree(standby.data)
    own = run("replicate", "--once", *standby.options[:-1], server.data, check=False)
    assert own.returncode != 0 and "uses" in own.stderr
