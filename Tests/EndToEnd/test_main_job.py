"""The main use: one user's tasks on two machines, through files and through `ferry`."""
import json
import os
from datetime import datetime, timedelta

import pytest

from harness import PASSWORD, Machine, agree, until


def waiting(machine, what):
    """Returns the entries that wait for the user; the exit status shows whether there are any."""
    result = machine.ferry(what, "--json", check=False)
    entries = json.loads(result.stdout)[what]
    assert result.returncode == (6 if entries else 0), result
    return entries


def test_files_and_commands_have_the_same_effect_on_both_sides(machines):
    laptop, desk = machines
    # Created by touch, by an editor and by a command, in lists that did not exist.
    laptop.write("Buy milk.md", "")
    desk.write("Work/Ship 1.0.md", "---\npriority: high\n---\nNotes\n")
    identifier = laptop.ferry("add", "Call the plumber", "+home", "due:2026-12-01", "priority:low", "--list", "Home").strip()
    agree(laptop, desk)
    assert set(laptop.files()) == {"Buy milk.md", "Work/Ship 1.0.md", "Home/Call the plumber.md"}
    assert desk.list()["Call the plumber"]["id"] == identifier
    assert {entry["name"]: entry["open"] for entry in desk.json("lists")["lists"]} == {"Inbox": 1, "Home": 1, "Work": 1}
    assert "Ship 1.0" in laptop.ferry("list", "list:Work") and "milk" not in laptop.ferry("list", "list:Work")

    # Edited, completed, renamed, moved and deleted through files on one side ...
    desk.write("Buy milk.md", "---\ncompleted: true\n---\nOat\n")
    (desk.tasks / "Work/Ship 1.0.md").rename(desk.tasks / "Work/Ship 1.1.md")
    (desk.tasks / "Home/Call the plumber.md").rename(desk.tasks / "Call the plumber.md")
    agree(laptop, desk)
    assert laptop.list()["Buy milk"]["completed"] and laptop.json("show", "milk")["notes"] == "Oat\n"
    assert laptop.list()["Call the plumber"]["id"] == identifier
    assert set(laptop.files()) == {"Buy milk.md", "Work/Ship 1.1.md", "Call the plumber.md"}
    # ... and through commands on the other.
    laptop.ferry("undone", "milk")
    laptop.ferry("set", "milk", "priority:high", "+shop", "due:2026-12-24")
    laptop.ferry("set", "Ship", "title:Ship 2.0")
    laptop.ferry("move", "plumber", "Work")
    laptop.ferry("done", "plumber")
    agree(laptop, desk)
    milk = desk.read("Buy milk.md")
    assert all(line in milk for line in ("due: 2026-12-24", "[shop]", "priority: high", "Oat")) and "completed" not in milk
    assert "completed: true" in desk.read("Work/Call the plumber.md") and desk.read("Work/Ship 2.0.md") is not None
    assert desk.list()["Call the plumber"]["id"] == identifier

    # Deleted by removing the file, then by command; both tasks are restored.
    (desk.tasks / "Buy milk.md").unlink()
    until(lambda: laptop.read("Buy milk.md") is None, laptop.daemon.tail)
    laptop.ferry("rm", "plumber", "--yes")
    until(lambda: desk.read("Work/Call the plumber.md") is None, desk.daemon.tail)
    trash = desk.json("trash")["trash"]
    assert {entry["title"] for entry in trash} == {"Buy milk", "Call the plumber"}
    for entry in trash:
        deleted, kept = (datetime.fromisoformat(entry[name]) for name in ("deletedTime", "keptUntil"))
        assert kept - deleted == timedelta(days=30) and f"kept until {kept.astimezone():%Y-%m-%d}" in desk.ferry("trash")
    desk.ferry("restore", "plumber")
    laptop.ferry("restore", "milk")
    agree(laptop, desk)
    assert "Oat" in desk.read("Buy milk.md") and laptop.list()["Call the plumber"]["id"] == identifier
    assert not laptop.json("trash")["trash"]

    status = laptop.status()
    assert status["state"] == "running" and status["tasks"] == 3 and status["pendingUp"] == 0 and not status["problems"]
    assert laptop.ferry("status", "--check") == ""
    assert laptop.json("whoami")["account"]["userId"] == desk.json("whoami")["account"]["userId"]


def test_offline_changes_on_both_sides_are_merged(server, machines):
    laptop, desk = machines
    laptop.write("Plan.md", "---\ntags: [a]\n---\none\ntwo\nthree\nfour\nfive\n")
    laptop.write("Kept.md", "")
    agree(laptop, desk)
    server.stop()
    until(lambda: laptop.status()["state"] == "offline" and desk.status()["state"] == "offline", "both offline")
    assert laptop.ferry("status", "--check", check=False).returncode == 5
    laptop.write("Plan.md", laptop.read("Plan.md").replace("one", "ONE").replace("[a]", "[a, b]"))
    laptop.ferry("add", "From the laptop")
    laptop.ferry("rm", "Kept", "--yes")
    desk.write("Plan.md", desk.read("Plan.md").replace("five", "FIVE").replace("[a]", "[a, c]"))
    desk.ferry("set", "Plan", "priority:high")
    desk.write("Kept.md", "edited: the edit survives the delete\n")
    desk.write("From the desk.md", "")
    until(lambda: desk.status()["pendingUp"] > 0 and laptop.status()["pendingUp"] > 0, "edits in both journals")
    server.start()
    agree(laptop, desk)
    text = laptop.read("Plan.md")
    assert "ONE\ntwo\nthree\nfour\nFIVE\n" in text and "priority: high" in text
    assert set(laptop.list()["Plan"]["tags"]) == {"a", "b", "c"}
    assert set(laptop.list()) == {"Plan", "From the laptop", "From the desk", "Kept"}
    assert "edited" in laptop.read("Kept.md")
    # The merge reports that the edit came before the delete; nothing else was a conflict.
    assert [(c["title"], c["reason"]) for c in waiting(laptop, "conflicts")] == [("Kept", "editSurvivesDelete")]


def test_a_value_that_lost_is_shown_and_one_command_restores_it(machines):
    laptop, desk = machines
    laptop.ferry("add", "Both edit this", "priority:low")
    agree(laptop, desk)
    laptop.ferry("pause")
    laptop.ferry("set", "Both", "priority:high")
    desk.ferry("set", "Both", "priority:medium")
    desk.sync()
    laptop.ferry("resume")
    agree(laptop, desk)
    # The later commit wins on both machines.
    assert desk.list()["Both edit this"]["priority"] == "high"
    (conflict,) = waiting(laptop, "conflicts")
    assert conflict["field"] == "priority"
    assert laptop.ferry("status", "--check", check=False).returncode == 6
    laptop.ferry("conflicts", "theirs", conflict["id"])
    agree(laptop, desk)
    assert laptop.list()["Both edit this"]["priority"] == desk.list()["Both edit this"]["priority"] == "medium"
    assert not waiting(laptop, "conflicts") and laptop.ferry("status", "--check") == ""


def test_many_deletes_at_once_are_held_until_approved_or_restored(machines):
    laptop, desk = machines
    for number in range(30):
        laptop.write(f"Task {number:02}.md", f"{number}\n")
    agree(laptop, desk)

    def delete_all():
        for path in laptop.tasks.glob("Task *.md"):
            path.unlink()
        # A missing file is not in sync until it counts as deleted, nor while its delete is held.
        assert laptop.ferry("sync", "--wait", check=False).returncode == 6
        assert laptop.status()["heldDeletes"] == 30, laptop.status()

    delete_all()
    assert laptop.ferry("status", "--check", check=False).returncode == 6
    assert len(waiting(laptop, "deletes")) == 30
    # Edits sync in the meantime, in both directions.
    desk.write("News.md", "")
    until(lambda: laptop.read("News.md") is not None, laptop.daemon.tail)
    assert len(desk.files()) == 31
    # A file that returns cancels its delete.
    laptop.write("Task 00.md", "0\n")
    until(lambda: laptop.status()["heldDeletes"] == 29, lambda: laptop.status())
    laptop.ferry("deletes", "restore", "--all", "--yes")
    until(lambda: len(laptop.files()) == 31, lambda: sorted(laptop.files()))
    agree(laptop, desk)
    assert laptop.status()["heldDeletes"] == 0 and not laptop.json("trash")["trash"]
    delete_all()
    assert laptop.ferry("deletes", "approve", "--all", check=False).returncode == 2, "not without --yes"
    laptop.ferry("deletes", "approve", "--all", "--yes")
    until(lambda: set(desk.files()) == {"News.md"}, lambda: sorted(desk.files()))
    assert len(desk.json("trash")["trash"]) == 30


def test_pause_holds_both_directions_and_sync_waits_for_everything(machines):
    laptop, desk = machines
    laptop.ferry("pause")
    assert laptop.status()["state"] == "paused"
    laptop.write("Here.md", "")
    desk.write("There.md", "")
    desk.sync()
    until(lambda: laptop.status()["pendingUp"] > 0, "the edit in the journal")
    laptop.ferry("resume")
    laptop.sync()
    assert laptop.status()["pendingUp"] == 0
    agree(laptop, desk)
    assert set(desk.files()) == {"Here.md", "There.md"}


def test_a_third_machine_that_signs_in_gets_everything(root, server, machines):
    laptop, desk = machines
    laptop.write("Work/One.md", "---\n# a comment\npriority:   high\nzone: 7\n---\r\nBody\r\n")
    laptop.write("Two.md", "\ufeff---\ntags: ['x']\n---\n")
    third = Machine(root, "third")
    third.start()
    third.write("Mine.md", "was here before\n")
    third.login(server)
    try:
        agree(laptop, desk, third)
        assert set(third.files()) == {"Work/One.md", "Two.md", "Mine.md"}
    finally:
        third.stop()


@pytest.mark.parametrize("arguments, status, told", [
    (["show", "nothing like it"], 3, "ferry list"), (["shwo"], 2, "show"), (["list", "--josn"], 2, "--json"),
    (["add", "x", "due:soonish"], 2, "soonish"), (["set", "Task", "priority:urgent"], 2, "urgent"), (["add"], 2, "WORD"),
    (["attach", "Task", "/nowhere"], 3, "/nowhere"), (["get", "Task", "nothing"], 3, "nothing"),
])
def test_a_failed_command_names_the_remedy(machines, arguments, status, told):
    laptop, _ = machines
    laptop.ferry("add", "Task")
    result = laptop.ferry(*arguments, check=False)
    assert result.returncode == status and told in result.stderr, result
    assert len(result.stderr.strip().splitlines()) <= 3 and PASSWORD not in result.stderr


def test_without_the_daemon_commands_say_so(machines):
    laptop, _ = machines
    laptop.stop()
    result = laptop.ferry("list", check=False)
    assert result.returncode == 4 and "ferryd" in result.stderr
    assert os.listdir(laptop.tasks) == [".ferry"]
