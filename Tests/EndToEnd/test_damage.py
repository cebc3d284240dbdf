"""Flipped bits, lost files, and stores that return wrong content for a while: detected, reported and contained."""
import contextlib
import json
import os
import shutil
import sqlite3
import subprocess

import pytest

from harness import BIN, Clock, Machine, agree, built_library, until

TEXT = "---\ntags: [home]\n---\nprecious words\nsecond line\n"


def run(command, *arguments):
    return subprocess.run([BIN / "ferry-server", command, *map(str, arguments)], text=True, capture_output=True)


def flip(path, text):
    """Flips a bit in each place where a file contains the text. Returns the file's contents, one for each place."""
    content = path.read_bytes()
    place = content.find(text)
    while place >= 0:
        damaged = bytearray(content)
        damaged[place] ^= 1
        yield bytes(damaged)
        place = content.find(text, place + 1)


def test_a_flipped_bit_in_the_state_of_a_machine_is_never_synced(server, machines):
    laptop, desk = machines
    for number in range(4):
        laptop.write(f"Note {number}.md", TEXT.replace("words", f"words {number}"))
    agree(laptop, desk)
    laptop.stop()
    (replica,) = laptop.state.glob("replica-*.db")
    kept = laptop.home / "kept"
    shutil.copytree(laptop.state, kept)
    text = laptop.read("Note 3.md")
    damaged = list(flip(replica, b"precious words 3"))
    assert damaged
    told = 0
    for edit, content in enumerate(damaged):
        replica.write_bytes(content)
        laptop.start()
        laptop.sync()
        assert laptop.read("Note 3.md") == text
        text += f"edit {edit}\n"
        laptop.write("Note 3.md", text)
        laptop.sync()
        until(lambda: desk.read("Note 3.md") == text, lambda: f"{desk.read('Note 3.md')}\n{laptop.daemon.tail()}")
        assert laptop.read("Note 3.md") == text
        status = laptop.status()
        assert status["state"] == "running", status
        told += any(problem["code"] == "state-repaired" for problem in status["problems"])
        laptop.stop()
        if edit + 1 < len(damaged):
            # The next place in the same file, which has changed since.
            damaged[edit + 1:] = list(flip(replica, b"precious words 3"))[edit + 1:]
    assert told > 0


@pytest.fixture
def damaged_document(server, machines):
    """A document that was damaged on the stopped server, and the laptop, which has an intact copy."""
    laptop, desk = machines
    for number in range(4):
        laptop.write(f"Note {number}.md", TEXT.replace("words", f"words {number}"))
    agree(laptop, desk)
    for program in (laptop, desk, server):
        program.stop()
    with contextlib.closing(sqlite3.connect(server.data / "documents/main.db")) as database:
        row, fields = database.execute(
            "SELECT document, fields FROM document WHERE instr(fields, CAST('precious words 3' AS BLOB))").fetchone()
        database.execute("UPDATE document SET fields=? WHERE document=?", [fields.replace(b"precious", b"qrecious"), row])
        database.commit()
    return laptop


def test_a_damaged_document_of_the_server_reaches_no_machine_and_stops_nothing_else(root, server, damaged_document):
    laptop = damaged_document
    server.start()
    phone = Machine(root, "phone")
    phone.start()
    try:
        phone.login(server)
        phone.sync()
        assert sorted(name for name in phone.files()) == ["Note 0.md", "Note 1.md", "Note 2.md"], phone.daemon.tail()
        laptop.start()
        laptop.write("Note 0.md", "edited\n")
        laptop.sync()
        until(lambda: phone.read("Note 0.md") == "edited\n", phone.daemon.tail)
        # The machine with the copy keeps it, and reports that it cannot be changed.
        before = laptop.read("Note 3.md")
        laptop.write("Note 3.md", before + "more\n")
        until(lambda: any(p["code"] == "refused" for p in laptop.status()["problems"]), laptop.status)
        assert laptop.read("Note 3.md") == before + "more\n"
        laptop.write("Note 1.md", "goes on\n")
        until(lambda: phone.read("Note 1.md") == "goes on\n", laptop.daemon.tail)
    finally:
        phone.stop()


def test_check_backup_and_export_name_a_damaged_document_and_continue(root, server, damaged_document):
    check = run("check", "--data", server.data)
    assert check.returncode != 0 and "tasks/" in check.stdout and "is damaged" in check.stdout, check
    (line,) = check.stdout.splitlines()
    path = line.split(": ")[1].split()[0]
    backup = run("backup", root / "backup", "--data", server.data)
    assert backup.returncode != 0 and path in backup.stderr, backup
    assert (root / "backup/documents/main.db").exists()
    export = run("export", root / "all.ndjson", "--data", server.data)
    assert export.returncode != 0 and path in export.stderr, export
    text = (root / "all.ndjson").read_text()
    assert "precious words 2" in text and "words 3" not in text
    assert all(json.loads(line) for line in text.splitlines())


def damage_key(data):
    path = data / "accounts/signing-keys.pem"
    lines = path.read_text().splitlines()
    middle = lines[len(lines) // 2]
    lines[len(lines) // 2] = middle[:20] + ("A" if middle[20] != "A" else "B") + middle[21:]
    path.write_text("\n".join(lines) + "\n")


def lose_log(data):
    """Empties the accounts database, as in a copy that was made of a killed server without its write-ahead log."""
    (data / "accounts/accounts.sqlite").write_bytes(b"")


def lose_chunk(data):
    with contextlib.closing(sqlite3.connect(data / "objects/index.db")) as index:
        index.execute("DELETE FROM object WHERE key LIKE '%/chunks/%'")
        index.commit()


@pytest.mark.parametrize("damage, words", [
    (lambda data: (data / "objects/index.db").unlink(), "objects/index.db is missing"),
    (lambda data: (data / "accounts/signing-keys.pem").unlink(), "accounts/signing-keys.pem is missing"),
    (lambda data: (data / "documents/main.db").unlink(), "documents/main.db is missing"),
    (damage_key, "key"), (lose_log, "accounts"), (lose_chunk, "chunk"),
], ids=["index", "keys", "documents", "a damaged key", "accounts", "a chunk"])
def test_check_reports_sound_only_for_complete_data(server, machines, damage, words):
    laptop, desk = machines
    laptop.write("Plan.md", "")
    (laptop.tasks / "Plan.files").mkdir()
    (laptop.tasks / "Plan.files/drawing.bin").write_bytes(os.urandom(300_000))
    agree(laptop, desk)
    for program in (laptop, desk, server):
        program.stop()
    sound = run("check", "--objects", "--data", server.data)
    assert sound.returncode == 0 and "is undamaged" in sound.stdout, sound
    damage(server.data)
    check = run("check", "--data", server.data)
    assert check.returncode != 0 and words in check.stdout and "is undamaged" not in check.stdout, check


def test_an_attachment_that_the_store_lost_for_a_while_is_downloaded_automatically(root, server, machines):
    laptop, desk = machines
    laptop.write("Plan.md", "")
    drawing = os.urandom(300_000)
    (laptop.tasks / "Plan.files").mkdir()
    (laptop.tasks / "Plan.files/drawing.bin").write_bytes(drawing)
    agree(laptop, desk)
    for machine in machines:
        machine.stop()
    (stored,) = [path for path in (server.data / "objects/files").rglob("*") if path.is_file()]
    stored.rename(root / "away")
    phone = Machine(root, "phone")
    phone.start()
    try:
        phone.login(server)
        until(lambda: [problem["code"] for problem in phone.status()["problems"]] == ["attachment-damaged"], phone.daemon.tail)
        assert phone.ferry("sync", "--wait", "--timeout", 1, check=False).returncode != 0
        (root / "away").rename(stored)
        until(lambda: phone.files().get("Plan.files/drawing.bin") == drawing, phone.daemon.tail, timeout=60)
        until(lambda: phone.status()["problems"] == [], phone.status)
        phone.sync()
        assert [attachment["state"] for attachment in phone.json("show", "Plan")["attachments"]] == ["here"]
    finally:
        phone.stop()


def test_a_jump_of_the_servers_clock_has_no_effect_and_another_century_needs_confirmation(root, server, machines):
    laptop, desk = machines
    for program in (laptop, desk, server):
        program.stop()
    clock = Clock(built_library(root, "wrong-clock"), root / "clock")
    server.environment = {**(server.environment or {}), **clock.environment}
    server.start()
    laptop.start()
    laptop.write("Before.md", "")
    laptop.sync()
    clock.set(43 * 365 * 86_400)
    laptop.write("Meanwhile.md", "")
    laptop.sync()
    clock.set(0)
    until(lambda: "clock has jumped" in server.tail(100), server.tail)
    laptop.stop()
    server.stop()
    check = run("check", "--data", server.data)
    assert check.returncode == 0, check
    clock.set(43 * 365 * 86_400)
    with pytest.raises(AssertionError):
        server.start()
    assert "--accept-clock" in server.tail(100)
    clock.set(0)
    server.start()
