"""Failures around the programs: directories that disappear or change, permissions, full disks, a server with damaged bytes."""
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from harness import BIN, Machine, Server, agree, until
from test_bad_input import goes_on, told


def filled(laptop, desk, count=15):
    for number in range(count):
        laptop.write(f"Work/Task {number:02}.md", f"{number}\n")
    laptop.write("Plain.md", "")
    agree(laptop, desk)
    return laptop.files()


def nothing_was_deleted(laptop, desk, files):
    assert {name: desk.files().get(name) for name in files} == files
    for machine in (laptop, desk):
        assert not machine.json("trash")["trash"] and machine.status()["heldDeletes"] == 0


@pytest.mark.parametrize("running", [True, False], ids=["while running", "while stopped"])
@pytest.mark.parametrize("becomes", ["vanished", "empty", "emptied of the marker"])
def test_a_root_that_is_not_the_known_one_is_held(machines, running, becomes):
    laptop, desk = machines
    files = filled(laptop, desk)
    if not running:
        laptop.stop()
    aside = laptop.tasks.with_name("aside")
    if becomes == "emptied of the marker":
        shutil.rmtree(laptop.tasks / ".ferry")
    else:
        laptop.tasks.rename(aside)
        if becomes == "empty":
            laptop.tasks.mkdir()
    if not running:
        laptop.start()
    if becomes == "emptied of the marker" and running:
        # The directory is the same one, so the next scan restores the marker or holds; in both cases nothing is deleted.
        laptop.ferry("sync", check=False)
    else:
        until(lambda: laptop.status()["state"] == "root-held", lambda: f"{laptop.status()}\n{laptop.daemon.tail()}")
        status = laptop.status()
        assert "rebind" in status["hint"] or "restore it" in status["hint"], status
        assert laptop.ferry("status", "--check", check=False).returncode == 6
        assert not [path for path in (laptop.tasks.iterdir() if becomes == "empty" else [])], "nothing is written there"
    desk.ferry("add", "Meanwhile")
    desk.sync()
    nothing_was_deleted(laptop, desk, files)
    if becomes == "emptied of the marker":
        laptop.stop()
        laptop.daemon.arguments.append("--rebind")
        laptop.start()
    else:
        if becomes == "empty":
            laptop.tasks.rmdir()
        aside.rename(laptop.tasks)
    until(lambda: laptop.status()["state"] == "running", lambda: f"{laptop.status()}\n{laptop.daemon.tail()}", timeout=30)
    agree(laptop, desk)
    nothing_was_deleted(laptop, desk, files)
    assert set(laptop.files()) == {*files, "Meanwhile.md"}


def test_rebind_takes_an_empty_directory_and_fills_it(machines):
    laptop, desk = machines
    files = filled(laptop, desk)
    laptop.stop()
    shutil.rmtree(laptop.tasks)
    laptop.tasks.mkdir()
    laptop.start()
    until(lambda: laptop.status()["state"] == "root-held", laptop.status)
    laptop.ferry("rebind")
    until(lambda: laptop.status()["state"] == "running", lambda: f"{laptop.status()}\n{laptop.daemon.tail()}")
    agree(laptop, desk)
    assert laptop.files() == files
    nothing_was_deleted(laptop, desk, files)


def as_nobody(machine):
    """Returns the command prefix that runs the machine's programs as a user without root's privileges."""
    if os.getuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        pytest.skip("root reads everything, and there is no setpriv")
    machine.home.parent.chmod(0o755)
    for path in [machine.home, *machine.home.rglob("*")]:
        os.chown(path, 65534, 65534)
    return ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


def test_a_directory_that_cannot_be_read_holds_its_tasks_and_deletes_none(machines):
    laptop, desk = machines
    files = filled(laptop, desk)
    laptop.stop()
    prefix = as_nobody(laptop)
    if prefix and subprocess.run([*prefix, str(BIN / "ferryd"), "--version"], capture_output=True).returncode != 0:
        pytest.skip("nobody may not run the programs where they are")
    laptop.start(prefix=prefix)
    work = laptop.tasks / "Work"
    laptop.sync()
    work.chmod(0)
    laptop.ferry("sync")
    told(laptop, "Work")
    goes_on(laptop, desk)
    desk.write("Work/Task 03.md", "changed meanwhile\n")
    desk.sync()
    # The same when the problem exists at the start.
    laptop.stop()
    laptop.start(prefix=prefix)
    told(laptop, "Work")
    assert {name for name in desk.files() if name.startswith("Work/")} == {name for name in files if name.startswith("Work/")}
    work.chmod(0o755)
    laptop.ferry("sync")
    until(lambda: laptop.read("Work/Task 03.md") == "changed meanwhile\n",
          lambda: f"{laptop.status()}\n{laptop.daemon.tail()}")
    agree(laptop, desk)
    assert not laptop.json("trash")["trash"] and not laptop.status()["problems"]


def own_disk(directory, size):
    """Returns the command prefix that gives a program a small file system at this directory, which is visible to it alone."""
    if subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode != 0:
        pytest.skip("a file system of its own needs root")
    return ["unshare", "-m", "sh", "-euc", f'mount -t tmpfs -o size={size} ferry "$0"; exec "$@"', str(directory)]


def seen_by(program, path):
    return Path(f"/proc/{program.process.pid}/root{path}")


def fill(directory):
    ballast = directory / "ballast"
    with pytest.raises(OSError), open(ballast, "wb", buffering=0) as file:
        while True:
            file.write(b"x" * 4096)
    return ballast


def test_a_server_with_a_full_disk_reports_it_and_continues_when_there_is_space(root):
    server = Server(root)
    server.data.mkdir()
    server.start(prefix=own_disk(server.data, "40m"))
    laptop, desk = Machine(root, "laptop"), Machine(root, "desk")
    for machine in (laptop, desk):
        machine.start()
        machine.login(server, create=machine is laptop)
    laptop.write("Here.md", "small\n")
    agree(laptop, desk)
    ballast = fill(seen_by(server, server.data))
    photo = root / "photo.jpg"
    photo.write_bytes(os.urandom(3 << 20))
    laptop.ferry("attach", "Here", photo, "--no-wait")
    until(lambda: any("full" in t.get("reason", "") for t in laptop.json("transfers")["transfers"]),
          lambda: laptop.json("transfers"))
    for number in range(20):
        laptop.write(f"Large {number}.md", f"{number}" * 30_000)
    until(lambda: "full" in laptop.status().get("reason", ""), lambda: laptop.status())
    assert str(root) not in laptop.status()["reason"], "where the server's files are is nobody else's business"
    log = server.tail(1000)
    assert log.count('a request failed error="The disk is full') == 1 and 1 <= log.count("a call failed") <= 3, log
    assert "main.db: database or disk is full" in log
    ballast.unlink()
    until(lambda: (desk.tasks / "Here.files/photo.jpg").exists(), lambda: laptop.json("transfers"), timeout=60)
    agree(laptop, desk)
    assert (desk.tasks / "Here.files/photo.jpg").read_bytes() == photo.read_bytes()
    for program in (laptop, desk, server):
        program.stop()


def test_a_full_disk_loses_nothing_and_sync_continues_when_there_is_space(root, server, machines):
    _, desk = machines
    third = Machine(root, "third")
    third.start(prefix=own_disk(third.tasks, "1m"))
    third.login(server)
    third.tasks = seen_by(third.daemon, third.tasks)
    third.write("Here.md", "small\n")
    agree(third, desk)
    ballast = fill(third.tasks)
    for number in range(5):
        desk.write(f"Large {number}.md", f"{number}" * 20_000)
    desk.write("Here.md", "small, and grown " * 2000 + "\n")
    desk.sync()
    told(third, "space")
    assert third.read("Here.md") == "small\n", "the old bytes stay until the new ones are there"
    assert third.list()["Large 0"]
    ballast.unlink()
    until(lambda: all(third.read(f"Large {number}.md") == f"{number}" * 20_000 for number in range(5)),
          lambda: f"{third.status()}\n{third.daemon.tail()}", timeout=40)
    until(lambda: third.read("Here.md") == desk.read("Here.md"), third.daemon.tail)
    until(lambda: not third.status()["problems"], lambda: third.status())
    assert not third.json("trash")["trash"]
    until(lambda: "not-written: over" in third.daemon.tail(), third.daemon.tail)
    assert third.daemon.tail(200).count("not-written: ") == 2, third.daemon.tail(200)
    third.stop()


def test_a_corrupt_chunk_fails_the_download_and_never_gives_wrong_bytes(root, server, machines):
    laptop, desk = machines
    big = root / "big.bin"
    big.write_bytes(os.urandom(3 << 20))
    desk.stop()
    laptop.ferry("add", "Damaged")
    laptop.ferry("attach", "Damaged", big)
    server.stop()
    objects = [path for path in (server.data / "objects/files").rglob("*") if path.is_file()]
    chunk = max(objects, key=lambda path: path.stat().st_size)
    original = chunk.read_bytes()
    middle = len(original) // 2
    chunk.write_bytes(original[:middle] + bytes([original[middle] ^ 1]) + original[middle + 1:])
    server.start()
    # The machine that has the file, and would upload it again, is off.
    laptop.stop()
    desk.start()
    problem = told(desk, "big.bin")
    assert "Damaged" in str(problem)
    assert not (desk.tasks / "Damaged.files/big.bin").exists()
    until(lambda: [t["state"] for t in desk.json("transfers")["transfers"]] == ["failed"], lambda: desk.json("transfers"))
    # The transfer resumes once the server has the right bytes.
    chunk.write_bytes(original)
    desk.ferry("transfers", "resume", "--all")
    until(lambda: (desk.tasks / "Damaged.files/big.bin").exists(), lambda: desk.status())
    assert (desk.tasks / "Damaged.files/big.bin").read_bytes() == big.read_bytes()
    laptop.start()
    laptop.write("The rest.md", "")
    agree(laptop, desk)
    assert not desk.status()["problems"]


def test_a_servers_database_that_is_damaged_ends_it_with_the_remedy(root, server, machines):
    laptop, _ = machines
    laptop.ferry("add", "Safe here")
    laptop.sync()
    server.stop()
    for path in (server.data / "documents").rglob("*"):
        if path.is_file():
            path.write_bytes(b"no database " * 500)
    result = subprocess.run([str(BIN / "ferry-server"), *map(str, server.arguments)], capture_output=True, text=True, timeout=30)
    assert result.returncode > 0 and str(server.data) in result.stderr, result
    assert laptop.list()["Safe here"] and laptop.read("Safe here.md") is not None
