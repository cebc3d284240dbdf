"""Files that look new, empty or moved, and the intention of their user."""
import os
import shutil

from harness import agree, until


def with_plan(laptop, desk):
    """Creates a task with an attachment on both machines, and returns its id."""
    laptop.write("Plan.md", "---\npriority: high\n---\nthe plan\n")
    laptop.write("Plan.files/a.txt", "an attachment")
    agree(laptop, desk)
    return laptop.list()["Plan"]["id"]


def test_a_copy_whose_original_is_removed_at_once_is_the_same_task(machines):
    laptop, desk = machines
    task = with_plan(laptop, desk)
    shutil.copy2(laptop.tasks / "Plan.md", laptop.tasks / "Tour.md")
    until(lambda: "Tour" in laptop.list(), laptop.list)
    (laptop.tasks / "Plan.md").unlink()
    for machine in machines:
        until(lambda: machine.list().get("Tour", {}).get("id") == task, machine.list)
        until(lambda: machine.read("Tour.files/a.txt") == "an attachment", machine.files)
    agree(laptop, desk)
    assert list(laptop.list()) == ["Tour"] and laptop.status()["trashed"] == 0


def test_a_program_that_deletes_and_writes_again_keeps_the_task(machines):
    laptop, desk = machines
    task = with_plan(laptop, desk)
    (laptop.tasks / "Plan.md").unlink()
    until(lambda: desk.read("Plan.md") is None, desk.files)
    laptop.write("Plan.md", "another plan\n")
    for machine in machines:
        until(lambda: machine.read("Plan.files/a.txt") == "an attachment", machine.files)
    agree(laptop, desk)
    assert desk.read("Plan.md") == "another plan\n" and desk.list()["Plan"]["id"] == task
    assert "the plan" in desk.ferry("history", "Plan")


def test_a_file_that_is_emptied_while_the_daemon_is_off_stays_empty(machines):
    laptop, desk = machines
    laptop.write("Note.md", "---\npriority: high\n---\nwords\n")
    agree(laptop, desk)
    laptop.stop()
    laptop.write("Note.md", "")
    laptop.start()
    until(lambda: desk.read("Note.md") == "", desk.files)
    assert laptop.read("Note.md") == ""


def test_a_directory_in_the_place_of_a_task_is_reported(machines):
    laptop, desk = machines
    laptop.write("Plan.md", "the plan\n")
    agree(laptop, desk)
    os.rename(laptop.tasks / "Plan.md", laptop.tasks / "other.md")
    (laptop.tasks / "Plan.md").mkdir()
    os.rename(laptop.tasks / "other.md", laptop.tasks / "Plan.md" / "Plan.md")
    until(lambda: "wrong-kind" in [p["code"] for p in laptop.status()["problems"]], laptop.status)
    assert desk.read("Plan.md") == "the plan\n"


def test_a_note_that_two_machines_create_apart_is_one_task(server, machines):
    laptop, desk = machines
    laptop.write("Other.md", "seen\n")
    agree(laptop, desk)
    server.stop()
    for machine in machines:
        until(lambda: machine.status()["state"] == "offline", machine.status)
    laptop.write("Daily/Day.md", "# Day\n")
    laptop.write("Daily/Day.files/a.txt", "of the laptop")
    desk.write("Daily/Day.md", "# Day\n\n- milk\n")
    desk.write("Daily/Day.files/b.txt", "of the desk")
    for machine in machines:
        until(lambda: "Day" in machine.list(), machine.list)
    server.start()
    for machine in machines:
        until(lambda: machine.status()["state"] == "running", machine.status)
        until(lambda: machine.read("Daily/Day.md") == "# Day\n\n- milk\n", machine.files)
        until(lambda: machine.read("Daily/Day.files/a.txt") == "of the laptop", machine.files)
        until(lambda: machine.read("Daily/Day.files/b.txt") == "of the desk", machine.files)
    agree(laptop, desk)
    assert sorted(laptop.list()) == ["Day", "Other"] and laptop.status()["trashed"] == 0
    assert sorted(path.name for path in (laptop.tasks / "Daily").iterdir()) == ["Day.files", "Day.md"]
    assert laptop.status()["conflicts"] == 0


def test_a_file_that_is_written_again_after_a_restart_is_the_same_task(machines):
    laptop, desk = machines
    task = with_plan(laptop, desk)
    (laptop.tasks / "Plan.md").unlink()
    until(lambda: desk.read("Plan.md") is None, desk.files)
    laptop.stop()
    laptop.start()
    laptop.write("Plan.md", "another plan\n")
    for machine in machines:
        until(lambda: machine.read("Plan.files/a.txt") == "an attachment", machine.files)
    agree(laptop, desk)
    assert desk.list()["Plan"]["id"] == task


def test_an_edit_in_place_is_one_of_all_hard_links(machines):
    laptop, desk = machines
    laptop.write("One.md", "first line\n")
    agree(laptop, desk)
    os.link(laptop.tasks / "One.md", laptop.tasks / "Two.md")
    agree(laptop, desk)
    with open(laptop.tasks / "One.md", "a") as file:
        file.write("through One\n")
    until(lambda: desk.read("Two.md") == "first line\nthrough One\n", desk.files)
    agree(laptop, desk)


def test_a_renamed_list_that_is_removed_and_made_again_keeps_its_name(machines):
    laptop, desk = machines
    for number in range(3):
        laptop.write(f"W/w{number}.md", f"w {number}\n")
    for number in range(12):
        laptop.write(f"z{number}.md", f"z {number}\n")
    agree(laptop, desk)
    os.rename(laptop.tasks / "W", laptop.tasks / "V")
    until(lambda: desk.read("V/w2.md") == "w 2\n" and desk.read("W/w2.md") is None, desk.files)
    # As 'git switch' does it, to and fro.
    for old, new in (("V", "W"), ("W", "V")):
        shutil.rmtree(laptop.tasks / old)
        for number in range(3):
            laptop.write(f"{new}/w{number}.md", f"w {number}\n")
        until(lambda: desk.read(f"{new}/w2.md") == "w 2\n" and desk.read(f"{old}/w2.md") is None, desk.files)
    agree(laptop, desk)
    for machine in machines:
        until(lambda: [path.name for path in machine.tasks.iterdir() if path.name[0] in "VW"] == ["V"], machine.files)
    assert len(laptop.list()) == 15
