"""Import and export report each record as added, changed or skipped, and a repeated import changes nothing."""
import json
import os
import subprocess

from harness import BIN, Machine, agree, until

VAULT = {
    "Plain.md": b"notes\n",
    "Work/CRLF.md": b"---\r\n# why\r\npriority: high\r\ntags: [ 'a',  b ]\r\n---\r\none\r\ntwo\r\n",
    "Work/Deep/Nested.md": b"---\nbase: &b {x: 1}\n\"use\": [ a, 'b' ] # c\n---\n",
    "Titled.md": b"---\ntitle: AC/DC tickets\n\"@ctx\": home\nzip: '00501'\n---\n",
    "Odd.md": b"---\npriority: urgent\ntags:\n  - work\n  -\n---\n",
    "Mark.md": b"\xef\xbb\xbf---\ncompleted: true\n---\nx",
}
TODO = (b"\xef\xbb\xbf(A) First with mark\r\nx 2026-11-02 2026-10-01 Pay the rent +house @home due:2026-11-01\r\n(D) Fourth @home\n"
        b"+only @tags\nBuy milk\nBuy milk\n\nTwo due:2026-01-01 due:2026-02-02\nbad \xff line\n")


def fill(root, files):
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)


def test_a_directory_comes_back_byte_for_byte(root, machines):
    laptop, _ = machines
    fill(laptop.tasks, VAULT)
    (laptop.tasks / "Plain.files").mkdir()
    laptop.write("Broken.md", "---\npriority: [\n---\n")
    until(lambda: len(laptop.list()) == len(VAULT), laptop.list)
    # What was written a moment ago is exported, too, whether the daemon has seen it or not.
    (laptop.tasks / "Plain.files/a.bin").write_bytes(bytes(range(256)))
    before = laptop.files()
    copy = root / "copy"
    assert laptop.ferry("export", "--directory", copy, check=False).returncode == 0
    assert {str(p.relative_to(copy)): p.read_bytes() for p in copy.rglob("*") if p.is_file()} == before
    (copy / "Broken.md").unlink()
    server = laptop.status()["account"]["server"]
    other = Machine(root, "other")
    other.start()
    other.ferry("login", server, "--email", "you@example.org", "--password-stdin", "--create", input="another password")
    result = other.json("import", copy)
    assert len(result["imported"]) == len(VAULT) and not result["changed"] and not result["failed"], result
    other.sync()
    del before["Broken.md"]
    assert other.files() == before
    again = other.json("import", copy)
    assert not again["imported"] and len(again["alreadyThere"]) == len(VAULT), again
    other.stop()


def test_lines_come_back_byte_for_byte_but_for_attachments(root, machines):
    laptop, _ = machines
    fill(laptop.tasks, VAULT)
    (laptop.tasks / "Plain.files").mkdir()
    (laptop.tasks / "Plain.files/a.bin").write_bytes(b"x")
    laptop.write("Separator.md", "one\u2028two\x85three\n")
    laptop.sync()
    lines = laptop.ferry("export")
    server = laptop.status()["account"]["server"]
    other = Machine(root, "other")
    other.start()
    other.ferry("login", server, "--email", "you@example.org", "--password-stdin", "--create", input="another password")
    result = other.json("import", "-", input=lines)
    assert len(result["imported"]) == len(VAULT) + 1 and not result["failed"], result
    assert result["changed"] == [{"name": "Plain", "changes": ["1 attachment is not in this format"]}]
    other.sync()
    expected = laptop.files()
    del expected["Plain.files/a.bin"]
    assert other.files() == expected
    # A repeated import changes nothing, even after a task has changed here.
    other.ferry("set", "Plain", "due:2026-12-01")
    again = other.json("import", "-", input=lines)
    assert not again["imported"] and len(again["alreadyThere"]) == len(VAULT) + 1
    other.ferry("rm", "Plain")
    trashed = other.ferry("import", "-", input=lines, check=False)
    assert "1 left out" in trashed.stderr or "there already" in trashed.stderr
    other.stop()


def test_todo_txt_loses_nothing_and_a_second_import_changes_nothing(root, machines):
    laptop, _ = machines
    (root / "todo.txt").write_bytes(TODO)
    trial = laptop.ferry("import", root / "todo.txt", "--dry-run", check=False)
    assert trial.returncode == 8 and not laptop.list()
    result = laptop.ferry("import", root / "todo.txt", "--json", check=False)
    assert result.returncode == 8
    told = json.loads(result.stdout)
    assert len(told["imported"]) == 7 and [f["name"] for f in told["failed"]] == ["line 9"], told
    assert {c["name"] for c in told["changed"]} == {"Fourth", "+only @tags", "Two due:2026-02-02"}
    rent = laptop.json("show", "rent")
    assert rent["fields"] == {"completedDate": "2026-11-02", "createdDate": "2026-10-01"}
    assert rent["task"]["tags"] == ["house", "@home"] and rent["task"]["due"] == "2026-11-01"
    assert laptop.json("show", "Fourth")["fields"] == {"todoPriority": "D"}
    assert len([t for t in laptop.json("list", "--all")["tasks"] if t["title"] == "Buy milk"]) == 2
    laptop.ferry("done", "Fourth")
    again = json.loads(laptop.ferry("import", root / "todo.txt", "--json", check=False).stdout)
    assert not again["imported"] and len(again["alreadyThere"]) == 7, again


def test_records_that_cannot_be_imported_are_named(root, machines):
    laptop, _ = machines
    vault = root / "vault"
    fill(vault, {"Good.md": b"", "Wide.md": "hello\n".encode("utf-16"), "Latin.md": b"caf\xe9\n", "Broken.md": b"---\na: [\n---\n",
                 "Zero.md": b"a\0b",
                 "Alias.md": b"---\nuse: *b\nbase: &b {x: 1}\n---\n", "Huge.md": b"x" * 1_000_001, "/".join("d" * 17) + "/deep.md": b""})
    os.close(os.open(os.fsencode(vault) + b"/\xff.md", os.O_CREAT | os.O_WRONLY))
    (vault / "link.md").symlink_to("Good.md")
    result = laptop.ferry("import", vault, "--json", check=False)
    told = json.loads(result.stdout)
    assert result.returncode == 8 and told["imported"] == ["Good.md"]
    reasons = {f["name"]: f["reason"] for f in told["failed"]}
    for name, word in {"Wide.md": "UTF-16", "Latin.md": "UTF-8", "Broken.md": "Line 3", "Alias.md": "reference", "Zero.md": "NUL", "Huge.md": "1000000",
                       "link.md": "link"}.items():
        assert word in reasons[name], reasons
    assert any("deep" in reason for reason in reasons.values()) and len(reasons) == 9, reasons
    wide = root / "wide.txt"
    wide.write_bytes("Buy milk\n".encode("utf-16"))
    refused = laptop.ferry("import", wide, check=False)
    assert refused.returncode == 1 and "UTF-16" in refused.stderr
    odd = '{"id":"1","title":"line\u2028separator"}\n{"id":"2","title":"Next","tags":["a",""],"who":1}\n{"id":"3"}\n'
    result = json.loads(laptop.ferry("import", "-", "--json", input=odd, check=False).stdout)
    assert result["imported"] == ["line\u2028separator", "Next"] and len(result["failed"]) == 1, result
    assert result["changed"][0]["changes"] == ["an empty tag is left out", "'who' is unknown and is left out"]


def test_an_import_right_after_the_start_makes_no_doubles(machines):
    laptop, _ = machines
    for number in range(300):
        laptop.write(f"Task {number}.md", f"{number}\n")
    laptop.sync()
    lines = laptop.ferry("export")
    laptop.stop()
    laptop.start()
    again = laptop.json("import", "-", input=lines)
    assert not again["imported"] and len(again["alreadyThere"]) == 300


def run(machine, command):
    return subprocess.run(["bash", "-c", command], env={**os.environ, **machine.environment, "PATH": f"{BIN}:{os.environ['PATH']}"},
                          capture_output=True, text=True, timeout=60)


def test_output_is_complete_or_an_error(root, machines):
    laptop, _ = machines
    laptop.write("Plain.md", "x" * 200_000)
    laptop.sync()
    for command in ("export", "list", "list --json", "list --ndjson", "show Plain", "cat Plain", "status", "lists --json", "manual",
                    "--help", "completion bash", "config"):
        full = run(laptop, f"ferry {command} > /dev/full")
        assert full.returncode == 1 and "No space left" in full.stderr and full.stderr.count("\n") == 1, (command, full)
        assert run(laptop, f"ferry {command} >&-").returncode == 1, command
    broken = run(laptop, "set -o pipefail; ferry cat Plain | true")
    assert broken.returncode == 141 and not broken.stderr
    # The signal is ignored here.
    broken = run(laptop, "trap '' PIPE; set -o pipefail; ferry export | sleep 0")
    assert broken.returncode == 141 and not broken.stderr


def task_fields(task):
    """A task as formats of other programs can represent it."""
    detail = {key: task["task"].get(key) for key in ("title", "completed", "priority", "due", "tags")}
    return {**detail, "recurrence": task["fields"].get("recurrence")}


def test_formats_of_other_programs_come_back_and_a_second_import_changes_nothing(root, machines):
    laptop, _ = machines
    laptop.write("Work/Rent.md", "---\npriority: high\ndue: 2099-12-01\ntags: [home, money]\nrecurrence: FREQ=MONTHLY\n"
                                 "scheduled: 2099-11-28\n---\npay \"it\", soon\nand file it\n")
    laptop.write("Call, then write.md", "---\ndue: 2099-12-01T17:00+01:00\ncompleted: true\ncolor: red\n---\n")
    laptop.write("Plain.md", "")
    laptop.sync()
    before = {task["title"]: task_fields(laptop.json("show", task["id"])) for task in laptop.json("list", "--all")["tasks"]}
    server = laptop.status()["account"]["server"]
    for number, (form, suffix, lost) in enumerate([
            ("ics", ".ics", ["Call, then write: left out: field color."]), ("csv", ".csv", []),
            ("taskwarrior", ".json", ["Rent: left out: recurrence every 1m."]),
            ("todo.txt", ".txt", ["Rent: left out: list 'Work', notes.", "Call, then write: left out: field color."])]):
        result = laptop.ferry("export", "--format", form, check=False)
        assert result.returncode == 0, result
        for line in lost:
            assert line in result.stderr, (form, result.stderr)
        assert len(result.stderr.splitlines()) == len(lost), (form, result.stderr)
        file = root / f"tasks{suffix}"
        file.write_text(result.stdout, newline="")
        other = Machine(root, f"other{number}")
        other.start()
        other.ferry("login", server, "--email", f"you{number}@example.org", "--password-stdin", "--create", input="another password")
        told = other.json("import", file)
        assert len(told["imported"]) == 3 and not told["failed"], (form, told)
        tasks = {task["title"]: task_fields(other.json("show", task["id"])) for task in other.json("list", "--all")["tasks"]}
        for title, task in tasks.items():
            expected = dict(before[title])
            if form == "taskwarrior":
                expected["recurrence"] = None
            found = {key: value for key, value in task.items() if key != "due"}
            assert found == {key: value for key, value in expected.items() if key != "due"}, form
            assert (task["due"] or "")[:10] == (expected["due"] or "")[:10], form
        if form != "todo.txt":
            assert (other.tasks / "Work/Rent.md").exists(), form
            assert other.json("show", "Rent")["notes"] == 'pay "it", soon\nand file it\n', form
        files = other.files()
        again = other.json("import", file)
        assert not again["imported"] and len(again["alreadyThere"]) == 3, (form, again)
        assert other.files() == files
        other.stop()


def test_task_lines_of_a_note_and_single_files_are_imported(root, machines):
    laptop, _ = machines
    note = root / "Note.md"
    note.write_text("# Home\n- [ ] Pay rent 🔁 every month 📅 2099-12-01 #money\ntext\n- [x] Call Anna ✅ 2026-11-20\n- [ ]  \n")
    result = laptop.ferry("import", note, "--format", "obsidian", "--json", check=False)
    told = json.loads(result.stdout)
    assert result.returncode == 8 and told["imported"] == ["Pay rent", "Call Anna"] and told["otherLines"] == 2, told
    assert [f["name"] for f in told["failed"]] == ["line 5"], told
    rent = laptop.json("show", "rent")
    assert rent["task"]["due"] == "2099-12-01" and rent["task"]["tags"] == ["money"]
    assert rent["fields"] == {"recurrence": "FREQ=MONTHLY"}
    (root / "Note.files").mkdir()
    (root / "Note.files/a.txt").write_text("a")
    told = laptop.json("import", note)
    assert told["imported"] == ["Note.md"] and not told["failed"], told
    assert laptop.read("Note.md") == note.read_text()
    until(lambda: (laptop.tasks / "Note.files/a.txt").exists(), laptop.files)
    assert not laptop.json("import", note)["imported"]
    for words in (("--format", "moon"), ("--format", "files"), ("--format", "ics", "--directory", root / "d")):
        assert laptop.ferry("export", *words, check=False).returncode == 2


def test_cancelled_tasks_stay_cancelled_and_an_id_that_two_have_is_named(root, machines):
    laptop, _ = machines
    lines = ["BEGIN:VCALENDAR"]
    for uid, title, status in [("1", "Paint fence", "CANCELLED"), ("2", "Call Anna", "NEEDS-ACTION"), ("2", "Call Ben", "NEEDS-ACTION")]:
        lines += ["BEGIN:VTODO", f"UID:{uid}", f"SUMMARY:{title}", f"STATUS:{status}", "END:VTODO"]
    (root / "a.ics").write_text("\r\n".join([*lines, "END:VCALENDAR", ""]), newline="")
    (root / "a.csv").write_text("title,status\nSell boat,cancelled\nBuy boat,in-progress\n")
    (root / "a.md").write_text("- [-] Wash car\n- [/] Mow lawn\n")
    told = json.loads(laptop.ferry("import", root / "a.ics", "--json", check=False).stdout)
    assert told["imported"] == ["Paint fence", "Call Anna"] and [f["name"] for f in told["failed"]] == ["Call Ben"], told
    laptop.json("import", root / "a.csv")
    laptop.json("import", root / "a.md", "--format", "obsidian")
    tasks = {title: task.get("completed", False) for title, task in laptop.list().items()}
    assert tasks == {"Paint fence": True, "Call Anna": False, "Sell boat": True, "Buy boat": False, "Wash car": True, "Mow lawn": False}
    for title in ("Paint fence", "Sell boat", "Wash car"):
        assert "status: cancelled" in laptop.read(f"{title}.md"), laptop.read(f"{title}.md")
    assert not laptop.json("import", root / "a.csv")["imported"]


def test_an_import_that_is_killed_is_finished_by_the_next(root, machines):
    laptop, desk = machines
    count = 2000
    lines = [f'"Task {number}","Notes of {number}",{["", "Work"][number % 2]}' for number in range(count)]
    lines[700] = '"Bad",x,y,z'
    lines[1300] = ' ,"No title",'
    (root / "many.csv").write_text("title,notes,list\n" + "\n".join(lines) + "\n")

    def run(*options):
        return subprocess.run([str(BIN / "ferry"), "import", str(root / "many.csv"), "--json", *options], capture_output=True, text=True,
                              env={**os.environ, **laptop.environment}, timeout=120)

    trial = json.loads(run("--dry-run").stdout)
    assert len(trial["failed"]) == 2 and len(trial["imported"]) == count - 2 and not laptop.files(), trial["failed"]
    importing = subprocess.Popen([str(BIN / "ferry"), "import", str(root / "many.csv")], stdout=subprocess.DEVNULL,
                                 stderr=subprocess.PIPE, env={**os.environ, **laptop.environment}, text=True)
    # `files` would read temporary files, which go while they are read.
    until(lambda: any(laptop.tasks.glob("Task *.md")), "a file of the import")
    laptop.daemon.kill()
    _, told = importing.communicate(timeout=60)
    assert importing.returncode != 0 and told
    laptop.start()
    before = len(laptop.list())
    # Whole batches of 500; the third has the record without a title.
    assert before in (500, 1000, 1499, count - 2), before
    second = run()
    result = json.loads(second.stdout)
    assert second.returncode == 8 and result["failed"] == trial["failed"]
    assert len(result["alreadyThere"]) == before and len(result["imported"]) == count - 2 - before
    titles = sorted(task["title"] for task in laptop.list().values())
    assert titles == sorted(f"Task {number}" for number in range(count) if number not in (700, 1300))
    # The files of what the killed daemon had added may still be on their way.
    until(lambda: len(list(laptop.tasks.rglob("Task *.md"))) == count - 2, "the files of all tasks")
    agree(*machines)
    again = json.loads(run().stdout)
    assert not again["imported"] and len(again["alreadyThere"]) == count - 2
