"""The control socket: plain HTTP and JSON, searches for tasks, and events."""
import os

from control import Control, Events, ask
from harness import agree, until


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


def test_several_tasks_are_added_by_one_call(laptop):
    laptop.start()
    tasks = [{"title": "One", "list": "Work"}, {"title": "Two", "due": "soonish"}, {"title": "Three", "importKey": "k"},
             {"title": "Again", "importKey": "k"}, {"title": "Four", "head": "---\na: [\n---\n"}, {"title": " "}]
    status, _, answer = ask(laptop, "POST", "/v1/tasks/batch", {"tasks": tasks})
    assert status == 200 and answer["schemaVersion"] == 1
    told = [result["task"]["path"] if "task" in result else result["error"]["code"] for result in answer["results"]]
    assert told == ["Work/One.md", "invalid-argument", "Three.md", "already-there", "invalid-argument", "invalid-argument"], answer
    assert answer["results"][3]["error"]["candidates"][0]["title"] == "Three"
    assert set(laptop.files()) == {"Work/One.md", "Three.md"}
    for tasks, code, name in [([{"title": "x"}] * 501, 413, "too-large"), ([{"title": "x", "priority": "urgent"}], 400, "invalid-argument"),
                              ("none", 400, "invalid-argument")]:
        status, _, answer = ask(laptop, "POST", "/v1/tasks/batch", {"tasks": tasks})
        assert (status, answer["error"]["code"]) == (code, name), answer
    status, _, answer = ask(laptop, "POST", "/v1/tasks/batch", {"tasks": [{"title": f"Many {number}"} for number in range(500)]})
    assert status == 200 and len({result["task"]["path"] for result in answer["results"]}) == 500
    assert set(laptop.files()) == {"Work/One.md", "Three.md", *(f"Many {number}.md" for number in range(500))}


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


def test_events_report_changes_and_resume_for_a_reader(machines):
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


def test_attachments_report_their_progress(root, machines):
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
