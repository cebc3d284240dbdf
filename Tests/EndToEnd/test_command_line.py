"""Arguments of set, add, done, rm, and paths are either understood or refused, and never lost."""
import json
import os
import subprocess

from harness import BIN


def shown(machine, task="T"):
    return machine.json("show", task)


def test_set_parses_known_fields_and_keeps_other_text(machines):
    laptop, _ = machines
    laptop.ferry("add", "T")
    identity = shown(laptop)["task"]["id"]
    laptop.ferry("set", "T", "title:a=b")
    assert shown(laptop, identity)["task"]["title"] == "a=b"
    laptop.ferry("set", identity, "title=T", "due=2026-01-01", "priority=high", "completed=true", "tags=a,b", "list=Work")
    task = shown(laptop, identity)["task"]
    assert (task["title"], task["due"], task["priority"], task["completed"], task["tags"], task["list"]) == (
        "T", "2026-01-01", "high", True, ["a", "b"], "Work")
    laptop.ferry("set", identity, "color=#ff0000", "x=a # c", "y=re: hello", "effort=3", "+tag=x", "@ctx=home")
    detail = shown(laptop, identity)
    assert detail["fields"] == {"color": "#ff0000", "x": "a # c", "y": "re: hello", "effort": "3", "@ctx": "home"}
    assert "tag=x" in detail["task"]["tags"]
    assert 'color: "#ff0000"\n' in laptop.read("Work/T.md") and "effort: 3\n" in laptop.read("Work/T.md")
    laptop.ferry("set", identity, "due=", "priority:none", "tags=", "x=")
    task = shown(laptop, identity)
    assert not {"due", "priority", "tags"} & task["task"].keys() and "x" not in task["fields"]
    for change, status in (("nonsense", 2), ("due=soon", 2), ("priority=9", 2), ("__a__=1", 2), ("title=", 2)):
        result = laptop.ferry("set", identity, change, check=False)
        assert result.returncode == status and result.stderr, (change, result)


def test_a_tag_beside_an_empty_entry_keeps_the_others(machines):
    laptop, _ = machines
    laptop.write("T.md", "---\ntags:\n  - work\n  -\n---\n")
    laptop.write("Map.md", "---\ntags: {a: 1}\nDue: someday\n---\n")
    laptop.sync()
    assert laptop.read("T.md") == "---\ntags:\n  - work\n  -\n---\n"
    laptop.ferry("set", "T", "+home")
    assert shown(laptop)["task"]["tags"] == ["work", "home"] and "work" in laptop.read("T.md")
    refused = laptop.ferry("set", "Map", "+home", check=False)
    assert refused.returncode == 2 and "not understood" in refused.stderr
    assert laptop.read("Map.md") == "---\ntags: {a: 1}\nDue: someday\n---\n"
    assert any("'Due' is a field of its own" in remark for remark in laptop.json("show", "Map")["remarks"])


def test_add_loses_no_word(machines):
    laptop, _ = machines
    laptop.ferry("add", "List:", "milk", "and", "eggs")
    laptop.ferry("add", "due:2027-03-02 10:00", "Call")
    tasks = laptop.list()
    assert set(tasks) == {"List: milk and eggs", "Call"} and tasks["Call"]["due"].startswith("2027-03-02")
    for words in (["title:A", "b"], ["due:friday", "due:monday", "x"], ["list:a", "--list", "b", "x"], ["due:never again", "x"]):
        assert laptop.ferry("add", *words, check=False).returncode == 2, words
    assert len(laptop.list()) == 2


def test_each_of_several_tasks_is_reported_and_partial_failure_is_status_8(machines):
    laptop, _ = machines
    for title in ("p1", "p2", "p3"):
        laptop.ferry("add", title)
    result = laptop.ferry("done", "p1", "nope", "p2", check=False)
    assert result.returncode == 8 and "p1" in result.stdout and "p2" in result.stdout and "'nope'" in result.stderr
    result = laptop.ferry("undone", "p1", "nope", "--json", check=False)
    told = json.loads(result.stdout)
    assert result.returncode == 8 and [t["title"] for t in told["tasks"]] == ["p1"]
    assert told["failed"][0]["name"] == "nope" and told["failed"][0]["error"]["code"] == "not-found"
    assert laptop.ferry("done", "nope", check=False).returncode == 3
    assert laptop.ferry("done", "nope", "never", check=False).returncode == 3
    result = laptop.ferry("rm", "p1", "nope", "p2", "--yes", check=False)
    assert result.returncode == 8 and set(laptop.list()) == {"p3"}
    laptop.ferry("undo")
    assert set(laptop.list()) == {"p1", "p2", "p3"}
    laptop.ferry("rm", "p1", "p2", "--yes")
    assert laptop.ferry("restore", "p1", "nope", check=False).returncode == 8 and "p1" in laptop.list()


def test_a_path_is_taken_from_the_working_directory_and_never_from_another(root, machines):
    laptop, _ = machines
    for name in ("plan.md", "Work/other.md", "Home/plan.md"):
        laptop.write(name, name)
    laptop.write("AC DC.md", "---\ntitle: AC/DC\n---\n")
    laptop.sync()

    def title(directory, word):
        result = subprocess.run([str(BIN / "ferry"), "show", word, "--json"], env={**os.environ, **laptop.environment}, cwd=directory,
                                capture_output=True, text=True, timeout=60)
        return json.loads(result.stdout)["task"]["path"] if result.returncode == 0 else result.returncode

    assert title(laptop.tasks / "Work", "plan.md") == 3
    assert title(laptop.tasks / "Work", "../plan.md") == "plan.md"
    assert title(laptop.tasks / "Home", "plan.md") == "Home/plan.md" and title(laptop.tasks / "Home", "./plan.md") == "Home/plan.md"
    assert title(laptop.tasks, "plan.md") == "plan.md" and title(laptop.tasks, "Home/plan.md") == "Home/plan.md"
    assert title(root, "Home/plan.md") == "Home/plan.md" and title(root, str(laptop.tasks / "Work/../plan.md")) == "plan.md"
    assert title(laptop.tasks / "Work", "AC/DC") == "AC DC.md"
    (root / "plan.md").write_text("a stranger")
    assert title(root, "plan.md") == 3
    link = root / "link"
    link.symlink_to(laptop.tasks)
    assert title(link / "Home", "plan.md") == "Home/plan.md" and title(root, "link/plan.md") == "plan.md"


def test_colors_are_used_on_request(machines):
    laptop, _ = machines
    laptop.ferry("add", "p1", "priority:high")
    assert "\x1b[" in laptop.ferry("list", "--color", "always") and "\x1b[" not in laptop.ferry("list")
