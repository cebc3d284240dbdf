"""A tasks directory on a USB stick, which can be removed while the daemon runs without losing data."""
import os
import shutil
import subprocess

import pytest

from harness import Machine, agree, until


@pytest.fixture
def stick(root):
    """Mounts a separate file system for the laptop's tasks; the fixture's value mounts it again."""
    place, image = root / "stick", root / "image"
    place.mkdir()
    subprocess.run(["truncate", "-s", "64M", image], check=True)
    if shutil.which("mkfs.ext4") is None:
        pytest.skip("mkfs.ext4 is not here")
    subprocess.run(["mkfs.ext4", "-q", image], check=True)

    def mount():
        return subprocess.run(["mount", "-o", "loop", image, place], capture_output=True, text=True)

    result = mount()
    if result.returncode:
        pytest.skip(f"a loop device cannot be mounted: {result.stderr.strip()}")
    yield place, mount
    subprocess.run(["umount", "-l", place], capture_output=True)


def opened_beneath(machine, place):
    links = []
    for name in os.listdir(f"/proc/{machine.daemon.process.pid}/fd"):
        try:
            links.append(os.readlink(f"/proc/{machine.daemon.process.pid}/fd/{name}"))
        except OSError:
            continue  # The descriptor was closed since it was listed.
    return [link for link in links if link.startswith(str(place))]


@pytest.fixture
def container():
    """Keeps all mounts in a mount namespace of its own, as a container does."""
    process = subprocess.Popen(
        ["unshare", "-m", "sh", "-c", "echo up; exec cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    yield lambda: process.stdout.readline()
    process.stdin.close()
    process.wait(10)


@pytest.mark.parametrize("pauses", [True, False])
def test_the_file_system_of_the_tasks_can_be_unmounted(root, server, stick, pauses):
    unmount(root, server, stick, pauses)


def test_an_unmount_is_noticed_while_a_container_keeps_the_file_system(root, server, stick, container):
    # The kernel reports an unmount to watches of directories only if the file system is mounted nowhere else.
    if container() != b"up\n":
        pytest.skip("there can be no mount namespace")
    unmount(root, server, stick, pauses=False)


def unmount(root, server, stick, pauses):
    place, mount = stick
    laptop, desk = Machine(root, "laptop"), Machine(root, "desk")
    laptop.tasks.rmdir()
    (place / "Tasks").mkdir()
    laptop.tasks.symlink_to(place / "Tasks")
    for index, machine in enumerate([laptop, desk]):
        machine.start()
        machine.login(server, create=index == 0)
    try:
        laptop.write("Plan.md", "the plan\n")
        (laptop.tasks / "Plan.files").mkdir()
        (laptop.tasks / "Plan.files" / "a.bin").write_bytes(os.urandom(1 << 20))
        agree(laptop, desk)
        if pauses:
            laptop.ferry("pause")
        until(lambda: not opened_beneath(laptop, place), lambda: f"nothing open: {opened_beneath(laptop, place)}", timeout=60)
        result = subprocess.run(["umount", place], capture_output=True, text=True)
        assert result.returncode == 0, result.stderr
        if not pauses:
            until(lambda: laptop.status()["state"] == "root-held", laptop.status, timeout=60)
        desk.write("Plan.md", "the plan\nof the desk\n")
        desk.sync()
        assert mount().returncode == 0
        if pauses:
            laptop.ferry("resume")
        until(lambda: laptop.status()["state"] == "running", laptop.status, timeout=60)
        # The absence of the files did not count as deletes.
        agree(laptop, desk, timeout=60)
        assert laptop.read("Plan.md") == "the plan\nof the desk\n"
    finally:
        for machine in (laptop, desk):
            machine.stop()
