"""Checklists in the notes of tasks, on several machines."""
from harness import agree


def test_items_are_ticked_and_counted(machines):
    laptop, desk = machines
    laptop.write("Groceries.md", "Shop\n- [ ] milk\n- [ ] eggs\n```\n- [ ] code\n```\n* [X] tea\n")
    agree(laptop, desk)
    told = desk.ferry("tick", "groceries", "1")
    assert " 1 [x] milk" in told and " 2 [ ] eggs" in told and " 3 [x] tea" in told, told
    agree(laptop, desk)
    assert laptop.read("Groceries.md") == "Shop\n- [x] milk\n- [ ] eggs\n```\n- [ ] code\n```\n* [X] tea\n"
    assert "checklist  2/3" in laptop.ferry("show", "groceries") or "checklist\t2/3" in laptop.ferry("show", "groceries")
    assert laptop.ferry("list", "groceries").rstrip("\n").endswith("\t2/3")
    assert laptop.json("list")["tasks"][0]["checklist"] == {"done": 2, "items": 3}
    laptop.ferry("untick", "groceries", "1", "3")
    agree(laptop, desk)
    assert desk.read("Groceries.md") == "Shop\n- [ ] milk\n- [ ] eggs\n```\n- [ ] code\n```\n* [ ] tea\n"
    told = laptop.ferry("undo")
    assert "notes" in told, told
    agree(laptop, desk)
    assert desk.read("Groceries.md") == "Shop\n- [x] milk\n- [ ] eggs\n```\n- [ ] code\n```\n* [X] tea\n"
    result = desk.ferry("tick", "groceries", "4", check=False)
    assert result.returncode != 0 and "has the items 1 to 3" in result.stderr, result
    assert desk.ferry("tick", "groceries", "0", check=False).returncode == 2


def test_ticks_and_new_items_of_two_machines_are_all_kept(server, machines):
    laptop, desk = machines
    laptop.write("Groceries.md", "- [ ] milk\n- [ ] eggs\n")
    agree(laptop, desk)
    server.kill()
    laptop.write("Groceries.md", "- [x] milk\n- [ ] eggs\n- [ ] tea\n")
    desk.ferry("tick", "groceries", "2")
    desk.write("Groceries.md", desk.read("Groceries.md") + "- [ ] bread\n")
    server.start()
    agree(laptop, desk)
    assert laptop.read("Groceries.md") == desk.read("Groceries.md") == "- [x] milk\n- [x] eggs\n- [ ] bread\n- [ ] tea\n"
    assert laptop.status()["conflicts"] == desk.status()["conflicts"] == 0


def test_a_recurring_task_resets_its_checklist(machines):
    laptop, desk = machines
    text = "---\nrecurrence: FREQ=WEEKLY\ndue: 2099-11-28\nchecklist: reset\n---\n- [x] kitchen\n- [ ] bath\n"
    laptop.write("Clean.md", text)
    agree(laptop, desk)
    desk.ferry("done", "clean")
    agree(laptop, desk)
    assert "due: 2099-12-05" in laptop.read("Clean.md")
    assert laptop.read("Clean.md").endswith("- [ ] kitchen\n- [ ] bath\n")
