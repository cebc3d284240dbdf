"""Values that users remove, replace or overwrite can be restored with one command, on every machine."""
import os

from harness import agree, until


def trashed(machine):
    return {entry["attachment"]: entry["id"] for entry in machine.json("trash")["attachments"]}


def test_a_detached_attachment_is_in_the_trash_of_every_machine_and_comes_back(machines):
    laptop, desk = machines
    laptop.write("Trip.md", "go\n")
    laptop.write("Trip.files/a.txt", "seat 12\n")
    laptop.write("Trip.files/b.txt", "seat 13\n")
    agree(laptop, desk)
    # Removed by a command, and restored by another.
    laptop.ferry("detach", "Trip", "a.txt")
    until(lambda: desk.read("Trip.files/a.txt") is None and "a.txt" in trashed(desk), lambda: desk.json("trash"))
    assert "a.txt" in laptop.ferry("undo", "--dry-run") and "a.txt" in laptop.ferry("trash")
    laptop.ferry("undo")
    until(lambda: desk.read("Trip.files/a.txt") == "seat 12\n", desk.daemon.tail)
    agree(laptop, desk)
    assert not trashed(laptop) and not trashed(desk)
    # Removed as a file, and restored on the other machine.
    os.unlink(laptop.tasks / "Trip.files/b.txt")
    until(lambda: desk.read("Trip.files/b.txt") is None and "b.txt" in trashed(desk), lambda: desk.json("trash"))
    history = desk.json("history", "Trip")["history"]
    assert [entry["reason"] for entry in history if "b.txt" in entry["label"]] == ["removed"]
    desk.ferry("restore", "b.txt")
    until(lambda: laptop.read("Trip.files/b.txt") == "seat 13\n", laptop.daemon.tail)
    # Restored by undo on the other machine.
    os.unlink(laptop.tasks / "Trip.files/b.txt")
    until(lambda: desk.read("Trip.files/b.txt") is None, desk.daemon.tail)
    until(lambda: "b.txt" in desk.ferry("undo", "Trip", "--dry-run"), lambda: desk.ferry("undo", "Trip", "--dry-run"))
    desk.ferry("undo", "Trip")
    until(lambda: laptop.read("Trip.files/b.txt") == "seat 13\n", laptop.daemon.tail)


def test_a_replaced_attachment_is_kept_on_every_machine(machines):
    laptop, desk = machines
    laptop.write("Trip.md", "go\n")
    laptop.write("Trip.files/a.txt", "seat 12\n")
    agree(laptop, desk)
    laptop.write("Trip.files/a.txt", "seat 13, window\n")
    until(lambda: desk.read("Trip.files/a.txt") == "seat 13, window\n", desk.daemon.tail)
    until(lambda: "a.txt" in trashed(desk), lambda: desk.json("trash"))
    # The file itself is still on that disk.
    assert [path.read_text() for path in (desk.tasks / ".ferry/trash").rglob("a.txt")] == ["seat 12\n"]
    desk.ferry("restore", trashed(desk)["a.txt"])
    until(lambda: laptop.read("Trip.files/a.txt") == "seat 12\n", laptop.daemon.tail)
    agree(laptop, desk)
    # The value that it replaced is kept, too.
    until(lambda: "a.txt" in trashed(laptop), lambda: laptop.json("trash"))
    laptop.ferry("restore", trashed(laptop)["a.txt"])
    until(lambda: desk.read("Trip.files/a.txt") == "seat 13, window\n", desk.daemon.tail)


def test_attachments_of_one_name_get_the_same_names_on_both_machines(server, machines):
    laptop, desk = machines
    laptop.write("Trip.md", "go\n")
    agree(laptop, desk)
    for machine in machines:
        machine.ferry("pause")
    laptop.write("Trip.files/f.txt", "from the laptop")
    desk.write("Trip.files/f.txt", "from the desk")
    for machine in machines:
        machine.ferry("resume")
    until(lambda: (desk.tasks / "Trip.files/f (2).txt").exists() and (laptop.tasks / "Trip.files/f (2).txt").exists(),
          lambda: desk.json("attachments", "Trip"))
    agree(laptop, desk)
    for name in ("f.txt", "f (2).txt"):
        assert laptop.ferry("cat", "Trip", name) == desk.ferry("cat", "Trip", name) == laptop.read(f"Trip.files/{name}")
    first = laptop.read("Trip.files/f.txt")
    laptop.ferry("detach", "Trip", "f (2).txt")
    agree(laptop, desk)
    assert os.listdir(desk.tasks / "Trip.files") == ["f.txt"] and desk.read("Trip.files/f.txt") == first


def test_a_buffer_that_is_saved_over_a_newer_version_leaves_that_in_the_history(machines):
    laptop, desk = machines
    laptop.write("Day.md", "- [ ] one\n")
    agree(laptop, desk)
    laptop.write("Day.md", "- [ ] one\ncall the bank\n")
    until(lambda: "call the bank" in (desk.read("Day.md") or ""), desk.daemon.tail)
    desk.sync()
    # An editor that has the file open on that machine saves its old content.
    desk.write("Day.md", "- [ ] one\nevening\n")
    agree(laptop, desk)
    for machine in machines:
        (entry,) = machine.json("history", "Day")["history"]
        assert entry["reason"] == "replaced" and "call the bank" in entry["displaced"] and not entry["open"]
    assert desk.status()["conflicts"] == laptop.status()["conflicts"] == 0
    desk.ferry("undo", "Day")
    until(lambda: "call the bank" in laptop.read("Day.md"), laptop.daemon.tail)
    laptop.ferry("restore", entry["handle"])
    agree(laptop, desk)
    assert laptop.read("Day.md") == "- [ ] one\ncall the bank\n"


def test_a_save_over_a_name_that_changed_task_leaves_the_other_text_in_the_history(machines):
    laptop, desk = machines
    laptop.write("x.md", "x\n")
    agree(laptop, desk)
    desk.stop()
    laptop.write("Day.md", "# Today\ncall the bank\n")
    laptop.sync()
    desk.write("Day.md", "# Today\ndraft\n")
    desk.start()
    agree(laptop, desk)
    if "call the bank" in desk.read("Day.md"):
        desk.write("Day.md", "# Today\ndraft\nevening\n")
        agree(laptop, desk)
        for machine in machines:
            history = machine.json("history", str(machine.tasks / "Day.md"))["history"]
            assert any("call the bank" in entry["displaced"] for entry in history), history


def test_files_over_the_limit_of_a_task_are_reported_and_attached_later(machines):
    laptop, desk = machines
    # The document has the front matter twice: as values, and as the text in the file.
    laptop.write("Book.md", f"---\nlong: {'y' * 40_000}\n---\n" + "x" * 950_000 + "\n")
    agree(laptop, desk)
    for number in range(60):
        laptop.write(f"Book.files/{number:02}.txt", f"{number}")
    until(lambda: [problem["code"] for problem in laptop.status()["problems"]] == ["too-large"], laptop.status)
    (problem,) = laptop.status()["problems"]
    assert "of the 1048576 bytes that a task may have" in problem["message"] and "not attached" in problem["message"]
    laptop.write("Book.md", "short\n")
    until(lambda: desk.read("Book.md") == "short\n", lambda: laptop.status())
    until(lambda: len(os.listdir(desk.tasks / "Book.files")) == 60, lambda: laptop.status())
    agree(laptop, desk)
    assert not laptop.status()["problems"] and not desk.status()["problems"]
