"""`ferry sync --dry-run` shows what a sync then does, and changes nothing. Files that are not synced are listed, too."""
from harness import agree, until


def steps(machine):
    return sorted((step["action"], step["subject"], step.get("detail")) for step in machine.json("sync", "--dry-run")["steps"])


def problems(machine):
    return {(problem["code"], problem.get("subject")) for problem in machine.status()["problems"]}


def test_a_dry_run_predicts_the_next_sync(machines):
    laptop, desk = machines
    laptop.write("Work/Ship.md", "---\ndue: 2026-12-01\n---\nnow\n")
    for name in ("Milk", "Bread", "Eggs", "Tea"):
        laptop.write(f"{name}.md", f"{name}\n")
    agree(laptop, desk)
    assert steps(laptop) == [] and laptop.ferry("sync", "-n") == ""
    laptop.ferry("pause")
    laptop.write("Milk.md", "---\npriority: high\n---\nMilk\n")
    (laptop.tasks / "Bread.md").rename(laptop.tasks / "Work/Rye bread.md")
    laptop.write("Jam.md", "new\n")
    laptop.write("Work/Ship.files/plan.txt", "x" * 2048)
    laptop.write("None.files/lost.txt", "lost")
    (laptop.tasks / "Eggs.md").rename(laptop.tasks.parent / "Eggs.md")
    expected = [
        ("leave", "None.files/lost.txt", "belongs to no task"), ("send", "Jam.md", "new task"), ("send", "Milk.md", "priority"),
        ("send", "Work/Rye bread.md", "list, title"), ("upload", "Work/Ship.files/plan.txt", "new")]
    until(lambda: steps(laptop) == sorted([*expected, ("delete", "Eggs", "to the trash")]), lambda: str(steps(laptop)))
    before = laptop.files(), desk.files()
    told = laptop.ferry("sync", "--dry-run", check=False)
    assert told.returncode == 0 and "paused" in told.stderr
    assert "upload  Work/Ship.files/plan.txt  new, 2.0 KiB" in told.stdout
    assert (laptop.files(), desk.files()) == before and laptop.json("transfers")["transfers"][-1]["state"] != "done"
    laptop.ferry("resume")
    until(lambda: desk.read("Work/Ship.files/plan.txt") == "x" * 2048, lambda: laptop.daemon.tail())
    laptop.sync()
    assert steps(laptop) == [("leave", "None.files/lost.txt", "belongs to no task")]
    desk.sync()
    assert desk.read("Milk.md") == "---\npriority: high\n---\nMilk\n" and desk.read("Jam.md") == "new\n"
    assert desk.read("Work/Rye bread.md") == "Bread\n" and desk.read("Bread.md") is None and desk.read("Eggs.md") is None
    assert desk.read("None.files/lost.txt") is None


def test_files_without_a_task_are_reported_until_it_exists(machines):
    laptop, desk = machines
    laptop.write("Old.files/1.txt", "one")
    laptop.write("Old.files/2.txt", "two")
    until(lambda: ("no-task", "Old.files") in problems(laptop), lambda: str(problems(laptop)))
    until(lambda: "2 files in it belong to no task" in laptop.ferry("status"), lambda: laptop.ferry("status"))
    laptop.stop()
    laptop.start()
    until(lambda: ("no-task", "Old.files") in problems(laptop), lambda: str(problems(laptop)))
    (laptop.tasks / "Old.files/1.txt").unlink()
    until(lambda: "1 file in it belongs to no task" in laptop.ferry("status"), lambda: laptop.ferry("status"))
    laptop.write("Old.md", "a task after all\n")
    until(lambda: desk.read("Old.files/2.txt") == "two", lambda: laptop.daemon.tail())
    assert not problems(laptop)
    laptop.write("Gone.files/x", "x")
    until(lambda: ("no-task", "Gone.files") in problems(laptop), lambda: str(problems(laptop)))
    (laptop.tasks / "Gone.files").rename(laptop.tasks.parent / "Gone.files")
    until(lambda: not problems(laptop), lambda: str(problems(laptop)))


def test_a_directory_with_the_name_of_a_task_or_attachment_is_reported_at_once(machines):
    laptop, desk = machines
    laptop.write("Plain.md", "")
    laptop.write("Plain.files/a.txt", "a")
    agree(laptop, desk)
    (laptop.tasks / "Dir.md").mkdir()
    (laptop.tasks / "Plain.files/sub").mkdir()
    both = {("directory-named-as-task", "Dir.md"), ("directory-in-attachments", "Plain.files/sub")}
    until(lambda: problems(laptop) == both, lambda: str(problems(laptop)))
    (laptop.tasks / "Plain.files/sub").rename(laptop.tasks / "sub")
    (laptop.tasks / "Dir.md").rmdir()
    laptop.write("Dir.md", "a file now\n")
    until(lambda: not problems(laptop), lambda: str(problems(laptop)))
    until(lambda: desk.read("Dir.md") == "a file now\n", lambda: laptop.daemon.tail())
