"""File names chosen by the user stay unchanged on the machine where they were chosen."""
from harness import agree, until


def test_names_at_the_limits_are_kept_and_synced(machines):
    laptop, desk = machines
    names = ["foo.md", "foo .md", " foo.md", "foo..md", "f\u00a0.md", "Sub/t.md", "Sub /t.md", "Sub./t.md", "x" * 249 + "y.md",
             "x" * 249 + "z.md", "att.md"] + [f"att.files/{name}" for name in ("x", "x ", "x.", " x", "p" * 251 + ".pdf")]
    for name in names:
        laptop.write(name, f"text of {name}\n")
    agree(laptop, desk)
    assert sorted(laptop.files()) == sorted(desk.files()) == sorted(names)
    for name in names:
        assert laptop.read(name) == desk.read(name) == f"text of {name}\n"
    assert laptop.status()["problems"] == [] and desk.status()["problems"] == []
    desk.write("foo .md", "from the desk\n")
    agree(laptop, desk)
    assert laptop.read("foo .md") == "from the desk\n" and laptop.read("foo.md") == "text of foo.md\n"
    laptop.stop()
    laptop.start()
    agree(laptop, desk)
    assert sorted(laptop.files()) == sorted(names)


def test_a_name_with_hidden_characters_stays_unchanged_on_its_machine(machines):
    laptop, desk = machines
    odd = "a\u202eb.md"
    laptop.write(odd, "odd\n")
    agree_on_notes(desk, "a b.md", "odd\n")
    laptop.write("a b.md", "plain\n")
    until(lambda: desk.read("a b.md") == "plain\n", "the plain name to be the plain file's")
    agree_on_notes(desk, "a b (2).md", "odd\n")
    until(lambda: [(p["code"], p["subject"]) for p in desk.status()["problems"]] == [("name-mapped", "a b (2).md")],
          lambda: desk.status()["problems"])
    assert sorted(laptop.files()) == ["a b.md", odd] and laptop.status()["problems"] == []
    desk.stop()
    desk.start()
    until(lambda: [p["code"] for p in desk.status()["problems"]] == ["name-mapped"], lambda: desk.status()["problems"])


def agree_on_notes(machine, name, notes):
    until(lambda: (machine.read(name) or "").endswith("---\n" + notes), lambda: f"{name}: {machine.files()}")
