"""A disk whose calls do not return: the daemon keeps responding, reports its pending calls, and ends on request."""
import os
import time

import pytest

from harness import built_library, until


@pytest.fixture
def stuck(root, machines):
    """A file; while it exists, the laptop's disk hangs."""
    library, file = built_library(root, "stuck-disk"), root / "stuck"
    laptop = machines[0]
    laptop.stop()
    laptop.daemon.environment = {**laptop.environment, "LD_PRELOAD": str(library), "FERRY_STUCK_DISK": str(file)}
    laptop.start()
    laptop.sync()
    yield file
    file.unlink(missing_ok=True)


def test_a_wait_returns_in_time_and_the_daemon_ends(root, machines, stuck):
    laptop, desk = machines
    laptop.ferry("add", "Film")
    laptop.sync()
    stuck.touch()
    (laptop.tasks / "Film.files").mkdir()
    for name in ("a.bin", "b.bin", "c.bin"):
        (laptop.tasks / "Film.files" / name).write_bytes(os.urandom(2 << 20))
    began = time.monotonic()
    result = laptop.ferry("sync", "--wait", "--timeout", "6", check=False, timeout=40)
    assert time.monotonic() - began < 20
    assert result.returncode != 0 and "Not in sync after 6 s" in result.stderr
    # The thread that responds is not the one that waits for the disk.
    assert laptop.daemon.stop() != 0
    assert "a service does not end service=sync waits-for=" in laptop.daemon.tail() or "does not stop" in laptop.daemon.tail()
    # Nothing is lost.
    stuck.unlink()
    laptop.start()
    laptop.sync(timeout=60)
    until(lambda: len(list((desk.tasks / "Film.files").glob("*.bin"))) == 3, desk.daemon.tail)
