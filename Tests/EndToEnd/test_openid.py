"""Signing a machine in with an OpenID provider, linking it, and bringing the tasks of an anonymous account along."""
import os
import re
import subprocess

import pytest
import requests

from harness import BIN, Machine, Server, agree, free_ports, until
from openid import AuthlibProvider, Provider
from proxy import CountingProxy


@pytest.fixture(scope="module")
def provider():
    provider = Provider(free_ports(1)[0])
    provider.start()
    yield provider
    provider.stop()


@pytest.fixture
def server(root, provider):
    secret = root / "secret"
    secret.write_text("very secret\n")
    server = Server(root, "--openid", f"home={provider.url},ferry,{secret}")
    server.start()
    yield server
    server.stop()


@pytest.fixture
def desktop(root):
    machine = Machine(root, "desktop")
    yield machine
    if machine.daemon.running:
        machine.stop()


class Command:
    """A `ferry` that waits for a browser."""

    def __init__(self, machine, *words):
        self.process = subprocess.Popen(
            [BIN / "ferry", *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, **machine.environment})
        self.said = ""

    def page(self):
        while True:
            line = self.process.stderr.readline()
            assert line, self.said
            self.said += line
            if found := re.search(r"http://\S+", line):
                return found[0]

    def end(self):
        out, rest = self.process.communicate(timeout=60)
        return self.process.returncode, out, self.said + rest


def browse(provider, page, subject):
    """Signs in at the provider's page and follows it back to the machine."""
    answer = requests.post(page, data={"sub": subject}, allow_redirects=False, timeout=5)
    target = answer.headers["Location"]
    wrong = requests.get(re.sub("state=[0-9a-f]+", "state=0", target), timeout=5)
    assert wrong.status_code == 404
    back = requests.get(target, timeout=5, allow_redirects=False)
    assert back.status_code == 200 and "close this page" in back.text
    return target


def through(machine, provider, subject, *words):
    command = Command(machine, *words)
    target = browse(provider, command.page(), subject)
    ended = command.end()
    # The state works once.
    with pytest.raises(requests.RequestException):
        requests.get(target, timeout=5).raise_for_status()
    return ended


def test_a_credential_in_use_brings_the_tasks_along(server, provider, laptop, desktop):
    provider.user("ann", email="ann@example.org", email_verified=True, name="Ann")
    laptop.start()
    laptop.ferry("login", server.url)
    laptop.write("Milk.md", "Oat\n")
    laptop.sync()
    before = laptop.json("whoami")["account"]
    assert before.get("email") is None
    status, out, said = through(laptop, provider, "ann", "link", "--with", "home")
    assert status == 0 and "ann@example.org" in out, said
    after = laptop.json("whoami")["account"]
    assert after["userId"] == before["userId"] and after["email"] == "ann@example.org"
    assert set(laptop.list()) == {"Milk"}
    # The only way to sign in stays.
    last = laptop.ferry("unlink", "home", check=False)
    assert last.returncode != 0 and "last way" in last.stderr
    laptop.ferry("account", "name", "Ann at home")

    desktop.start()
    desktop.ferry("login", server.url)
    desktop.write("Bread.md", "Rye\n")
    desktop.write("With a file.md", "")
    attachment = desktop.tasks / "With a file.files"
    attachment.mkdir()
    (attachment / "note.txt").write_text("x" * 5000)
    desktop.sync()
    anonymous = desktop.json("whoami")["account"]["userId"]
    status, out, said = through(desktop, provider, "ann", "link", "--with", "home")
    assert status != 0 and "another account" in said and "ferry login" in said
    assert desktop.json("whoami")["account"]["userId"] == anonymous
    status, out, said = through(desktop, provider, "ann", "login", server.url, "--with", "home")
    assert status == 0 and "ann@example.org" in out, said
    assert desktop.json("whoami")["account"]["userId"] == after["userId"]
    desktop.sync()
    laptop.sync()
    agree(laptop, desktop)
    assert set(laptop.list()) == {"Milk", "Bread", "With a file"}
    assert (laptop.tasks / "With a file.files/note.txt").read_text() == "x" * 5000


def test_attachments_that_come_along_are_not_sent_again(server, provider, laptop, desktop):
    provider.user("carl", email="carl@example.org", email_verified=True)
    proxy = CountingProxy(server.url.split("//", 1)[1])
    url, content = f"http://{proxy.address}", os.urandom(5_000_000)
    try:
        desktop.start()
        desktop.ferry("login", url)
        anonymous = desktop.json("whoami")["account"]["userId"]
        desktop.write("Film.md", "")
        (desktop.tasks / "Film.files").mkdir()
        (desktop.tasks / "Film.files/film.bin").write_bytes(content)
        desktop.sync()
        sent = proxy.up
        assert sent > len(content)
        status, _, said = through(desktop, provider, "carl", "login", url, "--with", "home")
        assert status == 0, said
        desktop.sync()
        again = proxy.up - sent
        print(f"{sent} bytes were sent at first, {again} for the other account")
        assert desktop.json("whoami")["account"]["userId"] != anonymous
        entry = desktop.json("attachments", "Film")["attachments"][0]
        assert entry["state"] == "here" and again < 200_000, (entry, again)
        laptop.start()
        status, _, said = through(laptop, provider, "carl", "login", server.url, "--with", "home")
        assert status == 0, said
        target = laptop.tasks / "Film.files/film.bin"
        until(target.exists, lambda: laptop.status(), timeout=60)
        assert target.read_bytes() == content
    finally:
        desktop.stop()
        proxy.close()


def test_a_declined_sign_in_and_another_accounts_tasks(server, provider, laptop):
    provider.user("bob", email="bob@example.org", email_verified=True)
    laptop.start()
    command = Command(laptop, "login", server.url, "--with", "home")
    page = command.page()
    target = requests.post(page, data={"sub": "bob"}, allow_redirects=False, timeout=5).headers["Location"]
    declined = requests.get(re.sub("code=[^&]+", "error=access_denied", target), timeout=5)
    assert "not signed in" in declined.text
    status, _, said = command.end()
    assert status != 0 and "declined" in said
    laptop.login(server, create=True)
    laptop.write("Mine.md", "")
    laptop.sync()
    laptop.ferry("logout")
    status, _, said = through(laptop, provider, "bob", "login", server.url, "--with", "home")
    assert status != 0 and "belong to another account" in said
    assert laptop.status()["state"] == "needs-sign-in"
    status, _, said = through(laptop, provider, "bob", "login", server.url, "--with", "home", "--merge")
    assert status == 0, said
    unknown = laptop.ferry("login", server.url, "--with", "nowhere", check=False)
    assert unknown.returncode != 0 and "no OpenID provider" in unknown.stderr
    assert until(lambda: "Mine" in laptop.list(), "the task")


def test_a_machine_without_a_browser_signs_in_on_another_device(root, laptop):
    provider = AuthlibProvider(free_ports(1)[0])
    provider.start()
    secret = root / "secret"
    secret.write_text("very secret\n")
    server = Server(root, "--openid", f"home={provider.url},ferry,{secret}")
    server.start()
    try:
        laptop.start()
        laptop.ferry("login", server.url)
        laptop.write("Milk.md", "Oat\n")
        laptop.sync()
        anonymous = laptop.json("whoami")["account"]["userId"]
        for answer, status in (("no", 1), ("yes", 0)):
            command = Command(laptop, "login", server.url, "--with", "home", "--device")
            assert command.page().startswith(f"{provider.url}/device")
            while not (code := re.search(r"[A-Z]{4}-[A-Z]{4}", command.said)):
                command.said += command.process.stderr.readline()
            provider.post("device", user_code=code[0], sub="ann", approve=answer)
            ended, out, said = command.end()
            assert (ended == 0) == (status == 0), said
        assert "ann@example.org" in out and laptop.json("whoami")["account"]["userId"] != anonymous
        laptop.sync()
        assert set(laptop.list()) == {"Milk"}
    finally:
        server.stop()
        provider.stop()
