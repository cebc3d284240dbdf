"""Recurring tasks: their occurrences on several machines, by commands and by editors."""
from harness import agree, until


def task(machine, title="Water plants"):
    """The task with its front matter as `ferry show --json` gives it."""
    return machine.json("show", title)


def due(machine, title="Water plants"):
    return task(machine, title)["task"].get("due")


def instances(text, key="complete_instances"):
    """The entries of a list in the front matter of a file."""
    for line in (text or "").splitlines():
        if line.startswith(key + ": ["):
            return line[len(key) + 3:-1].split(", ")
    return []


def test_done_completes_one_occurrence_and_undo_takes_it_back(machines):
    laptop, desk = machines
    laptop.ferry("add", "Water plants", "every:3d", "due:2099-11-28")
    agree(laptop, desk)
    desk.ferry("done", "plants")
    agree(laptop, desk)
    assert due(laptop) == "2099-12-01" and not task(laptop)["task"].get("completed")
    assert instances(laptop.read("Water plants.md")) == ["2099-11-28"]
    explained = laptop.ferry("explain", "plants")
    assert "occurrence of 2099-11-28" in explained and "done" in explained, explained
    told = desk.ferry("undo")
    assert "occurrence of 2099-11-28: done → open" in told and "due: 2099-12-01 → 2099-11-28" in told, told
    agree(laptop, desk)
    assert due(laptop) == "2099-11-28" and not instances(laptop.read("Water plants.md"))
    laptop.ferry("skip", "plants")
    agree(laptop, desk)
    assert due(desk) == "2099-12-01"
    assert instances(desk.read("Water plants.md"), "skipped_instances") == ["2099-11-28"]


def test_an_occurrence_completed_on_two_machines_offline_is_one(server, machines):
    laptop, desk = machines
    laptop.ferry("add", "Water plants", "every:1w", "due:2099-11-28")
    agree(laptop, desk)
    server.kill()
    laptop.ferry("done", "plants")
    desk.ferry("done", "plants")
    assert due(laptop) == due(desk) == "2099-12-05"
    server.start()
    agree(laptop, desk)
    for machine in machines:
        assert due(machine) == "2099-12-05"
        assert instances(machine.read("Water plants.md")) == ["2099-11-28"]
        assert machine.status()["conflicts"] == 0


def test_different_occurrences_completed_offline_are_all_kept(server, machines):
    laptop, desk = machines
    laptop.ferry("add", "Water plants", "every:1w", "due:2099-11-28")
    agree(laptop, desk)
    server.kill()
    for _ in range(3):
        laptop.ferry("done", "plants")
    desk.ferry("done", "plants")
    desk.ferry("done", "plants")
    server.start()
    agree(laptop, desk)
    for machine in machines:
        assert due(machine) == "2099-12-19"
        assert instances(machine.read("Water plants.md")) == ["2099-11-28", "2099-12-05", "2099-12-12"]
        assert machine.status()["conflicts"] == 0


def test_an_editor_and_a_command_complete_the_same_occurrence_once(server, machines):
    laptop, desk = machines
    laptop.write("Water plants.md", "---\nrecurrence: FREQ=DAILY\ndue: 2099-11-28 # soon\n---\nnotes\n")
    agree(laptop, desk)
    server.kill()
    text = laptop.read("Water plants.md")
    laptop.write("Water plants.md", text.replace("---\nnotes", "completed: true\n---\nnotes"))
    until(lambda: "due: 2099-11-29 # soon" in laptop.read("Water plants.md"), laptop.files)
    assert "completed:" not in laptop.read("Water plants.md")
    desk.ferry("done", "plants")
    server.start()
    agree(laptop, desk)
    for machine in machines:
        assert due(machine) == "2099-11-29"
        assert instances(machine.read("Water plants.md")) == ["2099-11-28"]


def test_a_vault_of_tasknotes_stays_as_it_is_until_an_occurrence_is_completed(machines):
    laptop, desk = machines
    text = ("---\nstatus: open\nrecurrence: \"DTSTART:20990804T090000Z;FREQ=DAILY\"\nscheduled: 2099-11-28\n"
            "complete_instances:\n  - 2099-11-26\n  - 2099-11-27\n---\nWater them\n")
    laptop.write("Water plants.md", text)
    agree(laptop, desk)
    assert laptop.read("Water plants.md") == desk.read("Water plants.md") == text
    laptop.write("Water plants.md", text.replace("  - 2099-11-27\n", "  - 2099-11-27\n  - 2099-11-28\n"))
    until(lambda: "scheduled: 2099-11-29" in (desk.read("Water plants.md") or ""), desk.files)
    agree(laptop, desk)
    desk.ferry("done", "plants")
    agree(laptop, desk)
    assert "  - 2099-11-29\n" in laptop.read("Water plants.md")
    assert "scheduled: 2099-11-30\n" in laptop.read("Water plants.md")


def test_a_recurrence_in_words_is_set_and_ended(machines):
    laptop, _ = machines
    laptop.ferry("add", "Pay rent", "every:1", "due:2099-12-01")
    assert "recurrence: FREQ=MONTHLY;BYMONTHDAY=1" in laptop.read("Pay rent.md")
    laptop.ferry("set", "rent", "every!:2w")
    assert "recurrence: FREQ=WEEKLY;INTERVAL=2" in laptop.read("Pay rent.md")
    assert "recurrence_anchor: completion" in laptop.read("Pay rent.md")
    laptop.ferry("set", "rent", "every:none")
    assert "recurrence" not in laptop.read("Pay rent.md")
    laptop.ferry("done", "rent")
    assert "completed: true" in laptop.read("Pay rent.md")
    result = laptop.ferry("set", "rent", "every:moon", check=False)
    assert result.returncode == 2 or result.returncode == 1, result
    assert "not a recurrence" in result.stderr


def test_an_occurrence_that_is_kept_is_one_task_after_two_machines_completed_it_offline(server, machines):
    laptop, desk = machines
    laptop.ferry("add", "Water plants", "every:1w", "due:2099-11-28", "+home")
    agree(laptop, desk)
    server.kill()
    for machine in machines:
        machine.ferry("done", "plants", "--archive")
    server.start()
    agree(laptop, desk)
    for machine in machines:
        assert sorted(machine.files()) == ["Water plants 2099-11-28.md", "Water plants.md"]
        assert machine.status()["conflicts"] == 0, machine.ferry("conflicts")
    kept = laptop.json("show", "Water plants 2099-11-28.md")["task"]
    assert kept["completed"] and kept["due"] == "2099-11-28" and kept["tags"] == ["home"], kept
    assert "occurrence_date: 2099-11-28" in laptop.read("Water plants 2099-11-28.md")
    laptop.ferry("undo")
    agree(laptop, desk)
    assert sorted(desk.files()) == ["Water plants.md"] and due(desk) == "2099-11-28"
