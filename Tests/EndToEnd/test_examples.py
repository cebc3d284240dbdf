"""The programs of Examples, built as packages of their own and run against a server on loopback."""
import json
import os
import re
import subprocess
import threading
from pathlib import Path

import firebase_admin
import pytest
from aiosmtpd.controller import Controller
from firebase_admin import auth, credentials

from harness import BIN, PASSWORD, Server, free_ports, until

EXAMPLES = Path(__file__).parents[2] / "Examples"


@pytest.fixture(scope="session")
def programs():
    subprocess.run(["swift", "build", "--package-path", EXAMPLES], check=True, timeout=1800)
    place = subprocess.run(
        ["swift", "build", "--package-path", EXAMPLES, "--show-bin-path"], check=True, capture_output=True, text=True)
    return Path(place.stdout.strip())


def run(program, *arguments):
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


class Window:
    """A `MakeItSo` in a terminal of its own."""

    def __init__(self, program, url, directory):
        self.process = subprocess.Popen(
            [program, url, str(directory)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True)
        self.lines = []
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))

    def type(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def screen(self):
        """The tasks as they were shown last."""
        shown = []
        for line in self.lines:
            if line.startswith("-- "):
                shown = []
            elif line[:1].isdigit() or line.startswith("      "):
                shown.append(line.strip())
        return shown

    def shows(self, *lines):
        until(lambda: self.screen() == list(lines), lambda: f"{lines}, not {self.lines[-20:]}")

    def says(self, text):
        until(lambda: any(text in line for line in self.lines), lambda: f"{text!r} in {self.lines[-20:]}")

    def close(self):
        self.type("quit")
        assert self.process.wait(20) == 0


def test_repository(programs, server, root):
    assert run(programs / "Repository", server.url, root / "state") == [
        "memory: [\"Call Ada\"]", "ferry: [\"Call Ada\"]"]


def test_chat(programs, server, root):
    assert run(programs / "Chat", server.url, root / "state") == [
        "kitchen: Who has the milk? | It is on the table.",
        "all rooms: Who has the milk? | It is on the table. | The roses bloom.",
        "counted: 3",
        "room: Kitchen 2",
    ]


def test_migration(programs, server, root):
    """The documents of an anonymous account, those below them, and files follow to the account that has the credential."""
    arguments = ("ada@example.org", PASSWORD)
    phone = run(programs / "Migration", server.url, root / "phone", *arguments)
    assert phone == ["linked: the same id", "Trip of phone: Oslo, ticket"]
    tablet = run(programs / "Migration", server.url, root / "tablet", *arguments)
    assert tablet == [
        "moving 2 documents", "signed in: another id", "Trip of phone: Oslo, ticket", "Trip of tablet: Oslo, ticket"]


class Mailbox:
    """What a mail server that nobody here wrote (aiosmtpd) has received."""

    def __init__(self):
        self.mails = []

    async def handle_DATA(self, server, session, envelope):
        self.mails.append(envelope.content.decode())
        return "250 OK"

    def take_link(self):
        return self.mails and next(line for line in self.mails.pop().splitlines() if "oobCode=" in line)


def test_sign_in_by_mail_and_by_token(programs, root):
    """Links of mails, and tokens that Google's library signs."""
    mailbox, [port] = Mailbox(), free_ports(1)
    controller = Controller(mailbox, hostname="127.0.0.1", port=port)
    controller.start()
    server = Server(root, "--smtp", f"smtp://127.0.0.1:{port}", "--smtp-from", "ferry@example.org")
    server.start()
    try:
        program = (programs / "SignIn", server.url)
        for machine, id, count in (("phone", "the same id", 1), ("tablet", "another id", 2)):
            assert run(*program, root / machine, "mail", "ada@example.org") == ["sent"]
            enter = (*program, root / machine, "link", "ada@example.org", until(mailbox.take_link, "a mail"))
            notes = ", ".join(["written before"] * count)
            assert run(*enter) == [f"signed in: ada@example.org ({id})", f"notes: {notes}"]
            assert run(*enter) == ["The link was used already."]
        key = subprocess.run(
            [BIN / "ferry-server", "keys", "add", "--service-account", "app", "--data", server.data], check=True,
            capture_output=True, text=True)
        app = firebase_admin.initialize_app(credentials.Certificate(json.loads(key.stdout)), name="examples")
        token = auth.create_custom_token("member-7", app=app).decode()
        firebase_admin.delete_app(app)

        def enters(token):
            return subprocess.run([*program, root / "desk", "token", token], capture_output=True, text=True, timeout=60)

        assert "token is wrong" in enters(token + "x").stderr
        lines = until(lambda: enters(token).stdout.splitlines(), "the server to notice the key")
        assert lines == ["signed in: member-7 (another id)", "notes: "]
    finally:
        server.stop()
        controller.stop()


def test_cloud_firestore(programs, root):
    server = Server(root, "--emulator")
    server.start()
    try:
        arguments = (programs / "CloudFirestore", "--emulator", server.documents, server.url)
        assert run(*arguments, root / "state") == [
            "user: anonymous", "large: Paris, Lyon", "people: 2970000", "paris: 2100001", "linked: the same id, 3 cities"]
        # The address belongs to the first user now, who gets what the second has written.
        assert run(*arguments, root / "other")[-1] == "moved: another id, 6 cities"
    finally:
        server.stop()


def test_two_windows_in_step(programs, server, root):
    one = Window(programs / "MakeItSo", server.url, root / "one")
    one.type("add Buy milk")
    one.shows("1. [ ] Buy milk")
    until(lambda: "-- 1 tasks" in one.lines, "a task that the server has")
    one.type("add Call Ada")
    one.shows("1. [ ] Buy milk", "2. [ ] Call Ada")
    one.type("high 2")
    one.shows("1. [ ] Call Ada !", "2. [ ] Buy milk")
    one.type(f"link ada@example.org {PASSWORD}")
    one.type("who")
    one.says("ada@example.org")
    one.type("sync")
    one.says("in step")

    two = Window(programs / "MakeItSo", server.url, root / "two")
    two.type(f"login ada@example.org {PASSWORD}")
    two.shows("1. [ ] Call Ada !", "2. [ ] Buy milk")
    two.type("done 1")
    one.shows("1. [x] Call Ada !", "2. [ ] Buy milk")

    # Both write while the server is away. Nothing is lost.
    server.stop()
    one.type("note 2 two liters")
    two.type("title 2 Buy oat milk")
    one.shows("1. [x] Call Ada !", "2. [ ] Buy milk", "two liters")
    two.shows("1. [x] Call Ada !", "2. [ ] Buy oat milk")
    server.start()
    both = ("1. [x] Call Ada !", "2. [ ] Buy oat milk", "two liters")
    one.shows(*both)
    two.shows(*both)

    # An account that exists is not linked twice.
    three = Window(programs / "MakeItSo", server.url, root / "three")
    three.type(f"link ada@example.org {PASSWORD}")
    three.says("has an account")
    for window in (one, two, three):
        window.close()


def test_attachments_in_step_with_a_directory(programs, server, root, laptop):
    window = Window(programs / "MakeItSo", server.url, root / "app")
    window.type(f"link me@example.org {PASSWORD}")
    window.type("add Insurance")
    window.shows("1. [ ] Insurance")
    laptop.start()
    laptop.login(server)
    until(lambda: (laptop.tasks / "Insurance.md").exists(), lambda: sorted(laptop.files()))

    # What the app attaches appears beside the task's file.
    photo = root / "photo.jpg"
    photo.write_bytes(os.urandom(3 << 20))
    window.type(f"attach 1 {photo}")
    window.says("photo.jpg: finished 100 %")
    attached = laptop.tasks / "Insurance.files"
    until(lambda: (attached / "photo.jpg").exists(), lambda: sorted(laptop.files()))
    assert (attached / "photo.jpg").read_bytes() == photo.read_bytes()

    # What is dropped there appears in the app: one chunk without a manifest, and several.
    (attached / "letter.txt").write_text("Dear Sir or Madam\n")
    (attached / "film.bin").write_bytes(film := os.urandom(5 << 20))
    window.shows("1. [ ] Insurance", "+ film.bin, 5242880 bytes", "+ letter.txt, 18 bytes", "+ photo.jpg, 3145728 bytes")
    for name, content in ("letter.txt", b"Dear Sir or Madam\n"), ("film.bin", film):
        window.lines.clear()
        window.type(f"open 1 {name}")
        window.says("opened ")
        (path,) = [re.match("opened (.*)", line)[1] for line in window.lines if line.startswith("opened ")]
        assert Path(path).read_bytes() == content

    # Both sides remove files, and a pause of the server only delays what is attached meanwhile.
    window.type("detach 1 photo.jpg")
    (attached / "letter.txt").unlink()
    until(lambda: sorted(path.name for path in attached.iterdir()) == ["film.bin"], lambda: sorted(laptop.files()))
    window.shows("1. [ ] Insurance", "+ film.bin, 5242880 bytes")
    server.stop()
    window.type(f"attach 1 {photo}")
    window.shows("1. [ ] Insurance", "+ film.bin, 5242880 bytes", "+ photo.jpg, 3145728 bytes, uploading")
    server.start()
    until(lambda: (attached / "photo.jpg").exists(), lambda: sorted(laptop.files()))
    assert (attached / "photo.jpg").read_bytes() == photo.read_bytes()
    window.shows("1. [ ] Insurance", "+ film.bin, 5242880 bytes", "+ photo.jpg, 3145728 bytes")
    window.close()
