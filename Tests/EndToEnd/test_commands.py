"""Commands that work on files: edit, cat, open, import, export."""
import json
import os
import subprocess

import pytest

from harness import BIN, agree, until

TODO = """\
(A) 2026-11-01 Call Anna +family @phone due:2026-12-01
x 2026-11-20 2026-11-01 Buy milk pri:C

Read https://example.org/page
"""


@pytest.fixture
def editor(root):
    """Creates a program that appends a line to its file, and takes an option of its own."""
    path = root / "editor"
    path.write_text('#!/bin/sh\n[ "$1" = --wait ] || exit 9\nprintf "%s" "$ADDED" >> "$2"\n')
    path.chmod(0o755)
    return f"{path} --wait"


def test_edit_opens_the_file_and_reports_if_it_is_unreadable_afterwards(machines, editor):
    laptop, desk = machines
    laptop.ferry("add", "Buy milk", "+errands")
    laptop.environment |= {"VISUAL": editor, "EDITOR": "/bin/false", "ADDED": "Oat.\n"}
    laptop.ferry("edit", "milk")
    until(lambda: "Oat.\n" in (desk.read("Buy milk.md") or ""), desk.daemon.tail)
    laptop.write("Other.md", "")
    laptop.sync()
    laptop.environment["ADDED"] = "---\npriority: [\n---\n"
    result = laptop.ferry("edit", "Other", check=False)
    assert result.returncode == 6 and "Other.md" in result.stderr, result
    laptop.environment["VISUAL"] = "/bin/false"
    result = laptop.ferry("edit", "milk", check=False)
    assert result.returncode == 1 and "/bin/false" in result.stderr
    assert laptop.ferry("edit", "no such task", check=False).returncode == 3


def test_cat_prints_a_file_or_an_attachment_and_open_its_path(root, machines):
    laptop, desk = machines
    laptop.write("Report.md", "---\n# kept\npriority: low\n---\nText\n")
    data = os.urandom(3 << 20)
    (root / "data.bin").write_bytes(data)
    laptop.sync()
    laptop.ferry("attach", "Report", root / "data.bin")
    agree(laptop, desk)
    assert desk.ferry("cat", "Report") == "---\n# kept\npriority: low\n---\nText\n"
    out = subprocess.run([str(BIN / "ferry"), "cat", "Report", "data.bin"], env={**os.environ, **desk.environment},
                         capture_output=True, timeout=60)
    assert out.returncode == 0 and out.stdout == data
    for variable in ("DISPLAY", "WAYLAND_DISPLAY"):
        desk.environment[variable] = ""
    assert desk.ferry("open", "Report").strip() == str(desk.tasks / "Report.md")
    assert desk.ferry("open", "Report", "data.bin").strip() == str(desk.tasks / "Report.files/data.bin")
    assert desk.ferry("cat", "Report", "nothing", check=False).returncode == 3


def test_open_passes_the_file_to_the_desktop_if_there_is_one(root, machines):
    laptop, _ = machines
    laptop.write("Report.md", "")
    laptop.sync()
    program = root / "bin/xdg-open"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nprintf "%s" "$1" > {root}/opened\n')
    program.chmod(0o755)
    laptop.environment |= {"DISPLAY": ":0", "PATH": f"{program.parent}:{os.environ['PATH']}"}
    assert laptop.ferry("open", "Report") == ""
    assert (root / "opened").read_text() == str(laptop.tasks / "Report.md")


def test_a_directory_is_imported_as_it_is_and_again_without_doubles(root, machines):
    laptop, desk = machines
    vault = root / "vault"
    for name, text in {"Call.md": "---\nstatus: open # mine\n---\nNow\n", "Work/Ship.md": "", "Work/Ship.files/a.txt": "attached",
                       "picture.png": "no task", ".hidden/x.md": "", "Twice.md": "theirs\n"}.items():
        (vault / name).parent.mkdir(parents=True, exist_ok=True)
        (vault / name).write_text(text)
    (vault / "Link.md").symlink_to("/etc/passwd")
    laptop.write("Twice.md", "mine\n")
    laptop.sync()
    trial = json.loads(laptop.ferry("import", vault, "--dry-run", "--json", check=False).stdout)
    assert set(trial["imported"]) == {"Call.md", "Twice.md", "Work/Ship.md"} and laptop.read("Call.md") is None
    result = laptop.ferry("import", vault, check=False)
    assert result.returncode == 8
    assert "3 tasks imported, 1 of them changed, 2 left out, 1 hidden ignored." in result.stderr, result.stderr
    assert "picture.png: left out" in result.stderr and "Link.md: left out: It is a link" in result.stderr
    agree(laptop, desk)
    assert desk.read("Call.md") == "---\nstatus: open # mine\n---\nNow\n"
    assert desk.read("Twice.md") == "mine\n" and desk.read("Twice (2).md") == "---\ntitle: Twice\n---\ntheirs\n"
    until(lambda: desk.read("Work/Ship.files/a.txt") == "attached", desk.daemon.tail)
    laptop.ferry("set", "Call", "due:2026-12-01")
    again = json.loads(laptop.ferry("import", vault, "--json", check=False).stdout)
    assert not again["imported"] and len(again["alreadyThere"]) == 3
    assert len(laptop.json("list", "--all")["tasks"]) == 4
    # The next import adds the attachments that an interrupted one has not attached.
    laptop.ferry("detach", "Ship", "a.txt")
    laptop.sync()
    again = json.loads(laptop.ferry("import", vault, "--json", check=False).stdout)
    assert again["changed"][0]["name"] == "Work/Ship.md", again
    assert laptop.json("show", "Ship")["attachments"][0]["name"] == "a.txt"


def test_what_is_exported_can_be_imported_by_another_account(root, server, machines):
    laptop, desk = machines
    laptop.write("Work/Ship.md", "---\npriority: high\ndue: 2026-12-01T10:00Z\ntags: [a, b]\neffort: [1,  2] # days\n---\nNotes\n")
    laptop.write("Done.md", "---\ncompleted: true\n---\n")
    (laptop.tasks / "Done.files").mkdir()
    (laptop.tasks / "Done.files/a.txt").write_text("attached")
    agree(laptop, desk)
    until(lambda: desk.read("Done.files/a.txt") == "attached", desk.daemon.tail)
    lines = laptop.ferry("export")
    assert {json.loads(line)["task"]["title"] for line in lines.splitlines()} == {"Ship", "Done"}
    copy = root / "copy"
    laptop.ferry("export", "--directory", copy)
    assert {str(p.relative_to(copy)) for p in copy.rglob("*") if p.is_file()} == set(laptop.files())
    assert (copy / "Work/Ship.md").read_text() == laptop.read("Work/Ship.md")
    assert laptop.ferry("export", "--directory", copy, check=False).returncode == 1
    # On the same account everything exists already.
    assert len(laptop.json("import", "-", input=lines)["alreadyThere"]) == 2
    desk.ferry("login", server.url, "--email", "you@example.org", "--password-stdin", "--create", "--merge", input="another password")
    desk.sync()
    desk.ferry("rm", "Ship", "Done", "--yes")
    assert desk.ferry("import", "-", "--list", "Old", input=lines, check=False).returncode == 0
    again = desk.json("import", "-", "--list", "Old", input=lines)
    assert not again["imported"] and len(again["alreadyThere"]) == 2
    desk.sync()
    tasks = desk.list()
    assert tasks["Ship"]["priority"] == "high" and tasks["Ship"]["list"] == "Old" and tasks["Ship"]["tags"] == ["a", "b"]
    assert tasks["Ship"]["due"].startswith("2026-12-01T10:00") and tasks["Done"]["completed"]
    assert desk.json("show", "Ship")["fields"]["effort"].startswith("[1,  2]")
    # The file is the same byte for byte, with its comments and quotes.
    assert desk.read("Old/Ship.md") == laptop.read("Work/Ship.md")


def test_todo_txt_and_lines_that_cannot_be_read(root, machines):
    laptop, _ = machines
    (root / "todo.txt").write_text(TODO)
    laptop.ferry("import", root / "todo.txt")
    tasks = laptop.list()
    assert set(tasks) == {"Call Anna", "Buy milk", "Read https://example.org/page"}
    assert tasks["Call Anna"]["priority"] == "high" and tasks["Call Anna"]["due"] == "2026-12-01"
    assert tasks["Call Anna"]["tags"] == ["family", "@phone"]
    assert tasks["Buy milk"]["completed"] and tasks["Buy milk"]["priority"] == "low"
    result = laptop.ferry("import", "-", input='{"title": "Good", "id": "1"}\nnonsense\n', check=False)
    assert result.returncode == 8 and "line 2" in result.stderr and "Good" in laptop.list()
    assert laptop.ferry("import", root / "nothing.ndjson", check=False).returncode == 3
    assert laptop.ferry("import", root / "todo.txt", "--format", "moon", check=False).returncode == 2


def test_lists_are_searched_in_notes_and_grouped(machines):
    laptop, desk = machines
    laptop.write("Home/Roof.md", "---\npriority: high\ntags: [b]\n---\nCall the R\u00d6FER about tiles\n")
    laptop.write("Invoice.md", "---\ntags: [a, b]\ndue: 2099-11-28\n---\n")
    laptop.write("Other.md", "nothing\n")
    agree(laptop, desk)

    def titles(*words):
        return [line.split("\t")[3] for line in desk.ferry("list", *words).splitlines()]

    assert titles("text:r\u00f6fer") == ["Home/Roof"] and titles("text:tiles", "text:call") == ["Home/Roof"]
    assert titles("text:invoice") == ["Invoice"] and titles("tiles") == [] and titles("text:tiles", "+a") == []
    assert sorted(titles("--group", "tag")) == ["Home/Roof", "Invoice", "Invoice", "Other"]
    assert titles("--group", "tag")[-1] == "Other" and titles("--group", "priority")[0] == "Home/Roof"
    assert titles("--group", "list")[-1] == "Home/Roof"
    assert desk.ferry("list", "--group", "color", check=False).returncode == 2
