"""Line endings are bytes: nothing on the user's machine is rewritten, and the other machine gets the same bytes."""
from harness import agree, until

FILES = {
    "Head and body.md": b"---\r\npriority: high\r\ntags:\r\n- a\r\n---\r\nbody\r\nmore\r\n",
    "Notes only.md": b"one\r\ntwo\r\n",
    "Body alone.md": b"---\npriority: high\n---\nbody\r\nmore\r\n",
    "Head alone.md": b"---\r\npriority: high # why\r\n---\r\nbody\nmore\n",
    "Mixed.md": b"one\r\ntwo\nthree\r\r\nfour\rfive",
    "Old Mac.md": b"one\rtwo\rthree\r",
    "Mark.md": b"\xef\xbb\xbf---\r\ndue: 2026-12-01\r\n---\r\nx\r\n",
}


def test_bytes_are_synced_unchanged_and_a_command_changes_only_its_line(machines):
    laptop, desk = machines
    for name, content in FILES.items():
        (laptop.tasks / name).write_bytes(content)
    agree(laptop, desk)
    assert laptop.files() == FILES and desk.files() == FILES

    desk.ferry("set", "Notes only", "priority:low")
    desk.ferry("set", "Head and body", "+b")
    laptop.ferry("set", "Mixed", "--notes", "one\nTWO\nthree\nfour\rfive")
    agree(laptop, desk)
    files = laptop.files()
    assert files["Notes only.md"] == b"---\r\npriority: low\r\n---\r\none\r\ntwo\r\n"
    assert files["Head and body.md"] == FILES["Head and body.md"].replace(b"- a\r\n", b"- a\r\n- b\r\n")
    assert files["Mixed.md"] == b"one\nTWO\nthree\nfour\rfive\n"  # The file itself shows how its lines end.


def test_edits_of_both_machines_are_merged_by_lines_with_any_line_ending(machines):
    laptop, desk = machines
    (laptop.tasks / "Plan.md").write_bytes(b"a\r\nb\r\nc\r\nd\r\n")
    agree(laptop, desk)
    laptop.ferry("pause")
    desk.ferry("pause")
    (laptop.tasks / "Plan.md").write_bytes(b"a\r\nb\r\nc\r\nD\r\n")
    # An editor that writes line feeds, regardless of what it has read.
    (desk.tasks / "Plan.md").write_bytes(b"A\nb\r\nc\r\nd\r\n")
    for machine in machines:
        machine.ferry("resume")
    agree(laptop, desk)
    until(lambda: laptop.files()["Plan.md"] == b"A\nb\r\nc\r\nD\r\n", lambda: laptop.files())
    assert not laptop.json("conflicts")["conflicts"]
