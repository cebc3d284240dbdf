"""Tasks directories that span several file systems, or that are on FUSE."""
import os
import shutil
import subprocess

import pytest

from harness import Machine, agree, until


@pytest.fixture
def mounted():
    """Provides a function that mounts, and unmounts everything at the end."""
    places = []

    def mount(place, *command):
        result = subprocess.run([*command, str(place)], capture_output=True, text=True)
        if result.returncode:
            pytest.skip(f"cannot mount here: {result.stderr.strip()}")
        places.append(place)

    yield mount
    for place in reversed(places):
        subprocess.run(["umount", "-l", str(place)], check=False, capture_output=True)


def test_a_list_on_another_file_system(machines, mounted):
    laptop, desk = machines
    (laptop.tasks / "Mnt").mkdir()
    mounted(laptop.tasks / "Mnt", "mount", "-t", "tmpfs", "-o", "size=8m", "none")
    laptop.write("Mnt/m.md", "m\n")
    laptop.write("Mnt/m.files/a.txt", "from the laptop")
    laptop.write("Mnt/n.md", "n\n")
    laptop.write("Mnt/o.md", "o\n")
    laptop.write("t.md", "t\n")
    laptop.write("t.files/t.txt", "beside t")
    agree(laptop, desk)
    desk.write("Mnt/m.files/b.txt", "from the desk")
    desk.write("Mnt/m.files/a.txt", "from the desk, too")
    agree(laptop, desk)
    (desk.tasks / "Mnt/m.files/a.txt").unlink()
    (desk.tasks / "Mnt/n.md").unlink()
    agree(laptop, desk)
    assert sorted(laptop.files()) == ["Mnt/m.files/b.txt", "Mnt/m.md", "Mnt/o.md", "t.files/t.txt", "t.md"]
    identifiers = {title: task["id"] for title, task in laptop.list().items()}
    # The task moves out of the mount and into it, with its attachments.
    (desk.tasks / "Mnt/m.md").rename(desk.tasks / "m.md")
    (desk.tasks / "t.md").rename(desk.tasks / "Mnt/t.md")
    agree(laptop, desk)
    assert sorted(laptop.files()) == ["Mnt/o.md", "Mnt/t.files/t.txt", "Mnt/t.md", "m.files/b.txt", "m.md"]
    # The user moves it on the machine that has the mount, and its attachments follow.
    shutil.move(laptop.tasks / "m.md", laptop.tasks / "Mnt/m.md")
    agree(laptop, desk)
    laptop.ferry("rm", "Mnt/t.md", "--yes")
    agree(laptop, desk)
    laptop.ferry("restore", identifiers["t"])
    agree(laptop, desk)
    assert {title: task["id"] for title, task in laptop.list().items()} == identifiers
    assert laptop.status()["problems"] == [] and os.path.ismount(laptop.tasks / "Mnt")
    # The mount point itself cannot be renamed: that is reported, and everything else keeps syncing.
    (desk.tasks / "Mnt").rename(desk.tasks / "Other")
    until(lambda: any("mount point" in problem["message"] for problem in laptop.status()["problems"]), "the problem to be told")
    desk.write("u.md", "u\n")
    until(lambda: laptop.read("u.md") == "u\n", "the laptop to go on")
    (desk.tasks / "Other").rename(desk.tasks / "Mnt")
    agree(laptop, desk)
    until(lambda: laptop.status()["problems"] == [], lambda: laptop.status()["problems"])


@pytest.mark.parametrize("disk", ["tmpfs", "ramfs", "the same file system"])
def test_a_list_whose_file_system_is_not_mounted_keeps_its_tasks(root, machines, mounted, disk):
    laptop, desk = machines
    (root / "disk").mkdir()
    if disk.endswith("fs"):  # Of these two, ramfs keeps no extended attributes.
        mounted(root / "disk", "mount", "-t", disk, "none")
    place = laptop.tasks / "Mnt"
    place.mkdir()
    mounted(place, "mount", "--bind", root / "disk")
    for number in range(3):
        laptop.write(f"Mnt/{number}.md", "text\n")
    laptop.write("Mnt/0.files/a.txt", "beside it")
    laptop.write("t.md", "t\n")
    laptop.stop()
    laptop.start()
    agree(laptop, desk)
    for is_running in (True, False):
        if not is_running:
            laptop.stop()
        until(lambda: subprocess.run(["umount", place], capture_output=True).returncode == 0, "the daemon to let go")
        if not is_running:
            laptop.start()
        until(lambda: "Mnt" in [problem["subject"] for problem in laptop.status()["problems"]], laptop.status)
        desk.write("Mnt/1.md", f"edited {is_running}\n")
        desk.write(f"Mnt/new {is_running}.md", "new\n")
        assert "another file system" in laptop.ferry("status")
        until(lambda: laptop.ferry("status", "--check", check=False).returncode == 6, laptop.status)
        desk.write("t.md", f"t {is_running}\n")
        until(lambda: laptop.read("t.md") == f"t {is_running}\n", laptop.files)
        assert list(place.iterdir()) == [] and desk.read("Mnt/2.md") == "text\n"
        mounted(place, "mount", "--bind", root / "disk")
        agree(laptop, desk)
        until(lambda: laptop.status()["problems"] == [], laptop.status)
    assert laptop.read("Mnt/1.md") == "edited False\n" and laptop.read("Mnt/0.files/a.txt") == "beside it"
    assert desk.json("trash")["trash"] == []


def test_a_home_on_fuse_is_known_after_it_is_mounted_again(root, server, mounted):
    if not shutil.which("bindfs"):
        pytest.skip("there is no bindfs; apt-get install bindfs")
    (root / "real").mkdir()
    laptop = Machine(root, "laptop")
    mounted(laptop.tasks, "bindfs", root / "real")
    laptop.start()
    laptop.login(server, create=True)
    for number in range(3):
        laptop.write(f"t{number}.md", f"text {number}\n")
    laptop.sync()
    before = {title: task["id"] for title, task in laptop.list().items()}
    device = os.stat(laptop.tasks).st_dev
    laptop.stop()
    subprocess.run(["umount", laptop.tasks], check=True)
    # This mount takes the device number, so that the next one gets another.
    (root / "between").mkdir()
    mounted(root / "between", "mount", "-t", "tmpfs", "none")
    mounted(laptop.tasks, "bindfs", root / "real")
    if os.stat(laptop.tasks).st_dev == device:
        pytest.skip("the device number is the same again")
    laptop.start()
    (laptop.tasks / "t2.md").unlink()
    laptop.sync()
    assert laptop.status()["state"] == "running" and laptop.status()["problems"] == []
    del before["t2"]
    until(lambda: {title: task["id"] for title, task in laptop.list().items()} == before, lambda: laptop.list().keys())
    laptop.stop()
