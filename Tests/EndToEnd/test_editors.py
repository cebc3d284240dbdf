"""Saves as editors perform them: each way is one change, and the task stays the same task."""
import os
import shutil
import subprocess

import pytest

from harness import agree, until

TEXT = "---\npriority: high   # soon\n---\nfirst line\nsecond line\n"


def shell(command, machine):
    result = subprocess.run(["sh", "-euc", command], cwd=machine.tasks, capture_output=True, text=True, timeout=20,
                            env={**os.environ, **machine.environment})
    assert result.returncode == 0, (command, result.stdout, result.stderr)


def vim(*settings):
    """Saves twice, like a user who saves often."""
    def save(machine):
        if shutil.which("vim.tiny") is None and shutil.which("vim") is None:
            pytest.skip("there is no vim; apt-get install vim-tiny")
        program = "vim.tiny" if shutil.which("vim.tiny") else "vim"
        sets = " ".join(f"-c 'set {setting}'" for setting in settings)
        shell(f"{program} -u NONE -N -es {sets} -c '%s/second/new/' -c 'write' -c 'write' -c 'quit' 'Note.md'", machine)
    return save


def truncate_and_write(machine):
    # nano, and every program that opens the file with O_TRUNC.
    text = machine.read("Note.md").replace("second", "new")
    with open(machine.tasks / "Note.md", "w") as file:
        file.flush()
        half = len(text) // 2
        file.write(text[:half])
        file.flush()
        file.write(text[half:])


def python_atomic(machine):
    # gedit, Kate and many libraries write a temporary file in the same directory and replace the old one with it.
    text = machine.read("Note.md").replace("second", "new")
    temporary = machine.tasks / ".goutputstream-XYZ123"
    temporary.write_text(text)
    temporary.replace(machine.tasks / "Note.md")


WAYS = {
    "vim": vim(), "vim without backup": vim("nobackup", "nowritebackup"), "vim that renames": vim("backup", "backupcopy=no"),
    "vim that copies": vim("backup", "backupcopy=yes"), "vim with a backup extension": vim("backup", "backupext=.bak"),
    "truncate and write": truncate_and_write, "a temporary file that replaces": python_atomic,
    "sed -i": lambda machine: shell("sed -i s/second/new/ Note.md", machine),
    "sed with a backup": lambda machine: shell("sed -i~ s/second/new/ Note.md", machine),
    "mv over": lambda machine: shell("sed s/second/new/ Note.md >../new; mv ../new Note.md", machine),
    "cp over": lambda machine: shell("sed s/second/new/ Note.md >../new; cp ../new Note.md", machine),
    "delete, then create": lambda machine: shell("sed s/second/new/ Note.md >../new; rm Note.md; cat ../new >Note.md", machine),
    "move away, then create": lambda machine: shell("mv Note.md Note.md~; sed s/second/new/ Note.md~ >Note.md; rm Note.md~",
                                                    machine),
}


def test_every_way_to_save_is_one_change_of_the_same_task(machines):
    laptop, desk = machines
    failures = []
    for number, (way, save) in enumerate(WAYS.items()):
        laptop.write("Note.md", TEXT.replace("first", f"case {number}"))
        agree(laptop, desk)
        before = laptop.list()["Note"]
        save(laptop)
        new = TEXT.replace("first", f"case {number}").replace("second", "new")
        assert laptop.read("Note.md") == new, way
        until(lambda: desk.read("Note.md") == new, lambda: f"{way}: the desk has {desk.read('Note.md')!r}")
        agree_on_notes = [machine for machine in machines if not machine.list().keys() == {"Note"}]
        after = laptop.list()["Note"]
        if after["id"] != before["id"]:
            failures.append(f"{way}: the task is another one")
        if agree_on_notes:
            failures.append(f"{way}: tasks {[sorted(machine.list()) for machine in machines]}")
        if laptop.json("trash")["trash"] or desk.json("trash")["trash"]:
            failures.append(f"{way}: the trash has {laptop.json('trash')['trash']}")
        if laptop.status()["conflicts"]:
            failures.append(f"{way}: there is a conflict")
        for leftover in [path for path in laptop.tasks.iterdir() if path.name not in ("Note.md", ".ferry")]:
            assert not desk.tasks.joinpath(leftover.name).exists(), f"{way}: {leftover.name} went to the desk"
            leftover.unlink()
    assert not failures, "\n".join(failures)


def test_a_task_that_is_saved_by_replacing_keeps_its_attachments(root, machines):
    laptop, desk = machines
    laptop.write("Note.md", TEXT)
    (root / "a.txt").write_text("attached\n")
    laptop.sync()
    laptop.ferry("attach", "Note", root / "a.txt")
    shell("sed -i s/second/new/ Note.md", laptop)
    agree(laptop, desk)
    assert (desk.tasks / "Note.files/a.txt").read_text() == "attached\n"
    assert "new line" in desk.read("Note.md")


def test_saves_on_every_keystroke_are_synced_while_they_continue(machines):
    laptop, desk = machines
    laptop.write("Note.md", "")
    agree(laptop, desk)
    typed = ""

    def seen():
        nonlocal typed
        typed += "x"
        laptop.write("Note.md", typed + "\n")
        return desk.read("Note.md")

    until(seen, "a keystroke on the desk while others follow", step=0.01)
    agree(laptop, desk)
    assert desk.read("Note.md") == typed + "\n"
    assert laptop.status()["conflicts"] == 0


def test_a_remote_change_while_an_editor_has_unsaved_lines_is_merged_on_save(machines):
    laptop, desk = machines
    laptop.write("Note.md", "one\ntwo\nthree\nfour\nfive\n")
    agree(laptop, desk)
    buffer = laptop.read("Note.md").replace("five", "FIVE")  # the editor's, not saved yet
    laptop.ferry("pause")
    desk.write("Note.md", desk.read("Note.md").replace("one", "ONE"))
    desk.sync()
    laptop.write("Note.md", buffer)
    until(lambda: laptop.status()["pendingUp"] > 0, "the save in the journal")
    laptop.ferry("resume")
    agree(laptop, desk)
    assert laptop.read("Note.md") == "ONE\ntwo\nthree\nfour\nFIVE\n"
    assert laptop.status()["conflicts"] == 0
