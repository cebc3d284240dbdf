"""Tests of signing in, signing out, signing in again, and signing in with another account."""
import socket
import threading
import time

from harness import PASSWORD, Machine, agree, until


def test_without_an_account_every_command_says_how_to_sign_in(laptop):
    laptop.start()
    for command in (["sync"], ["whoami"], ["share", "Inbox", "anna@example.org"]):
        result = laptop.ferry(*command, check=False)
        assert result.returncode == 7, (command, result)
        assert "ferry login" in result.stderr
    status = laptop.status()
    assert status["state"] == "needs-sign-in" and "ferry login" in status["hint"]


def test_signing_in_out_and_in_again(server, laptop):
    laptop.start()
    laptop.login(server, create=True)
    laptop.write("Buy milk.md", "Oat\n")
    laptop.sync()
    assert "me@example.org" in laptop.ferry("whoami")
    laptop.ferry("logout")
    assert laptop.ferry("list", check=False).returncode == 7
    assert not (laptop.state / "session.json").exists()
    # Files stay, and so do changes made in the meantime.
    laptop.write("Written while signed out.md", "")
    assert laptop.read("Buy milk.md") == "Oat\n"
    laptop.login(server)
    laptop.sync()
    assert set(laptop.list()) == {"Buy milk", "Written while signed out"}


def test_wrong_password_account_that_exists_and_weak_password(server, laptop):
    laptop.start()
    laptop.login(server, create=True)
    laptop.ferry("logout")

    def login(password, *options):
        return laptop.ferry("login", server.url, "--email", "me@example.org", "--password-stdin", *options, input=password,
                            check=False)

    wrong = login("wrong password")
    assert wrong.returncode == 1 and "password is wrong" in wrong.stderr
    exists = login(PASSWORD, "--create")
    assert exists.returncode == 2 and "--create" in exists.stderr
    weak = laptop.ferry("login", server.url, "--email", "you@example.org", "--password-stdin", "--create", "--merge", input="abc",
                        check=False)
    assert weak.returncode == 2 and "6 characters" in weak.stderr
    assert laptop.status()["state"] == "needs-sign-in"
    assert login(PASSWORD).returncode == 0


def test_a_wrong_url_an_unreachable_server_and_a_page_of_html(root, laptop):
    laptop.start()
    result = laptop.ferry("login", "example.org", check=False)
    assert result.returncode == 2 and "http" in result.stderr
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    started = time.monotonic()
    result = laptop.ferry("login", f"http://127.0.0.1:{port}", check=False)
    assert result.returncode == 5 and "cannot be reached" in result.stderr
    assert time.monotonic() - started < 5
    from http.server import BaseHTTPRequestHandler, HTTPServer

    class Page(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<html>Welcome to the hotel</html>")

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Page) as page:
        threading.Thread(target=page.serve_forever, daemon=True).start()
        result = laptop.ferry("login", f"http://127.0.0.1:{page.server_address[1]}", check=False)
        page.shutdown()
    assert result.returncode == 2 and "not a Ferry server" in result.stderr
    assert laptop.status()["state"] == "needs-sign-in"


def test_an_anonymous_account_becomes_a_permanent_one_with_all_its_data(root, server, laptop):
    laptop.start()
    laptop.ferry("login", server.url)
    laptop.write("Mine.md", "")
    laptop.sync()
    first = laptop.json("whoami")
    # Signing in again with the same account is no change of account.
    laptop.ferry("login", server.url)
    assert laptop.json("whoami") == first
    laptop.ferry("link", "--email", "me@example.org", "--password-stdin", input=PASSWORD)
    desk = Machine(root, "desk")
    desk.start()
    desk.login(server)
    desk.sync()
    assert set(desk.list()) == {"Mine"}
    desk.stop()


def test_another_account_gets_its_own_replica_and_nothing_is_deleted(server, laptop):
    laptop.start()
    laptop.login(server, create=True)
    laptop.write("First.md", "")
    laptop.sync()
    # The files belong to this user, who confirms that they should be merged into the other account.
    words = ["login", server.url, "--password-stdin", "--merge", "--email"]
    laptop.ferry(*words, "other@example.org", "--create", input=PASSWORD)
    laptop.sync()
    assert set(laptop.list()) == {"First"}
    assert laptop.read("First.md") is not None
    assert len(list(laptop.state.glob("replica-*.db"))) == 2
    laptop.ferry(*words, "me@example.org", input=PASSWORD)
    laptop.sync()
    assert set(laptop.list()) == {"First"} and not laptop.json("trash")["trash"]


def test_a_server_at_a_new_address_continues_syncing(server, machines):
    laptop, desk = machines
    for name in ("Edited", "Deleted here", "Deleted there", "Renamed"):
        # Of two files with one text, made a moment ago, one may be the other's copy when that is deleted.
        laptop.write(f"{name}.md", f"{name}\n")
    agree(laptop, desk)
    laptop.ferry("pause")
    laptop.write("Edited.md", laptop.read("Edited.md") + "laptop\n")
    (laptop.tasks / "Deleted here.md").unlink()
    (laptop.tasks / "Renamed.md").rename(laptop.tasks / "Named anew.md")
    laptop.write("New.md", "x\n")
    until(lambda: laptop.status()["pendingUp"] >= 4, laptop.status)
    desk.write("Edited.md", "desk\n" + desk.read("Edited.md"))
    (desk.tasks / "Deleted there.md").unlink()
    desk.sync()
    address = server.url.replace("127.0.0.1", "localhost")
    laptop.ferry("login", address, "--email", "me@example.org", "--password-stdin", input=PASSWORD)
    laptop.ferry("resume")
    agree(laptop, desk)
    assert laptop.status()["account"]["server"] == address
    assert {name: text.decode() for name, text in laptop.files().items()} == {
        "Edited.md": "desk\nEdited\nlaptop\n", "Named anew.md": "Renamed\n", "New.md": "x\n"}
    assert {task["title"] for task in laptop.json("trash")["trash"]} == {"Deleted here", "Deleted there"}


def test_a_damaged_session_is_reported_and_a_new_sign_in_repairs_it(server, laptop):
    laptop.start()
    laptop.login(server, create=True)
    laptop.stop()
    (laptop.state / "session.json").write_text("{")
    laptop.start()
    assert laptop.status()["state"] == "needs-sign-in"
    laptop.login(server)
    laptop.sync()
