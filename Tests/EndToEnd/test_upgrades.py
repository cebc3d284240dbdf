"""Programs that start on the files of older versions have the same data. The tests revert the steps of the schemas."""
import sqlite3

import pytest

from harness import agree

# The statements that revert each step of a component, as far as an older program would see. A new step needs a line here.
STEPS = {
    "sync": {
        2: "DROP TABLE sync_step",
        3: "DROP TABLE sync_trash",
        4: "DROP TABLE sync_write",
        5: "ALTER TABLE sync_attachment DROP COLUMN content; ALTER TABLE sync_attachment DROP COLUMN marks",
        6: ";".join(f"ALTER TABLE {table} DROP COLUMN sum" for table in ("sync_file", "sync_list", "sync_attachment", "sync_step")),
        7: "DROP TABLE sync_version",
    },
    "client": {
        2: """ALTER TABLE client_state RENAME TO client_state_after;
              CREATE TABLE client_state(key TEXT PRIMARY KEY, value ANY) WITHOUT ROWID;
              INSERT INTO client_state SELECT key, value FROM client_state_after;
              DROP TABLE client_state_after""",
        3: "ALTER TABLE client_document DROP COLUMN sum; ALTER TABLE client_mutation DROP COLUMN sum",
    },
    "buckets": {
        2: "DROP TABLE condemned",
        3: "DROP TABLE released",
        4: "ALTER TABLE part DROP COLUMN checksum",
        5: "DROP TABLE cors",
        6: "DROP INDEX upload_by_key; ALTER TABLE upload DROP COLUMN counted",
        7: ";".join(f"DROP TRIGGER {name}" for name in (
            "object_added", "object_replaced", "object_removed", "part_added", "part_replaced", "part_removed",
            "upload_removed")) + "; DROP TABLE usage",
        8: """DROP TRIGGER object_added; DROP TRIGGER object_removed; ALTER TABLE usage DROP COLUMN objects;
              CREATE TRIGGER object_added AFTER INSERT ON object WHEN instr(NEW.key, '/') > 1 BEGIN
                  INSERT INTO usage VALUES (substr(NEW.key, 1, instr(NEW.key, '/') - 1), NEW.size)
                      ON CONFLICT (owner) DO UPDATE SET bytes = bytes + excluded.bytes;
              END;
              CREATE TRIGGER object_removed AFTER DELETE ON object BEGIN
                  UPDATE usage SET bytes = bytes - OLD.size WHERE owner = substr(OLD.key, 1, instr(OLD.key, '/') - 1);
              END""",
    },
    "documents": {
        # The index is rebuilt from the documents, regardless of its content.
        2: """DROP TABLE entry; DROP TABLE composite; DROP TABLE stream; DELETE FROM setting WHERE name='indexed';
              CREATE TABLE entry(
                  collection INTEGER NOT NULL, field INTEGER NOT NULL, key BLOB NOT NULL, id BLOB NOT NULL,
                  document INTEGER NOT NULL, PRIMARY KEY(collection, field, key, id)) WITHOUT ROWID""",
        3: "DROP TABLE recent; DELETE FROM setting WHERE name='recent'",
        4: "DROP TABLE exemption",
        5: "DROP TABLE usage; DROP TABLE inherited",
        6: "ALTER TABLE document DROP COLUMN sum; ALTER TABLE change DROP COLUMN sum",
        7: "DROP TABLE received",
    },
    "identity": {
        2: "DROP TABLE invitation; DROP TABLE password_code; DROP TABLE removal; " + ";".join(
            f"ALTER TABLE account DROP COLUMN quota_{what}" for what in ("object_bytes", "documents", "requests")),
        3: "DROP TABLE provider_link; DROP TABLE mail_code; DROP TABLE service_account; ALTER TABLE session DROP COLUMN claims;"
           "ALTER TABLE account DROP COLUMN custom_claims; ALTER TABLE account DROP COLUMN managed",
        4: "DROP TABLE morning_mail",
    },
}


def is_database(path):
    return path.is_file() and path.open("rb").read(16) == b"SQLite format 3\0"


def components(database):
    """Returns the number of applied steps of each component in a file."""
    if not database.execute("SELECT 1 FROM sqlite_schema WHERE name='schema_migration'").fetchone():
        return {}
    return dict(database.execute("SELECT component, max(version) FROM schema_migration GROUP BY component"))


def take_back(path, to_first):
    """Reverts the last step of each component in the file, or all but the first. Returns the copies that an upgrade will leave."""
    database = sqlite3.connect(path)
    copies = []
    for component, version in components(database).items():
        # The index of documents is complete at the first version and at the last, see above.
        for step in range(version, 1 if to_first else max(1, version - 1), -1):
            database.executescript(STEPS[component][step])
            database.execute("DELETE FROM schema_migration WHERE component=? AND version=?", (component, step))
        if version > 1:
            copies.append(path.with_name(f"{path.name}.before-{component}-{version}"))
    database.commit()
    database.close()
    return copies


@pytest.mark.parametrize("to_first", [False, True], ids=["the last step", "all steps"])
def test_programs_read_the_files_of_older_versions(server, machines, root, to_first):
    laptop, desk = machines
    letter = bytes(range(256)) * 4
    scan = b"".join(number.to_bytes(4, "big") for number in range(1 << 20))
    laptop.write("Tax.md", "Before April.\n")
    laptop.write("Home/Paint the door.md", "Blue.\n")
    laptop.write("Old.md", "")
    laptop.sync()
    for name, content in [("letter.txt", letter), ("scan.bin", scan)]:
        (root / name).write_bytes(content)
        laptop.ferry("attach", "Tax", root / name)
    desk.sync()
    desk.ferry("done", "Paint the door")
    desk.ferry("rm", "Old")
    agree(laptop, desk)
    before = laptop.files()
    assert before["Tax.files/scan.bin"] == scan

    for program in (laptop, desk, server):
        assert program.stop() == 0
    files = [path for home in (laptop.state, desk.state, server.data) for path in sorted(home.rglob("*")) if is_database(path)]
    copies = [copy for path in files for copy in take_back(path, to_first)]
    found = {copy.name.rsplit("-", 2)[1] for copy in copies}
    assert found == {component for component, steps in STEPS.items() if steps}, "a component that this test does not reach"

    server.start()
    laptop.start()
    desk.start()
    agree(laptop, desk)
    assert laptop.files() == before
    for copy in copies:
        assert copy.exists(), f"{copy.name}: an upgrade keeps what was there before"

    # Both continue from here, each with the other's changes.
    desk.write("Tax.md", "Before May.\n")
    (laptop.tasks / "Tax.files" / "scan.bin").write_bytes(scan[:3_000_000] + b"a line" + scan[3_000_000:])
    desk.sync()
    laptop.sync()
    agree(laptop, desk)
    after = desk.files()
    assert after["Tax.md"] == b"Before May.\n" and after["Tax.files/letter.txt"] == letter
    assert after["Tax.files/scan.bin"] == scan[:3_000_000] + b"a line" + scan[3_000_000:]
    for machine in machines:
        assert machine.status()["problems"] == [], machine.daemon.tail()
    for path in files:
        database = sqlite3.connect(path)
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        database.close()
