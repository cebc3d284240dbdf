"""Restarts, pauses, a stopped server, a damaged state file, and a missing directory."""
import os
import time

import pytest

from control import Events
from harness import until


def test_a_restart_keeps_the_session_and_finds_intermediate_changes(server, laptop):
    laptop.start()
    laptop.login(server, create=True)
    laptop.write("A.md", "one\n")
    laptop.sync()
    assert laptop.stop() == 0
    laptop.write("A.md", "two\n")
    laptop.write("B.md", "")
    laptop.start()
    laptop.sync()
    assert set(laptop.list()) == {"A", "B"}
    assert laptop.json("show", "A")["notes"] == "two\n"


def test_pause_stops_both_directions_and_survives_a_restart(machines):
    laptop, desk = machines
    laptop.ferry("pause")
    assert laptop.status()["state"] == "paused"
    desk.write("From the desk.md", "")
    desk.sync()
    laptop.write("From the laptop.md", "")
    until(lambda: laptop.status()["pendingUp"] > 0, "the edit in the journal")
    laptop.stop()
    laptop.start()
    assert laptop.status()["state"] == "paused"
    assert laptop.ferry("sync", check=False).returncode != 0
    # Commands keep working here, and their changes wait.
    laptop.ferry("add", "Added while paused")
    laptop.ferry("set", "Added while paused", "priority:high")
    assert "Added while paused" in laptop.list()
    desk.sync()
    assert laptop.status()["pendingUp"] > 0
    assert laptop.read("From the desk.md") is None and desk.read("From the laptop.md") is None
    laptop.ferry("resume")
    until(lambda: laptop.read("From the desk.md") is not None, laptop.daemon.tail)
    until(lambda: desk.read("From the laptop.md") is not None, laptop.daemon.tail)
    until(lambda: desk.read("Added while paused.md") is not None, laptop.daemon.tail)
    until(lambda: laptop.read("Added while paused.md") is not None, laptop.daemon.tail)
    assert laptop.status()["state"] == "running"


def test_the_server_may_be_down_at_the_start(server, laptop):
    laptop.start()
    laptop.login(server, create=True)
    laptop.write("A.md", "")
    laptop.sync()
    laptop.stop()
    server.stop()
    started = time.monotonic()
    laptop.start()
    assert time.monotonic() - started < 5
    until(lambda: laptop.status()["state"] == "offline", lambda: f"offline: {laptop.status()}")
    assert set(laptop.list()) == {"A"}
    laptop.ferry("add", "Made offline")
    result = laptop.ferry("sync", "--wait", "--timeout", 1, check=False)
    assert result.returncode == 5, result
    assert laptop.read("Made offline.md") is not None
    server.start()
    laptop.sync()
    assert laptop.status()["pendingUp"] == 0 and laptop.status()["state"] == "running"


def test_sigterm_is_quick_and_loses_nothing(server, laptop):
    laptop.start()
    laptop.login(server, create=True)
    for number in range(200):
        laptop.write(f"Task {number}.md", f"{number}\n")
    until(laptop.list, "the daemon to have begun with them")
    started = time.monotonic()
    assert laptop.stop() == 0
    assert time.monotonic() - started < 5
    laptop.start()
    laptop.sync()
    assert len(laptop.list()) == 200


def test_a_watching_command_does_not_delay_the_stop(laptop, server):
    laptop.start()
    laptop.login(server, create=True)
    events = Events(laptop)
    until(lambda: events.of("status"), "the first event")
    started = time.monotonic()
    assert laptop.stop() == 0
    assert time.monotonic() - started < 3
    until(lambda: events.ended, "the end of the stream")


@pytest.mark.parametrize("damage", ["garbage", "truncated", "middle"])
def test_a_damaged_replica_is_quarantined_and_recreated(server, laptop, damage):
    laptop.start()
    laptop.login(server, create=True)
    for number in range(50):
        laptop.write(f"Task {number}.md", f"{number}\n" * 50)
    laptop.sync()
    laptop.stop()
    (replica,) = laptop.state.glob("replica-*.db")
    for journal in laptop.state.glob("replica-*.db-*"):
        journal.unlink()
    content = replica.read_bytes()
    replica.write_bytes({
        "garbage": b"no database at all" * 100, "truncated": content[: len(content) // 2 // 4096 * 4096],
        "middle": content[:4096] + os.urandom(len(content) - 4096)}[damage])
    laptop.start()
    until(lambda: any(p["code"] == "state-damaged" for p in laptop.status()["problems"]),
          lambda: f"{laptop.status()}\n{laptop.daemon.tail()}")
    until(lambda: laptop.status()["state"] == "running", lambda: f"{laptop.status()}\n{laptop.daemon.tail()}", timeout=30)
    laptop.sync()
    assert len(laptop.list()) == 50 and len(laptop.files()) == 50
    assert not laptop.json("trash")["trash"] and not laptop.json("deletes")["deletes"]
    assert list(laptop.state.glob("replica-*.db.damaged-*"))


def test_a_missing_tasks_directory_holds_everything_until_it_is_back(server, laptop):
    laptop.start()
    laptop.login(server, create=True)
    laptop.write("A.md", "")
    laptop.sync()
    laptop.stop()
    aside = laptop.tasks.with_name("aside")
    laptop.tasks.rename(aside)
    laptop.start()
    until(lambda: laptop.status()["state"] == "root-held", lambda: laptop.status())
    assert not laptop.tasks.exists()
    assert laptop.status()["hint"]
    aside.rename(laptop.tasks)
    until(lambda: laptop.status()["state"] == "running", lambda: laptop.status())
    laptop.sync()
    assert set(laptop.list()) == {"A"}
