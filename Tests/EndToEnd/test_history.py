"""History as users see it: the values that a merge replaced, the origin of each value, and the ways to restore it."""
import json

import pytest

from harness import agree, until


@pytest.fixture
def merged(machines):
    """Creates a task that both machines changed independently. The desk's changes reached the server later."""
    laptop, desk = machines
    laptop.write("Ship.md", "---\npriority: low\ndue: 2026-12-01\n---\none\ntwo\nthree\n")
    agree(laptop, desk)
    desk.ferry("pause")
    laptop.write("Ship.md", "---\npriority: high\ndue: 2026-12-01\n---\nONE\ntwo\nthree\n")
    laptop.ferry("set", "Ship", "+laptop", "list:Work")
    laptop.sync()
    desk.write("Ship.md", "---\ndue: 2026-12-01\n---\none\ntwo\nTHREE\n")
    until(lambda: desk.status()["pendingUp"] > 0, "the edit in the desk's journal")
    desk.ferry("resume")
    agree(laptop, desk)
    until(lambda: laptop.status()["conflicts"] == 1, lambda: f"{laptop.status()}\n{laptop.read('Work/Ship.md')}")
    return laptop, desk


def test_a_conflict_is_reported_in_the_users_terms(merged):
    laptop, desk = merged
    result = laptop.ferry("conflicts", check=False)
    assert result.returncode == 6
    (first, stands, displaced, sentence) = result.stdout.splitlines()
    handle, _, what = first.partition("  ")
    assert what == "Ship: priority" and 4 <= len(handle) <= 8
    assert "none" in stands and "(desk, 20" in stands
    assert "high" in displaced and "(laptop, 20" in displaced
    assert sentence.strip() == "It was changed on desk and on laptop; the change on desk reached the server later."
    assert "ferry conflicts restore" in result.stderr
    (conflict,) = json.loads(desk.ferry("conflicts", "--json", check=False).stdout)["conflicts"]
    assert conflict["label"] == "priority" and conflict["device"] == "desk" and conflict["displacedDevice"] == "laptop"
    assert "priority none stays" in desk.ferry("conflicts", "keep", handle)
    until(lambda: laptop.status()["conflicts"] == 0, laptop.status)


def test_a_replaced_value_is_restored_by_the_tasks_name_and_stays_in_the_history(merged):
    laptop, desk = merged
    assert "priority high is back" in laptop.ferry("conflicts", "theirs", "Ship")
    until(lambda: "priority: high" in desk.read("Work/Ship.md"), lambda: desk.read("Work/Ship.md"))
    until(lambda: desk.status()["conflicts"] == 0, desk.status)
    (entry,) = desk.json("history", "Ship")["history"]
    assert (entry["displaced"], entry["displacedDevice"], entry["device"]) == ("high", "laptop", "desk") and not entry["open"]
    assert (entry["standing"], entry["standingDevice"]) == ("high", "laptop"), "who took it back made what stands now"
    assert "(laptop, 20" in desk.ferry("history", "Ship")
    assert laptop.ferry("conflicts", check=False).returncode == 0
    assert laptop.ferry("conflicts", "theirs", "Ship", check=False).returncode == 3
    # Restoring was a command, too.
    assert "priority: high → none" in laptop.ferry("undo")
    until(lambda: "priority" not in desk.read("Work/Ship.md"), lambda: desk.read("Work/Ship.md"))


def test_explain_names_device_time_and_rule_of_each_field(merged):
    laptop, desk = merged
    for machine in merged:
        fields = {field["label"]: field for field in machine.json("explain", "Ship")["fields"]}
        assert fields["title"]["device"] == "laptop" and fields["title"]["rule"] == "created"
        assert fields["tags"]["device"] == "laptop" and fields["tags"]["rule"] == "changed"
        assert fields["list"]["value"] == "Work" and fields["list"]["device"] == "laptop"
        assert (fields["priority"]["value"], fields["priority"]["device"]) == ("none", "desk")
        assert fields["notes"]["device"] == "desk" and fields["notes"]["rule"] == "merged"
        assert all(field["time"].startswith("20") for field in fields.values())
    assert "their lines were merged" in laptop.ferry("explain", "Ship")


def test_an_edit_that_kept_a_deleted_task_is_reported_as_such(machines):
    laptop, desk = machines
    laptop.write("Note.md", "one\n")
    agree(laptop, desk)
    desk.ferry("pause")
    desk.write("Note.md", "two\n")
    until(lambda: desk.status()["pendingUp"] > 0, "the edit in the desk's journal")
    laptop.ferry("rm", "Note")
    laptop.sync()
    # The trash shows the user who deleted the task.
    assert [f["device"] for f in laptop.json("explain", "Note")["fields"] if f["value"] == "deleted"] == ["laptop"]
    desk.ferry("resume")
    until(lambda: laptop.read("Note.md") == "two\n", laptop.daemon.tail)
    until(lambda: laptop.status()["conflicts"] == 1, laptop.status)
    told = laptop.ferry("conflicts", check=False).stdout
    assert "Note: task" in told and "It was deleted on laptop; the edit on desk kept it." in told
    laptop.ferry("conflicts", "restore", "--all")
    until(lambda: desk.read("Note.md") is None, desk.daemon.tail)
    until(lambda: laptop.status()["conflicts"] == 0, laptop.status)


def test_undo_reverts_commands_and_remote_changes(machines):
    laptop, desk = machines
    laptop.ferry("add", "Buy milk", "priority:low")
    laptop.ferry("set", "milk", "priority:high", "+errands")
    agree(laptop, desk)
    assert "priority: high → low" in laptop.ferry("undo", "--dry-run")
    assert laptop.list()["Buy milk"]["priority"] == "high"
    laptop.ferry("undo")
    until(lambda: "priority: low" in (desk.read("Buy milk.md") or ""), desk.daemon.tail)
    assert not laptop.list()["Buy milk"].get("tags")
    # A change from another machine, followed by a change of something else.
    desk.write("Buy milk.md", "---\npriority: medium\n---\nOat.\n")
    until(lambda: laptop.read("Buy milk.md") == "---\npriority: medium\n---\nOat.\n", laptop.daemon.tail)
    laptop.ferry("set", "milk", "due:2026-12-24")
    laptop.ferry("undo", "milk")
    agree(laptop, desk)
    assert laptop.list()["Buy milk"]["priority"] == "medium" and not laptop.list()["Buy milk"].get("due")
    assert "priority: medium → low" in laptop.ferry("undo", "milk")
    agree(laptop, desk)
    assert "Oat" not in desk.read("Buy milk.md") and laptop.list()["Buy milk"]["priority"] == "low"
    laptop.ferry("undo")
    until(lambda: desk.read("Buy milk.md") is None, desk.daemon.tail)
    nothing = laptop.ferry("undo", check=False)
    assert nothing.returncode == 3 and "left to undo" in nothing.stderr


def test_explain_formats_a_date_like_the_file(machines):
    laptop, desk = machines
    laptop.write("Call.md", "---\ndue: 2026-12-01T17:00\ncolor: red\n---\n")
    agree(laptop, desk)
    fields = [(field["label"], field["value"]) for field in desk.json("explain", "Call")["fields"]]
    assert fields == [("title", "Call"), ("completed", "open"), ("due", "2026-12-01T17:00"), ("color", "red")]
