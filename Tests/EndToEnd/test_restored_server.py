"""A server restored to an earlier state: machines hold all changes until their user confirms it, and then merge."""
import os
import shutil
import subprocess

import pytest

from harness import BIN, Machine, agree, until


def back_up(server, place):
    subprocess.run([BIN / "ferry-server", "backup", place, "--data", server.data], check=True, capture_output=True)


def restore(server, place):
    shutil.rmtree(server.data)
    subprocess.run([BIN / "ferry-server", "restore", place, "--data", server.data], check=True, capture_output=True)


def copy_files(server, place):
    server.stop()
    shutil.copytree(server.data, place)
    server.start()


def put_files_back(server, place):
    shutil.rmtree(server.data)
    shutil.copytree(place, server.data)


@pytest.mark.parametrize("save, put_back", [(back_up, restore), (copy_files, put_files_back)], ids=["backup", "snapshot"])
def test_a_restored_server_removes_nothing(root, server, machines, save, put_back):
    laptop, desk = machines
    for name in ("Old", "Edited", "Gone"):
        laptop.write(f"{name}.md", "before\n")
    agree(laptop, desk)
    # A machine that was off all the time, and has no newer data.
    tablet = Machine(root, "tablet")
    tablet.start()
    tablet.login(server)
    agree(laptop, tablet)
    tablet.stop()
    save(server, root / "saved")
    laptop.write("Edited.md", laptop.read("Edited.md").replace("before", "after"))
    laptop.write("New.md", "new\n")
    drawing = os.urandom(300_000)
    (laptop.tasks / "New.files").mkdir()
    (laptop.tasks / "New.files/drawing.bin").write_bytes(drawing)
    (laptop.tasks / "Gone.md").unlink()
    agree(laptop, desk)
    files = laptop.files()
    assert "New.md" in files and "Gone.md" not in files

    server.stop()
    put_back(server, root / "saved")
    server.start()
    for machine in machines:
        assert machine.ferry("sync", check=False).returncode in (5, 6)
        until(lambda: machine.status()["state"] == "server-held", lambda: f"{machine.status()}\n{machine.daemon.tail()}",
              timeout=60)
        assert "ferry rebind" in machine.status()["hint"]
        assert machine.ferry("status", "--check", check=False).returncode == 6
    laptop.write("While held.md", "written while held\n")
    assert laptop.ferry("sync", check=False).returncode == 6
    # A restart of the daemon changes nothing.
    desk.stop()
    desk.start()
    until(lambda: desk.status()["state"] == "server-held", desk.status)
    for machine, expected in ((laptop, {**files, "While held.md": laptop.files()["While held.md"]}), (desk, files)):
        assert machine.files() == expected
        assert [task["title"] for task in machine.json("trash")["trash"]] == ["Gone"]

    for machine in machines:
        machine.ferry("rebind")
        until(lambda: machine.status()["state"] == "running", lambda: f"{machine.status()}\n{machine.daemon.tail()}", timeout=30)
    agree(laptop, desk)
    both = laptop.files()
    # The server still had a task that was deleted since the backup, and a merge deletes nothing.
    assert set(both) == {*files, "While held.md", "Gone.md"}
    assert {name: both[name] for name in files} == files
    tablet.start()
    if put_back is restore:
        until(lambda: tablet.status()["state"] == "server-held", lambda: f"{tablet.status()}\n{tablet.daemon.tail()}")
        tablet.ferry("rebind")
    # A snapshot contains everything that this machine has seen.
    agree(laptop, desk, tablet)
    assert laptop.files() == both, "what is older takes nothing back"
    tablet.stop()
    refused = laptop.ferry("rebind", check=False)
    assert refused.returncode != 0 and "Nothing is held" in refused.stderr
    # Objects that only the machines had are on the server again.
    phone = Machine(root, "phone")
    phone.start()
    try:
        phone.login(server)
        agree(laptop, phone)
        assert (phone.tasks / "New.files/drawing.bin").read_bytes() == drawing
    finally:
        phone.stop()
