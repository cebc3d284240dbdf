"""Everything that is paused, offline, held or failed is reported by status, --check, sync and attach."""
import json
import os

import pytest

from harness import agree, until


def check(machine):
    return machine.ferry("status", "--check", check=False).returncode


@pytest.fixture
def report(root):
    path = root / "report.bin"
    path.write_bytes(os.urandom(3 << 20))
    return path


def test_paused_is_reported_by_all_commands(machines, report):
    laptop, _ = machines
    laptop.write("Plan.md", "")
    laptop.sync()
    assert check(laptop) == 0
    laptop.ferry("pause")
    assert check(laptop) == 5 and laptop.ferry("status").startswith("paused: ")
    for arguments in (["sync"], ["sync", "--wait"], ["attach", "Plan", report]):
        result = laptop.ferry(*arguments, check=False, timeout=20)
        assert result.returncode == 5 and "paused" in result.stderr and "ferry resume" in result.stderr, (arguments, result)
    result = laptop.ferry("add", "Later", check=False)
    assert result.returncode == 0 and "not sent yet" in result.stderr and "paused" in result.stderr
    result = laptop.ferry("attach", "Plan", report, "--name", "again.bin", "--no-wait", check=False)
    assert result.returncode == 0 and "not sent yet" in result.stderr
    laptop.ferry("resume")
    laptop.sync()
    assert check(laptop) == 0 and "Later" in laptop.list()
    assert {a["name"] for a in laptop.json("show", "Plan")["attachments"]} == {"report.bin", "again.bin"}


def test_offline_is_reported_at_once(server, machines, report):
    laptop, _ = machines
    laptop.write("Plan.md", "")
    laptop.sync()
    server.stop()
    until(lambda: laptop.status()["state"] == "offline", laptop.status)
    assert check(laptop) == 5 and laptop.ferry("status").startswith("offline: ")
    for arguments in (["sync"], ["sync", "--wait", "--timeout", "1"], ["attach", "Plan", report]):
        result = laptop.ferry(*arguments, check=False, timeout=20)
        assert result.returncode == 5 and result.stderr, (arguments, result)
    result = laptop.ferry("attach", "Plan", report, "--name", "b.bin", "--json", check=False, timeout=20)
    assert result.returncode == 5 and json.loads(result.stdout)["transfers"], result
    result = laptop.ferry("add", "Later", check=False)
    assert result.returncode == 0 and "not sent yet" in result.stderr
    server.start()
    laptop.sync(60)
    assert {a["state"] for a in laptop.json("show", "Plan")["attachments"]} == {"here"}


def test_paused_transfers_are_reported(server, machines, root):
    laptop, _ = machines
    laptop.write("Plan.md", "")
    laptop.sync()
    server.stop()
    until(lambda: laptop.status()["state"] == "offline", laptop.status)
    (root / "big.bin").write_bytes(os.urandom(8 << 20))
    laptop.ferry("attach", "Plan", root / "big.bin", "--no-wait")
    laptop.ferry("transfers", "pause", "--all")
    server.start()
    until(lambda: laptop.status()["state"] == "running", laptop.status)
    assert check(laptop) == 6 and "1 paused: ferry transfers resume --all" in laptop.ferry("status")
    assert laptop.status()["pausedTransfers"] == 1
    result = laptop.ferry("sync", "--wait", check=False, timeout=30)
    assert result.returncode == 6 and "1 transfer is paused" in result.stderr, result
    laptop.ferry("transfers", "resume", "--all")
    laptop.sync()
    assert check(laptop) == 0


def test_a_sync_with_held_deletes_is_not_complete(machines):
    laptop, _ = machines
    for number in range(30):
        laptop.write(f"Task {number}.md", "")
    laptop.sync()
    for number in range(25):
        (laptop.tasks / f"Task {number}.md").unlink()
    until(lambda: laptop.status()["heldDeletes"] == 25, laptop.status)
    result = laptop.ferry("sync", "--wait", check=False)
    assert result.returncode == 6 and "25 deletes are held" in result.stderr
    assert check(laptop) == 6
    laptop.ferry("deletes", "restore", "--all")
    laptop.sync()
    assert check(laptop) == 0


def test_files_that_go_back_to_older_versions_are_held(machines):
    laptop, desk = machines
    for text in ("- [ ] one\n", "- [x] one\n- [ ] two\n"):
        for number in range(14):
            laptop.write(f"Task {number}.md", text)
        agree(laptop, desk)
    for number in range(14):
        laptop.write(f"Task {number}.md", "- [ ] one\n")
    until(lambda: laptop.status()["heldReverts"] == 14, laptop.status)
    assert check(laptop) == 6 and "14 files went back to an older version: ferry deletes" in laptop.ferry("status")
    result = laptop.ferry("sync", "--wait", check=False)
    assert result.returncode == 6 and "14 reverts are held" in result.stderr
    assert desk.read("Task 3.md") == "- [x] one\n- [ ] two\n"
    laptop.ferry("deletes", "approve", "Task 3")
    until(lambda: desk.read("Task 3.md") == "- [ ] one\n", desk.files)
    laptop.ferry("deletes", "restore", "--all")
    until(lambda: laptop.read("Task 4.md") == "- [x] one\n- [ ] two\n", laptop.files)
    laptop.sync()
    agree(laptop, desk)
    assert check(laptop) == 0 and desk.read("Task 3.md") == "- [ ] one\n"
