"""Fixtures: a server and two machines that are signed in to it, created for each test that requests them."""
import signal
import tempfile
from pathlib import Path

import pytest

from harness import Machine, Server

# A shell starts what runs in the background with the signal of Ctrl-C ignored, which programs inherit.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def root():
    # pytest's tmp_path would be too long: the path of a Unix socket has at most 107 bytes.
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
    """A laptop and a desk, both running and signed in."""
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
    """A machine that is neither running nor signed in."""
    machine = Machine(root, "laptop")
    yield machine
    if machine.daemon.running:
        machine.stop()
