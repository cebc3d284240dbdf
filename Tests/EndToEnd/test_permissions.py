"""Files and directories whose modes exclude their owner. They run as an ordinary user only, as root ignores modes."""
import os
import shutil
import stat

import pytest

from harness import agree, until

pytestmark = pytest.mark.skipif(os.geteuid() == 0, reason="root may read and write everything: run it as an ordinary user")


def problems(machine):
    return {(problem["code"], problem["subject"]) for problem in machine.status()["problems"]}


def until_gone(machine, *names):
    until(lambda: not any((machine.tasks / name).exists() for name in names),
          lambda: [name for name in names if (machine.tasks / name).exists()])


def test_a_read_only_file_is_updated_and_stays_read_only(machines):
    laptop, desk = machines
    laptop.write("t.md", "one\n")
    laptop.write("t.files/a.txt", "one")
    agree(laptop, desk)
    for name in ("t.md", "t.files/a.txt"):
        (laptop.tasks / name).chmod(0o444)
        desk.write(name, f"news of {name}\n")
    agree(laptop, desk)
    for name in ("t.md", "t.files/a.txt"):
        assert stat.S_IMODE((laptop.tasks / name).stat().st_mode) == 0o444, name
        assert laptop.read(name) == f"news of {name}\n"
    assert problems(laptop) == set()


def test_an_unreadable_directory_does_not_delay_others(machines, root):
    laptop, desk = machines
    laptop.write("Locked/in.md", "in\n")
    for number in range(20):
        laptop.write(f"t{number}.md", f"text {number}\n")
    laptop.write("t0.files/a.txt", "a")
    laptop.write("t1.files/a.txt", "a")
    agree(laptop, desk)
    (laptop.tasks / "Locked").chmod(0)
    laptop.stop()
    laptop.start()
    try:
        until(lambda: problems(laptop) == {("unreadable", "Locked")}, lambda: problems(laptop))
        # While the daemon runs, the file is removed, and moved away as a desktop's trash does.
        (laptop.tasks / "t5.md").unlink()
        (root / "Trash").mkdir()
        (laptop.tasks / "t6.md").rename(root / "Trash/t6.md")
        shutil.move(laptop.tasks / "t1.files/a.txt", root / "Trash/a.txt")
        until_gone(desk, "t5.md", "t6.md", "t1.files/a.txt")
        # The same while the daemon does not run.
        laptop.stop()
        (laptop.tasks / "t7.md").unlink()
        (laptop.tasks / "t0.files/a.txt").unlink()
        laptop.write("t8.md", "edited\n")
        laptop.start()
        until_gone(desk, "t7.md", "t0.files/a.txt")
        until(lambda: desk.read("t8.md") == "edited\n", "the edit")
        assert desk.read("Locked/in.md") == "in\n"
        assert problems(laptop) == {("unreadable", "Locked")}
    finally:
        (laptop.tasks / "Locked").chmod(0o755)
    agree(laptop, desk)
    until(lambda: problems(laptop) == set(), lambda: problems(laptop))
    assert laptop.read("Locked/in.md") == "in\n"


def test_an_unwritable_directory_is_reported_and_written_later(machines):
    laptop, desk = machines
    laptop.write("Work/w.md", "w\n")
    agree(laptop, desk)
    (laptop.tasks / "Work").chmod(0o555)
    try:
        desk.write("Work/w.md", "w from the desk\n")
        desk.write("t.md", "t\n")
        until(lambda: laptop.read("t.md") == "t\n", "the rest to go on")
        until(lambda: any(subject.startswith("Work") for _, subject in problems(laptop)), lambda: problems(laptop))
    finally:
        (laptop.tasks / "Work").chmod(0o755)
    until(lambda: laptop.read("Work/w.md") == "w from the desk\n", "the retry", timeout=60)
    until(lambda: problems(laptop) == set(), lambda: problems(laptop))
