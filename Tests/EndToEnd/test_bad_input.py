"""Bad input from disk and remote: each has a defined result and a message with the remedy, and the rest keeps syncing."""
import os
import socket
import subprocess

import pytest

from harness import BIN, PASSWORD, Machine, Server, agree, until


def problems(machine, text):
    """Returns the problems whose subject, message or hint contains the text."""
    return [problem for problem in machine.status()["problems"] if text in " ".join(map(str, problem.values()))]


def told(machine, text):
    """Waits for a problem, and checks that it says what to do."""
    until(lambda: problems(machine, text), lambda: f"a problem with {text!r}: {machine.status()}\n{machine.daemon.tail()}")
    (problem, *_) = problems(machine, text)
    assert len(problem["message"]) + len(problem.get("hint") or "") > 20, problem
    until(lambda: machine.status()["state"] != "starting", machine.daemon.tail)
    assert machine.ferry("status", "--check", check=False).returncode == 6
    return problem


def goes_on(laptop, desk, name="The rest goes on"):
    laptop.write(f"{name}.md", "")
    until(lambda: desk.read(f"{name}.md") is not None, laptop.daemon.tail)
    desk.write(f"{name} here too.md", "")
    until(lambda: laptop.read(f"{name} here too.md") is not None, desk.daemon.tail)


@pytest.mark.parametrize("text", [
    "---\npriority: [high\n---\nBody\n", "---\npriority: high\nno end\n", "---\ntitle: a\ntitle: b\n---\n",
    "---\na: &x [*x, *x]\nb: [[[[[[[[[[\n---\n", "---\n\t- tabs\n---\n", "---\nnotes: \x00\n---\n",
], ids=["flow", "unterminated", "duplicate key", "nested", "tabs", "NUL"])
def test_front_matter_that_cannot_be_parsed_is_left_alone_and_its_last_version_stays(machines, text):
    laptop, desk = machines
    laptop.write("Note.md", "---\npriority: low\n---\nGood\n")
    agree(laptop, desk)
    good = desk.read("Note.md")
    laptop.write("Note.md", text)
    told(laptop, "Note.md")
    desk.ferry("set", "Note", "+elsewhere")
    goes_on(laptop, desk)
    assert laptop.read("Note.md") == text, "it is left alone byte for byte"
    assert desk.read("Note.md").startswith(good[:10]) and "Good" in desk.read("Note.md")
    # As soon as the file parses it syncs again, and changes made in the meantime are merged.
    laptop.write("Note.md", "---\npriority: low\n---\nBetter\n")
    until(lambda: "Better" in (desk.read("Note.md") or ""), laptop.daemon.tail)
    agree(laptop, desk)
    assert not problems(laptop, "Note.md") and laptop.list()["Note"]["tags"] == ["elsewhere"]


def test_files_that_are_not_task_files_are_reported_and_left_alone(root, machines):
    laptop, desk = machines
    laptop.write("Plain.md", "")
    agree(laptop, desk)
    (root / "outside.md").write_text("secret\n")
    (laptop.tasks / "Link.md").symlink_to(root / "outside.md")
    (root / "elsewhere").mkdir()
    (root / "elsewhere/Inner.md").write_text("secret\n")
    (laptop.tasks / "LinkedList").symlink_to(root / "elsewhere")
    os.mkfifo(laptop.tasks / "Pipe.md")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(laptop.tasks / "Socket.md"))
    with open(os.fsencode(laptop.tasks) + b"/caf\xe9.md", "w") as file:
        file.write("Latin-1\n")
    (laptop.tasks / "Huge.md").write_bytes(b"x" * (10 << 20))
    (laptop.tasks / "Folder.md").mkdir()
    laptop.write("Loud.MD", "Quiet\n")
    for subject in ("Link.md", "Pipe.md", "Socket.md", "caf", "Huge.md", "Folder.md", "Loud.MD"):
        told(laptop, subject)
    laptop.ferry("sync")
    told(laptop, "LinkedList")
    assert {"symbolic-link", "special-file", "invalid-name", "too-large"} <= {p["code"] for p in laptop.status()["problems"]}
    goes_on(laptop, desk)
    assert not [name for name in desk.files() if b"secret" in desk.files()[name]]
    assert set(desk.list()) == {"Plain", "The rest goes on", "The rest goes on here too"}
    # After a restart the same problems are reported, and no absence was counted as a delete.
    laptop.stop()
    laptop.start()
    told(laptop, "Pipe.md")
    assert (laptop.tasks / "Huge.md").stat().st_size == 10 << 20
    # The problem ends when its file is removed.
    for subject in ("Link.md", "Pipe.md", "Huge.md", "Folder.md", "Loud.MD"):
        (laptop.tasks / subject).rename(root / subject)
        until(lambda: not problems(laptop, subject), lambda: f"{subject}: {laptop.status()}\n{laptop.daemon.tail()}")
    assert set(desk.list()) == {"Plain", "The rest goes on", "The rest goes on here too"}


def test_a_task_that_becomes_a_link_is_not_followed_and_not_deleted(root, machines):
    laptop, desk = machines
    laptop.write("Note.md", "mine\n")
    agree(laptop, desk)
    (root / "outside").write_text("secret\n")
    link = root / "link"
    link.symlink_to(root / "outside")
    link.replace(laptop.tasks / "Note.md")
    told(laptop, "Note.md")
    desk.ferry("set", "Note", "--notes", "theirs\n")
    goes_on(laptop, desk)
    assert (root / "outside").read_text() == "secret\n", "no write goes through the link"
    assert desk.read("Note.md") is not None and "secret" not in desk.read("Note.md")


def test_titles_from_the_remote_that_cannot_be_file_names(root, monkeypatch):
    firestore = pytest.importorskip("google.cloud.firestore")
    server = Server(root, "--emulator")
    server.start()
    laptop, desk = Machine(root, "laptop"), Machine(root, "desk")
    for index, machine in enumerate((laptop, desk)):
        machine.start()
        machine.login(server, create=index == 0)
    monkeypatch.setenv("FIRESTORE_EMULATOR_HOST", server.documents)
    client = firestore.Client(project="ferry")
    user = laptop.json("whoami")["account"]["userId"]
    titles = ["AC/DC", "../../escape", "..", ".", "/etc/passwd", "nul\0l", "two\nlines", "x" * 300, "\u00e9" * 200, "", " ",
              ".hidden", "-rf", "caf\u00e9", "cafe\u0301", "Twice", "twice", "Twice", "bell\a", "\u202eevil", "a.md", "x.files"]
    batch = client.batch()
    for number, title in enumerate(titles):
        batch.set(client.document(f"tasks/t{number:02}"), {"userId": user, "title": title, "notes": f"number {number}\n"})
    batch.set(client.document("lists/bad"), {"userId": user, "name": "../up"})
    batch.set(client.document("tasks/listed"), {"userId": user, "title": "In a bad list", "listId": "bad", "notes": "listed\n"})
    batch.commit()
    try:
        laptop.sync()
        desk.sync()
        bodies = [f"number {number}\n" for number in range(len(titles))] + ["listed\n"]

        def all_here(machine):
            text = b"\0".join(machine.files().values()).decode()
            return all(body in text for body in bodies) and len(machine.files()) == len(bodies)

        for machine in (laptop, desk):
            until(lambda: all_here(machine), lambda: f"{machine.files()}\n{machine.status()}\n{machine.daemon.tail()}")
        outside = [path for path in root.rglob("*") if path.suffix == ".md" and machine_of(path, laptop, desk) is None]
        assert not outside
        # An edit of such a file changes the notes and leaves the title unchanged.
        (path,) = [name for name, data in laptop.files().items() if b"number 1\n" in data]
        laptop.write(path, laptop.read(path) + "edited\n")
        laptop.sync()
        changed = client.document("tasks/t01").get()
        assert changed.get("title") == "../../escape" and changed.get("notes") == "number 1\nedited\n"
        for number, title in enumerate(titles):
            assert client.document(f"tasks/t{number:02}").get().get("title") == title
    finally:
        client.close()
        for program in (laptop, desk, server):
            program.stop()


def machine_of(path, *machines):
    return next((machine for machine in machines if machine.tasks in path.parents), None)


def test_a_port_in_use_a_bad_flag_and_a_locked_directory_end_the_server_with_the_reason(root, server):
    def run(*arguments):
        return subprocess.run([str(BIN / "ferry-server"), *map(str, arguments)], capture_output=True, text=True, timeout=30)

    for flag in ("--documents", "--http"):
        taken = server.documents if flag == "--documents" else server.url.split("//")[1]
        other = "--http" if flag == "--documents" else "--documents"
        result = run("run", "--data", root / "other", flag, taken, other, "127.0.0.1:0")
        assert result.returncode != 0 and taken.split(":")[1] in result.stderr, (flag, result)
        assert "choose another port" in result.stderr and result.returncode > 0, result
    locked = run("run", "--data", server.data, "--documents", "127.0.0.1:0", "--http", "127.0.0.1:0")
    assert locked.returncode != 0 and str(server.data) in locked.stderr
    flag = run("run", "--dtaa", root / "x")
    assert flag.returncode in (2, 78) and "--data" in flag.stderr
    configuration = root / "server.yaml"
    configuration.write_text(f"dta: {root}/x\n")
    key = run("run", "--config", configuration)
    assert key.returncode == 78 and "data" in key.stderr and str(configuration) in key.stderr


def test_a_password_that_is_wrong_on_a_second_machine_changes_nothing(root, server, machines):
    third = Machine(root, "third")
    third.start()
    third.write("Mine.md", "")
    result = third.ferry("login", server.url, "--email", "me@example.org", "--password-stdin", input="not it", check=False)
    assert result.returncode == 1 and "password" in result.stderr and PASSWORD not in result.stderr
    assert third.status()["state"] == "needs-sign-in"
    assert third.files() == {"Mine.md": b""}
    third.stop()
