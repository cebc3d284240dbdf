"""A server and two machines that are signed in to it, fresh for each test that asks for them."""
import tempfile
from pathlib import Path

import pytest

from harness import Machine, Server


@pytest.fixture
def root():
    # Not pytest's tmp_path: a Unix socket's path has 107 bytes at most.
    with tempfile.TemporaryDirectory(prefix="ferry-") as directory:
        yield Path(directory)


@pytest.fixture
def server(root):
    server = Server(root)
    server.start()
    yield server
    server.stop()


@pytest.fixture
def machines(root, server):
    """Laptop and desk, both running and signed in."""
    pair = [Machine(root, "laptop"), Machine(root, "desk")]
    for index, machine in enumerate(pair):
        machine.start()
        machine.login(server, create=index == 0)
    yield pair
    for machine in pair:
        if machine.daemon.running:
            machine.stop()


@pytest.fixture
def laptop(root):
    """A machine that nobody has started or signed in."""
    machine = Machine(root, "laptop")
    yield machine
    if machine.daemon.running:
        machine.stop()
