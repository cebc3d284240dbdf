"""Words of other software: files of a vault on machines with different tables of words."""
from harness import agree

def summary(machine, title):
    return machine.json("show", title)["task"]

def titles(machine, *words):
    return sorted(task["title"] for task in machine.json("list", *words)["tasks"])

def test_a_vault_is_read_and_written_in_its_own_words(machines):
    laptop, desk = machines
    files = {
        "Paint.md": "---\nstatus: \"in-progress\" # soon\npriority: urgent\nTags: ['#home', garden]\nDue: 2099-11-30\n---\nRed.\n",
        "Swept.md": "---\nstatus: Done\ncompletedDate: 2025-12-28\n---\n",
        "Odd.md": "---\nstatus: marinating\ntags: kitchen cellar\n---\n",
        "Dropped.md": "---\nstatus: cancelled\n---\n",
    }
    for name, text in files.items():
        laptop.write(name, text)
    agree(laptop, desk)
    for machine in machines:
        assert {name: machine.read(name) for name in files} == files
        assert titles(machine) == ["Odd", "Paint"]
        assert titles(machine, "+home") == ["Paint"] and titles(machine, "+cellar") == ["Odd"]
        assert titles(machine, "priority:high") == ["Paint"]
        paint = summary(machine, "Paint")
        assert (paint["priority"], paint["due"], paint["tags"]) == ("high", "2099-11-30", ["home", "garden"])
        assert not machine.json("show", "Paint").get("remarks")
    desk.ferry("done", "Paint")
    desk.ferry("done", "Odd")
    desk.ferry("undone", "Swept")
    desk.ferry("set", "Paint", "due:2099-12-01", "+new", "-home")
    agree(laptop, desk)
    expected = (
        "---\nstatus: \"done\" # soon\npriority: urgent\nTags:\n  - garden\n  - new\nDue: 2099-12-01\n---\nRed.\n")
    for machine in machines:
        assert machine.read("Paint.md") == expected
        assert machine.read("Odd.md") == "---\nstatus: marinating\ntags: kitchen cellar\ncompleted: true\n---\n"
        assert machine.read("Swept.md") == "---\nstatus: Open\n---\n"
        assert titles(machine) == ["Swept"]
    for _ in range(4):
        desk.ferry("undo")
    agree(laptop, desk)
    assert laptop.read("Swept.md") == files["Swept.md"]
    assert titles(laptop) == ["Odd", "Paint"] and "in-progress" in laptop.read("Paint.md")
    assert laptop.status()["conflicts"] == 0
