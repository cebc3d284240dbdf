"""A machine whose anonymous account's tasks go to another account is killed after each of its effects: nothing is lost, and
nothing is there twice.

FERRY_KILLS is the number of kills, 0 for one after each effect.
"""
import os
import struct

import pytest

from harness import Machine, Server, agree, built_library, free_ports, until
from openid import Provider
from test_openid import Command, browse

KILLS = int(os.environ.get("FERRY_KILLS", "6"))


@pytest.fixture
def provider():
    provider = Provider(free_ports(1)[0])
    provider.start()
    yield provider
    provider.stop()


class Effects:
    """The effects of a machine's daemon, after one of which it is killed."""

    def __init__(self, machine, library):
        self.file = machine.home / "effects"
        self.set(0)
        machine.daemon.environment = {**machine.environment, "LD_PRELOAD": str(library), "FERRY_EFFECTS": str(self.file)}

    def set(self, left):
        with open(self.file, "r+b" if self.file.exists() else "wb") as file:
            file.write(struct.pack("qq", left, 0))

    @property
    def count(self):
        return struct.unpack("qq", self.file.read_bytes())[1]


def sign_in(machine, provider, server):
    """Returns whether the daemon lived to the end of the sign-in."""
    command = Command(machine, "login", server.url, "--with", "home")
    try:
        browse(provider, command.page(), "ann")
    except (AssertionError, OSError):
        # The daemon was killed before it had a page, or before the browser came back.
        pass
    return command.end()[0] == 0


def migrate(number, kill, root, library, server, provider, desk):
    """Lets a new machine with an anonymous account and tasks sign in to ann's, and kills it after an effect. Returns the number
    of effects until its tasks were there."""
    machine = Machine(root, f"m{number}")
    effects = Effects(machine, library)
    machine.start()
    machine.ferry("login", server.url)
    machine.write(f"Milk {number}.md", "Oat\n")
    machine.write(f"Home/Paint {number}.md", "")
    attachment = machine.tasks / f"Home/Paint {number}.files/color.bin"
    attachment.parent.mkdir()
    attachment.write_bytes(bytes([number % 256]) * 3000)
    machine.sync()
    anonymous = machine.json("whoami")["account"]["userId"]
    effects.set(kill or 1 << 40)
    if sign_in(machine, provider, server):
        machine.ferry("sync", "--wait", "--timeout", "30", check=False)
    if kill:
        if machine.daemon.running:
            # Fewer effects than in the run before, because some were in another order.
            machine.daemon.kill()
        effects.set(0)
        machine.start()
        if machine.json("whoami")["account"]["userId"] == anonymous:
            assert sign_in(machine, provider, server), machine.daemon.tail()
    count = effects.count
    effects.set(0)
    agree(machine, desk, timeout=60)
    files = desk.files()
    assert files[f"Home/Paint {number}.files/color.bin"] == bytes([number % 256]) * 3000
    machine.stop()
    return count


def test_a_killed_migration_loses_and_doubles_nothing(root, provider):
    secret = root / "secret"
    secret.write_text("very secret\n")
    server = Server(root, "--openid", f"home={provider.url},ferry,{secret}")
    server.start()
    provider.user("ann", email="ann@example.org", email_verified=True)
    library = built_library(root, "stop-after")
    desk = Machine(root, "desk")
    desk.start()
    try:
        assert sign_in(desk, provider, server)
        desk.write("Desk.md", "")
        desk.sync()
        total = migrate(0, 0, root, library, server, provider, desk)
        points = range(1, total + 1) if KILLS == 0 else sorted({1 + total * n // KILLS for n in range(KILLS)})
        for kill in points:
            migrate(kill, kill, root, library, server, provider, desk)
        expected = {"Desk", *(f"{name} {number}" for number in [0, *points] for name in ("Milk", "Paint"))}
        assert sorted(task["title"] for task in desk.json("list", "--all")["tasks"]) == sorted(expected)
        print(f"{total} effects, killed after {list(points)}")
    finally:
        desk.daemon.kill()
        server.stop()
