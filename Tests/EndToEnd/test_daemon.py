"""The daemon by itself: configuration, locks, accounts, pause, restarts, damage, its socket and its events."""
import http.client
import json
import os
import signal
import socket
import subprocess
import threading
import time

import pytest

from harness import BIN, PASSWORD, Machine, Program, Server, agree, until


def run(*arguments, **environment):
    return subprocess.run([str(BIN / "ferryd"), *map(str, arguments)], capture_output=True, text=True, timeout=30,
                          env={**os.environ, **environment}, stdin=subprocess.DEVNULL)


class Control(http.client.HTTPConnection):
    """HTTP over the control socket, as `curl --unix-socket` has it."""

    def __init__(self, path):
        super().__init__("ferryd", timeout=20)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def ask(machine, method, path, body=None):
    connection = Control(machine.socket)
    connection.request(method, path, body=None if body is None else json.dumps(body))
    response = connection.getresponse()
    return response.status, response.headers, json.loads(response.read() or b"null")


class Events(threading.Thread):
    """Reads the event stream in the background."""

    def __init__(self, machine, last=None):
        super().__init__(daemon=True)
        self.seen = []
        self.connection = Control(machine.socket)
        self.connection.timeout = 60
        self.connection.request("GET", "/v1/events", headers={} if last is None else {"Last-Event-ID": str(last)})
        self.socket = self.connection.sock
        self.response = self.connection.getresponse()
        self.ended = False
        self.start()

    def run(self):
        event = {}
        try:
            for line in self.response:
                line = line.decode().rstrip("\n")
                if line:
                    key, _, value = line.partition(": ")
                    event[key] = value
                elif event:
                    self.seen.append((int(event.get("id", 0)), event.get("event"), json.loads(event.get("data", "null"))))
                    event = {}
        except (OSError, ValueError, http.client.HTTPException):
            pass
        self.ended = True

    def hang_up(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.join(10)

    def of(self, kind):
        return [data for _, other, data in list(self.seen) if other == kind]


@pytest.fixture
def laptop(root):
    machine = Machine(root, "laptop")
    yield machine
    if machine.daemon.running:
        machine.stop()


# Configuration


@pytest.mark.parametrize("text, told", [
    ("taks: /tmp/x\n", '"tasks"'), ("log-level: loud\n", "log-level"), ("tasks: [1, 2]\n", "tasks"), ("tasks: {", "line "),
    ("tasks: relative\n", "must begin with"),
])
def test_bad_configuration_ends_with_78_and_names_the_key(root, text, told):
    path = root / "ferryd.yaml"
    path.write_text(text)
    result = run("run", "--config", path, HOME=str(root))
    assert result.returncode == 78, result.stderr
    assert str(path) in result.stderr and told in result.stderr
    assert len(result.stderr.splitlines()) <= 2


def test_a_flag_that_is_not_there_ends_with_78_and_names_the_nearest(root):
    result = run("--sokcet", root / "s", HOME=str(root))
    assert result.returncode == 78 and "--socket" in result.stderr


def test_a_variable_that_cannot_be_is_named(root):
    result = run("run", HOME=str(root), FERRY_UPLOAD_LIMIT="fast")
    assert result.returncode == 78 and "FERRY_UPLOAD_LIMIT" in result.stderr


def test_in_the_journal_a_bad_configuration_is_one_line_with_its_level(root):
    # systemd sets JOURNAL_STREAM to what standard error is.
    code = ("import os, sys; status = os.fstat(2); os.environ['JOURNAL_STREAM'] = f'{status.st_dev}:{status.st_ino}';"
            "os.execv(sys.argv[1], sys.argv[1:])")
    result = subprocess.run(["python3", "-c", code, str(BIN / "ferryd"), "--config", str(root / "none")],
                            capture_output=True, text=True, timeout=30)
    assert result.returncode == 78
    assert result.stderr.startswith("<3>ferryd: ") and result.stderr.count("\n") == 1


def test_manual_pages_come_from_the_declarations():
    assert "log\\-level" in run("manual").stdout
    page = run("manual", "ferryd.yaml").stdout
    assert ".TH" in page and "FERRY_TASKS" in page
    assert run("--version").stdout.startswith("ferryd ")


# Locks


def test_a_second_daemon_on_the_same_state_is_refused(root, laptop):
    laptop.start()
    other = run("run", "--tasks", root / "elsewhere", "--state", laptop.state, "--socket", root / "o.sock", HOME=str(root))
    assert other.returncode == 1
    assert "Another ferryd" in other.stderr and str(laptop.state) in other.stderr
    assert laptop.ferry("status")


def test_a_second_daemon_on_the_same_tasks_directory_is_refused(root, laptop):
    laptop.start()
    other = run("run", "--tasks", laptop.tasks, "--state", root / "other", "--socket", root / "o.sock", HOME=str(root))
    assert other.returncode == 1
    assert "Another ferryd" in other.stderr and str(laptop.tasks) in other.stderr


def test_a_socket_that_somebody_answers_on_is_not_taken_over(root, laptop):
    laptop.start()
    other = run("run", "--tasks", root / "t", "--state", root / "s", "--socket", laptop.socket, HOME=str(root))
    assert other.returncode == 1 and str(laptop.socket) in other.stderr
    assert laptop.ferry("status")


def test_everything_private_is_private(root, server, laptop):
    laptop.start()
    laptop.login(server, create=True)
    assert laptop.state.stat().st_mode & 0o777 == 0o700
    assert laptop.socket.stat().st_mode & 0o777 == 0o600
    for file in laptop.state.iterdir():
        if file.suffix == ".json":
            assert file.stat().st_mode & 0o077 == 0, file
    assert PASSWORD not in laptop.daemon.tail(1000)
    token = json.loads((laptop.state / "session.json").read_text())["refreshToken"]
    assert token not in laptop.daemon.tail(1000)


def test_a_socket_left_behind_by_kill_9_is_replaced(laptop):
    laptop.start()
    laptop.daemon.kill()
    assert laptop.socket.exists()
    laptop.start()
    assert laptop.ferry("status")
    assert laptop.stop() == 0
    assert not laptop.socket.exists()


# Accounts


def test_without_an_account_everything_says_how_to_sign_in(laptop):
    laptop.start()
    for command in (["list"], ["add", "x"], ["sync"], ["whoami"], ["trash"], ["transfers"], ["deletes"], ["conflicts"], ["lists"]):
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
    # Files stay, and so does what is written meanwhile.
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
    weak = laptop.ferry("login", server.url, "--email", "you@example.org", "--password-stdin", "--create", input="abc", check=False)
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
    assert result.returncode == 2 and "no Ferry server" in result.stderr
    assert laptop.status()["state"] == "needs-sign-in"


def test_an_anonymous_account_becomes_a_lasting_one_with_everything_in_it(root, server, laptop):
    laptop.start()
    laptop.ferry("login", server.url)
    laptop.write("Mine.md", "")
    laptop.sync()
    first = laptop.json("whoami")
    # The same again is no new account.
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
    laptop.login(server, email="other@example.org", create=True)
    laptop.sync()
    # The files are this user's, so they are united with the other account.
    assert set(laptop.list()) == {"First"}
    assert laptop.read("First.md") is not None
    assert len(list(laptop.state.glob("replica-*.db"))) == 2
    laptop.login(server)
    laptop.sync()
    assert set(laptop.list()) == {"First"} and not laptop.json("trash")["trash"]


def test_a_damaged_session_is_told_and_signing_in_again_helps(server, laptop):
    laptop.start()
    laptop.login(server, create=True)
    laptop.stop()
    (laptop.state / "session.json").write_text("{")
    laptop.start()
    assert laptop.status()["state"] == "needs-sign-in"
    laptop.login(server)
    laptop.sync()


# Restarts


def test_a_restart_keeps_the_session_and_finds_what_happened_meanwhile(server, laptop):
    laptop.start()
    laptop.login(server, create=True)
    laptop.write("A.md", "one\n")
    laptop.sync()
    assert laptop.stop() == 0
    laptop.write("A.md", "two\n")
    laptop.write("B.md", "")
    laptop.start()
    laptop.sync()
    assert set(laptop.list()) == {"A", "B"}
    assert laptop.json("show", "A")["notes"] == "two\n"


def test_pause_stops_both_directions_and_outlives_a_restart(machines):
    laptop, desk = machines
    laptop.ferry("pause")
    assert laptop.status()["state"] == "paused"
    desk.write("From the desk.md", "")
    desk.sync()
    laptop.write("From the laptop.md", "")
    until(lambda: laptop.status()["pendingUp"] > 0, "the edit in the journal")
    laptop.stop()
    laptop.start()
    assert laptop.status()["state"] == "paused"
    assert laptop.ferry("sync", check=False).returncode != 0
    # Commands go on here, and what they do waits.
    laptop.ferry("add", "Added while paused")
    laptop.ferry("set", "Added while paused", "priority:high")
    assert "Added while paused" in laptop.list()
    time.sleep(0.5)
    assert laptop.read("From the desk.md") is None and desk.read("From the laptop.md") is None
    laptop.ferry("resume")
    until(lambda: laptop.read("From the desk.md") is not None, laptop.daemon.tail)
    until(lambda: desk.read("From the laptop.md") is not None, laptop.daemon.tail)
    until(lambda: desk.read("Added while paused.md") is not None, laptop.daemon.tail)
    until(lambda: laptop.read("Added while paused.md") is not None, laptop.daemon.tail)
    assert laptop.status()["state"] == "running"


def test_the_server_may_be_down_at_the_start(server, laptop):
    laptop.start()
    laptop.login(server, create=True)
    laptop.write("A.md", "")
    laptop.sync()
    laptop.stop()
    server.stop()
    started = time.monotonic()
    laptop.start()
    assert time.monotonic() - started < 5
    until(lambda: laptop.status()["state"] == "offline", lambda: f"offline: {laptop.status()}")
    assert set(laptop.list()) == {"A"}
    laptop.ferry("add", "Made offline")
    result = laptop.ferry("sync", "--wait", "--timeout", 1, check=False)
    assert result.returncode == 5, result
    assert laptop.read("Made offline.md") is not None
    server.start()
    laptop.sync()
    assert laptop.status()["pendingUp"] == 0 and laptop.status()["state"] == "running"


def test_sigterm_is_quick_and_loses_nothing(server, laptop):
    laptop.start()
    laptop.login(server, create=True)
    for number in range(200):
        laptop.write(f"Task {number}.md", f"{number}\n")
    time.sleep(0.1)
    started = time.monotonic()
    assert laptop.stop() == 0
    assert time.monotonic() - started < 5
    laptop.start()
    laptop.sync()
    assert len(laptop.list()) == 200


def test_a_watcher_does_not_hold_up_the_stop(laptop, server):
    laptop.start()
    laptop.login(server, create=True)
    events = Events(laptop)
    until(lambda: events.of("status"), "the first event")
    started = time.monotonic()
    assert laptop.stop() == 0
    assert time.monotonic() - started < 3
    until(lambda: events.ended, "the end of the stream")


def test_sighup_reads_the_configuration_again(root, laptop):
    configuration = root / "ferryd.yaml"
    configuration.write_text("log-level: error\n")
    laptop.daemon.arguments += ["--config", configuration]
    laptop.start()
    configuration.write_text("log-level: info\n")
    laptop.daemon.signal(signal.SIGHUP)
    until(lambda: "read again" in laptop.daemon.tail(), laptop.daemon.tail)
    configuration.write_text("log-lvel: info\n")
    laptop.daemon.signal(signal.SIGHUP)
    until(lambda: "did you mean" in laptop.daemon.tail(), laptop.daemon.tail)
    assert laptop.daemon.running and laptop.ferry("status")


# Damage


@pytest.mark.parametrize("damage", ["garbage", "truncated", "middle"])
def test_a_damaged_replica_is_set_aside_and_made_anew(server, laptop, damage):
    laptop.start()
    laptop.login(server, create=True)
    for number in range(50):
        laptop.write(f"Task {number}.md", f"{number}\n" * 50)
    laptop.sync()
    laptop.stop()
    (replica,) = laptop.state.glob("replica-*.db")
    for journal in laptop.state.glob("replica-*.db-*"):
        journal.unlink()
    content = replica.read_bytes()
    replica.write_bytes({
        "garbage": b"no database at all" * 100, "truncated": content[: len(content) // 2 // 4096 * 4096],
        "middle": content[:4096] + os.urandom(len(content) - 4096)}[damage])
    laptop.start()
    until(lambda: any(p["code"] == "state-damaged" for p in laptop.status()["problems"]),
          lambda: f"{laptop.status()}\n{laptop.daemon.tail()}")
    until(lambda: laptop.status()["state"] == "running", lambda: f"{laptop.status()}\n{laptop.daemon.tail()}", timeout=30)
    laptop.sync()
    assert len(laptop.list()) == 50 and len(laptop.files()) == 50
    assert not laptop.json("trash")["trash"] and not laptop.json("deletes")["deletes"]
    assert list(laptop.state.glob("replica-*.db.damaged-*"))


def test_a_missing_tasks_directory_holds_everything_until_it_is_back(server, laptop):
    laptop.start()
    laptop.login(server, create=True)
    laptop.write("A.md", "")
    laptop.sync()
    laptop.stop()
    aside = laptop.tasks.with_name("aside")
    laptop.tasks.rename(aside)
    laptop.start()
    until(lambda: laptop.status()["state"] == "root-held", lambda: laptop.status())
    assert not laptop.tasks.exists()
    assert laptop.status()["hint"]
    aside.rename(laptop.tasks)
    until(lambda: laptop.status()["state"] == "running", lambda: laptop.status())
    laptop.sync()
    assert set(laptop.list()) == {"A"}


# The socket


def test_the_socket_speaks_plain_http_and_json(server, laptop):
    laptop.start()
    laptop.login(server, create=True)
    status, headers, task = ask(laptop, "POST", "/v1/tasks", {"title": "By hand", "tags": ["a"], "priority": "high"})
    assert status == 200 and headers["Ferry-Version"]
    assert task["title"] == "By hand" and task["path"] == "By hand.md"
    assert laptop.read("By hand.md").startswith("---\n")
    status, _, answer = ask(laptop, "GET", "/v1/tasks?word=hand")
    assert status == 200 and answer["schemaVersion"] == 1 and len(answer["tasks"]) == 1
    for method, path, body, code, name in [
            ("GET", "/v1/tasks/nothing-like-it", None, 404, "not-found"), ("GET", "/v1/nowhere", None, 404, "not-found"),
            ("POST", "/v1/tasks", {"priority": "high"}, 400, "invalid-argument"),
            ("POST", "/v1/tasks", {"title": "x", "due": "soonish"}, 400, "invalid-argument"),
            ("POST", "/v1/tasks", {"title": " "}, 400, "invalid-argument"),
            ("PATCH", "/v1/tasks/hand", {"priority": "urgent"}, 400, "invalid-argument"),
            ("GET", "/v1/tasks?due=never", None, 400, "invalid-argument"),
            ("GET", "/v1/tasks?list=nowhere", None, 404, "not-found")]:
        status, _, answer = ask(laptop, method, path, body)
        assert (status, answer["error"]["code"]) == (code, name), (path, answer)
        assert answer["error"]["message"]
    connection = Control(laptop.socket)
    connection.request("POST", "/v1/tasks", body="{nonsense")
    assert connection.getresponse().status == 400


def test_tasks_are_found_by_id_path_and_words(server, laptop):
    laptop.start()
    laptop.login(server, create=True)
    for title in ("Buy oat milk", "Buy almond milk", "Call the plumber"):
        laptop.ferry("add", title)
    ids = {task["title"]: task["id"] for task in laptop.list().values()}
    for reference in (ids["Buy oat milk"], ids["Buy oat milk"][:8], "Buy oat milk.md", str(laptop.tasks / "Buy oat milk.md"),
                      "oat", "milk oat"):
        assert laptop.json("show", reference)["task"]["title"] == "Buy oat milk", reference
    result = laptop.ferry("show", "milk", check=False)
    assert result.returncode == 3 and "oat" in result.stderr and "almond" in result.stderr
    assert laptop.ferry("show", "cello", check=False).returncode == 3


def test_many_tasks_go_to_the_trash_only_when_confirmed(server, laptop):
    laptop.start()
    laptop.login(server, create=True)
    titles = [f"Task number {number:02}" for number in range(12)]
    for title in titles:
        laptop.write(f"{title}.md", "")
    laptop.sync()
    status, _, answer = ask(laptop, "POST", "/v1/trash", {"tasks": titles})
    assert status == 409 and answer["error"]["code"] == "conflict"
    status, _, answer = ask(laptop, "POST", "/v1/trash", {"tasks": titles, "confirmed": True})
    assert status == 200 and len(answer["tasks"]) == 12
    assert not laptop.files()
    status, _, answer = ask(laptop, "POST", "/v1/trash/restore", {"tasks": titles[:2]})
    assert status == 200 and {task["title"] for task in answer["tasks"]} == set(titles[:2])
    until(lambda: len(laptop.files()) == 2, laptop.files)


def test_events_tell_what_happens_and_go_on_where_a_reader_left_off(machines):
    laptop, desk = machines
    events = Events(laptop)
    until(lambda: events.of("status"), "the first event")
    desk.write("News.md", "---\npriority: high\n---\n")
    until(lambda: [e for e in events.of("task") if e["title"] == "News"], lambda: events.seen)
    last = events.seen[-1][0]
    events.hang_up()
    desk.write("More news.md", "")
    until(lambda: laptop.read("More news.md") is not None, laptop.daemon.tail)
    again = Events(laptop, last)
    until(lambda: again.of("status"), "the first event")
    assert again.seen[0][1] == "status"
    ids = [number for number, _, _ in again.seen]
    assert ids == sorted(ids) and ids[0] >= last
    laptop.ferry("rm", "More news", "--yes")
    until(lambda: [e for e in again.of("task") if e.get("deleted")], lambda: again.seen)


def test_attachments_tell_their_progress(root, machines):
    laptop, desk = machines
    laptop.ferry("add", "Report")
    big = root / "big.bin"
    big.write_bytes(os.urandom(8 << 20))
    events = Events(laptop)
    until(lambda: events.of("status"), "the first event")
    laptop.ferry("attach", "Report", big)
    until(lambda: [t for t in events.of("transfer") if t["state"] == "done"], lambda: events.seen[-5:])
    until(lambda: (desk.tasks / "Report.files/big.bin").exists(), desk.daemon.tail)
    assert (desk.tasks / "Report.files/big.bin").read_bytes() == big.read_bytes()
    shown = desk.json("show", "Report")["attachments"]
    assert [(a["name"], a["size"], a["state"]) for a in shown] == [("big.bin", 8 << 20, "here")]
    agree(laptop, desk)


# systemd


class Notifications:
    """The other end of sd_notify(3)."""

    def __init__(self, path):
        self.path = path
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(path))
        self.lines = []
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        while True:
            self.lines += self.socket.recv(65536).decode().splitlines()


def test_systemd_hears_ready_a_true_status_the_watchdog_and_the_end(root, server, laptop):
    told = Notifications(root / "notify")
    laptop.daemon.environment |= {"NOTIFY_SOCKET": str(told.path), "WATCHDOG_USEC": "500000"}
    laptop.start()
    until(lambda: "READY=1" in told.lines, lambda: told.lines)
    until(lambda: any(line.startswith("STATUS=needs-sign-in") for line in told.lines), lambda: told.lines)
    laptop.login(server, create=True)
    laptop.write("A.md", "")
    laptop.sync()
    until(lambda: "STATUS=running: 1 task, all synced" in told.lines, lambda: told.lines)
    beats = told.lines.count("WATCHDOG=1")
    until(lambda: told.lines.count("WATCHDOG=1") >= beats + 3, lambda: told.lines, timeout=5)
    server.stop()
    until(lambda: any(line.startswith("STATUS=offline") for line in told.lines), lambda: told.lines)
    laptop.daemon.signal(signal.SIGHUP)
    until(lambda: "RELOADING=1" in told.lines and told.lines.count("READY=1") == 2, lambda: told.lines)
    assert laptop.stop() == 0
    until(lambda: "STOPPING=1" in told.lines, lambda: told.lines)


def test_a_socket_that_systemd_passes_is_served(root, laptop):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(root / "activated.sock"))
    listener.listen()
    # exec keeps the process id, which LISTEN_PID must name.
    code = ("import os, sys; os.dup2(int(sys.argv[1]), 3); os.set_inheritable(3, True);"
            "os.environ |= {'LISTEN_PID': str(os.getpid()), 'LISTEN_FDS': '1', 'LISTEN_FDNAMES': 'control'};"
            "os.execv(sys.argv[2], sys.argv[2:])")
    log = root / "activated.log"
    with open(log, "wb") as out:
        process = subprocess.Popen(
            ["python3", "-c", code, str(listener.fileno()), str(BIN / "ferryd"), "--tasks", str(laptop.tasks), "--state",
             str(laptop.state), "--socket", str(laptop.socket)],
            pass_fds=[listener.fileno()], stdout=out, stderr=out, stdin=subprocess.DEVNULL)
    try:
        until(lambda: "ready " in log.read_text(), log.read_text)
        assert log.read_text().splitlines()[0] == f"ready {root / 'activated.sock'}"
        laptop.socket = root / "activated.sock"
        laptop.environment["FERRY_SOCKET"] = str(laptop.socket)
        assert laptop.status()["state"] == "needs-sign-in"
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
    # It is systemd's to remove.
    assert (root / "activated.sock").exists()
    listener.close()
