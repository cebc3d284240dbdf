"""A file above a limit is refused when it is attached, with the limit and its current use, and leaves nothing behind."""
import os

import pytest

from harness import Machine, agree, until


def leftovers(machine):
    return sorted(p.name for p in (machine.tasks / ".ferry").rglob("*") if p.is_file() and p.name.startswith("attach-"))


def refused(machine, *arguments):
    result = machine.ferry("attach", *arguments, check=False, timeout=20)
    assert result.returncode == 1, result
    assert not leftovers(machine) and not machine.json("transfers")["transfers"]
    return result.stderr


def test_a_file_that_is_too_large_or_larger_than_the_disk_is_refused_before_it_is_copied(root, machines):
    laptop, desk = machines
    laptop.write("Film.md", "to watch\n")
    agree(laptop, desk)
    huge = root / "huge.bin"
    with open(huge, "wb") as file:
        file.truncate(700 << 30)
    assert "has 700 GiB; an attachment has 640 GiB at most" in refused(laptop, "Film", huge)
    disk = os.statvfs(laptop.tasks)
    free = disk.f_bavail * disk.f_frsize
    if free > 600 << 30:
        pytest.skip("this disk takes the largest attachment")
    with open(huge, "wb") as file:
        file.truncate(free + (8 << 30))
    told = refused(laptop, "Film", huge)
    assert f"has {(free + (8 << 30)) >> 20} MiB, and the disk of the tasks directory has " in told and "Free some space" in told
    assert not (laptop.tasks / "Film.files").exists()


def test_a_task_whose_document_is_full_takes_no_more_attachments(root, machines):
    laptop, desk = machines
    # The document has the front matter twice: as values, and as the text in the file.
    laptop.write("Book.md", f"---\nlong: {'y' * 48_500}\n---\n" + "x" * 949_500 + "\n")
    (root / "small.txt").write_text("small")
    agree(laptop, desk)
    names = [f"{number}.txt" for number in range(20)]
    attached = []
    while (result := laptop.ferry("attach", "Book", root / "small.txt", "--name", names[len(attached)], check=False)).returncode == 0:
        attached.append(names[len(attached)])
    assert result.returncode == 1 and f"its notes and {len(attached)} attachments take 104" in result.stderr, result
    assert "of 1048576 bytes" in result.stderr and "ferry detach" in result.stderr and attached
    assert sorted(os.listdir(laptop.tasks / "Book.files")) == attached and not leftovers(laptop)
    for machine in (laptop, desk):
        machine.sync()
    laptop.ferry("detach", "Book", attached.pop())
    laptop.ferry("attach", "Book", root / "small.txt", "--name", "last.txt")
    for machine in (laptop, desk):
        machine.sync()
    assert sorted(os.listdir(desk.tasks / "Book.files")) == [*attached, "last.txt"] and not desk.status()["problems"]
    assert not laptop.status()["problems"]


def test_attachments_of_a_pinned_task_are_downloaded_by_a_machine_that_downloads_no_others(root, server):
    laptop, desk = Machine(root, "laptop"), Machine(root, "desk", "--download", "none")
    for index, machine in enumerate((laptop, desk)):
        machine.start()
        machine.login(server, create=index == 0)
    for name in ("Film", "Other"):
        laptop.write(f"{name}.md", "")
        laptop.write(f"{name}.files/a.txt", f"{name} a")
    for machine in (laptop, desk, laptop, desk):
        machine.sync()
    until(lambda: [a["state"] for a in desk.json("attachments", "Film")["attachments"]] == ["remote"], "the attachment")
    assert not (desk.tasks / "Film.files").exists(), "what is not here has no place that looks like it"
    desk.ferry("pin", "Film")
    assert desk.read("Film.files/a.txt") == "Film a"
    assert desk.json("show", "Film")["pinned"] and "pinned" not in desk.json("show", "Other")
    desk.stop()
    desk.start()
    laptop.write("Film.files/b.txt", "Film b")
    laptop.write("Other.files/b.txt", "Other b")
    until(lambda: desk.read("Film.files/b.txt") == "Film b", lambda: desk.daemon.tail())
    until(lambda: len(desk.json("attachments", "Other")["attachments"]) == 2, lambda: str(desk.json("attachments", "Other")))
    desk.ferry("unpin", "Film")
    laptop.write("Film.files/c.txt", "Film c")
    until(lambda: len(desk.json("attachments", "Film")["attachments"]) == 3, lambda: str(desk.json("attachments", "Film")))
    desk.sync()
    assert sorted(os.listdir(desk.tasks / "Film.files")) == ["a.txt", "b.txt"] and not (desk.tasks / "Other.files").exists()
    for machine in (laptop, desk):
        assert not machine.stop()
