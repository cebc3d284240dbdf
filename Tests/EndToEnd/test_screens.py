"""What `ferry` looks like at 60, 80 and 120 columns, in tmux: each screen as it is kept in Screens/."""
import os
import re
import shutil
from pathlib import Path

import pytest

import picture
import screens
from harness import Machine, agree, until
from screens import END, Screen

pytestmark = pytest.mark.skipif(not screens.available(), reason="tmux is not installed")

PICTURE = Path(__file__).parents[2] / "Sources/Documentation/terminal.svg"
LONG = "Read the whole report about the harbor and write down what it says of tides, dredging, pilots, tugs, berths, " \
       "cranes, customs, storage, trains and barges, so that the council can decide about the new quay soon"
FAMILY = "\N{MAN}\u200d\N{WOMAN}\u200d\N{GIRL} trip to \N{REGIONAL INDICATOR SYMBOL LETTER D}" \
         "\N{REGIONAL INDICATOR SYMBOL LETTER E} \N{AIRPLANE}\ufe0f"


def show(name, machine, masks, columns, command, **environment):
    """Runs the command to its end on a terminal for each width and compares what is there."""
    for width in columns:
        screen = Screen(machine, width, command, **environment)
        lines = screen.until(END)
        screen.close()
        screens.check(f"{name}-{width}", lines, masks)


@pytest.fixture
def desk(laptop, server):
    """A machine with tasks of every script."""
    laptop.start()
    laptop.login(server, create=True)
    for words in (
            ["Buy oat milk", "due:2026-11-27", "priority:high", "+errands", "+home", "list:Groceries"],
            [LONG, "due:2026-12-24", "+harbor", "priority:medium"],
            ["\u4f1a\u8b70\u306e\u8cc7\u6599\u3092\u6e96\u5099\u3059\u308b", "due:2026-12-01", "+\u4ed5\u4e8b"],
            ["\u05dc\u05e7\u05e0\u05d5\u05ea \u05d7\u05dc\u05d1", "due:2026-12-02", "+\u05e9\u05d5\u05e7"],
            ["\u0634\u0631\u0627\u0621 \u0627\u0644\u062d\u0644\u064a\u0628", "due:2026-12-03"],
            [FAMILY, "due:2026-12-04", "+travel"],
            ["Cafe\u0301 re\u0301sume\u0301 \u0928\u092e\u0938\u094d\u0924\u0947", "due:2026-12-05"],
            ["Pay the rent"]):
        laptop.ferry("add", *words)
    laptop.ferry("add", "Plan the trip", "due:2026-12-07", "--stdin",
                 input="Trains leave at nine.\n\n- ask whether the tickets can be changed until the evening before the journey\n")
    files = laptop.home / "files"
    files.mkdir()
    for name, size in (("timetable.pdf", 3 << 20), ("a photograph of the old harbor with a long name.jpg", 70_000), ("note.txt", 12)):
        (files / name).write_bytes(os.urandom(size))
        os.utime(files / name, (0, 0))
    laptop.ferry("attach", "Plan the trip", *sorted(files.iterdir()))
    laptop.ferry("done", "rent")
    laptop.sync()
    return laptop


@pytest.fixture
def masks(root, desk):
    return screens.Masks(root, desk)


def test_tasks(desk, masks):
    desk.ferry("add", "title:\u202egpj.exe and \u200b nothing", "due:2026-12-06")
    desk.sync()
    masks.learn(desk)
    show("list", desk, masks, (60, 80, 120), "ferry list")
    show("list-all-of-a-list", desk, masks, (60,), "ferry list --all --list groceries")
    show("list-no-match", desk, masks, (80,), "ferry list nothing like this")
    show("list-dumb", desk, masks, (80,), "TERM=dumb ferry list")
    show("list-piped", desk, masks, (120,), "ferry list due:2026-12-04 | cat -A; ferry list milk | cat -A")
    show("list-piped-in-color", desk, masks, (80,), "ferry list milk --color always | cat -A")
    show("list-json", desk, masks, (80,), "ferry list milk --json")
    show("show", desk, masks, (60, 80), "ferry show 'Plan the trip'")
    show("show-long", desk, masks, (60,), "ferry show harbor")
    show("lists", desk, masks, (60,), "ferry lists")
    show("attachments", desk, masks, (60, 80), "ferry attachments 'Plan the trip'")
    show("attachments-none", desk, masks, (80,), "ferry attachments milk")
    show("explain", desk, masks, (80, 120), "ferry explain milk")


def test_every_task_is_on_one_line_with_its_due_date(desk):
    due = [f"2026-12-{day:02}" for day in (1, 2, 3, 4, 5, 7)] + ["2026-11-27", "2026-12-24"]
    for width in (40, 60, 80, 120):
        screen = Screen(desk, width, "ferry list")
        lines = screen.until(END)[:-1]
        screen.close()
        assert len(lines) == len(due), lines
        found = [line.find("2026-") for line in lines]
        assert sorted(line[start:start + 10] for line, start in zip(lines, found)) == sorted(due), lines


def test_states(server, desk, masks):
    show("status-running", desk, masks, (60, 80, 120), "ferry status")
    desk.ferry("pause")
    show("status-paused", desk, masks, (60, 80), "ferry status")
    show("sync-paused", desk, masks, (80,), "ferry sync --wait")
    show("add-paused", desk, masks, (60,), "ferry add Wait >/dev/null")
    desk.ferry("resume")
    desk.sync()
    (desk.tasks / "Broken.md").write_text("---\ntags: [unclosed\n---\n")
    until(lambda: "Broken.md" in str(desk.status()["problems"]), desk.status)
    show("status-problem", desk, masks, (60, 80), "ferry status")
    (desk.tasks / "Broken.md").unlink()
    until(lambda: "Broken.md" not in str(desk.status()["problems"]), desk.status)
    server.stop()
    until(lambda: desk.status()["state"] == "offline", desk.status)
    show("status-offline", desk, masks, (60, 80), "ferry status")
    show("status-offline-verbose", desk, masks, (80,), "ferry status --verbose 2>&1 | grep -c because")
    show("sync-offline", desk, masks, (80,), "ferry sync")
    desk.stop()
    show("status-no-daemon", desk, masks, (60, 80), "ferry status")


def test_a_new_machine(server, laptop, root):
    laptop.start()
    masks = screens.Masks(root)
    show("status-needs-sign-in", laptop, masks, (60, 80), "ferry status")
    laptop.login(server, create=True)
    show("list-empty", laptop, masks, (80,), "ferry list")
    show("trash-empty", laptop, masks, (80,), "ferry trash; ferry transfers; ferry deletes; ferry conflicts")


def test_the_picture_of_the_readme(server, laptop, root):
    """It shows what a terminal shows; FERRY_SCREENS=record draws it again."""
    laptop.start()
    laptop.login(server, create=True)
    for words in (["Buy oat milk", "due:2026-12-04", "priority:high", "+errands"],
                  ["Ship the release", "due:2026-12-09", "list:Work"], ["Read the report about the harbor", "due:2026-12-12"]):
        laptop.ferry("add", *words)
    report = laptop.home / "report.pdf"
    report.write_bytes(os.urandom(3 << 20))
    laptop.ferry("attach", "harbor", report)
    laptop.sync()
    masks = screens.Masks(root, laptop)
    commands = ("ferry list", "cat 'Tasks/Buy oat milk.md'", "ferry status")
    screen = Screen(laptop, 80, "; ".join(f"""printf '%s\\n' "laptop$ {command}"; {command}""" for command in commands))
    lines = screen.until(END)[:-1]
    screen.close()
    text = "\n".join(map(masks, lines)).replace("127.0.0.1:77777", "127.0.0.1:7441")
    text = re.sub(r"/tmp/ferry-x+/laptop", "/home/me", text)
    for identifier in ("3xrj", "k2Vd", "p8mW"):
        text = text.replace("iiii", identifier, 1)
    drawn = picture.svg(text.split("\n"), 72)
    if os.environ.get("FERRY_SCREENS") == "record":
        PICTURE.write_text(drawn)
    assert PICTURE.read_text() == drawn


def test_transfers(desk, masks):
    desk.ferry("pause")
    big = desk.home / "files" / "the recording of the council's meeting.wav"
    big.write_bytes(os.urandom(5 << 20))
    desk.ferry("attach", "milk", big, check=False)
    masks.learn(desk)
    show("transfers", desk, masks, (60, 80, 120), "ferry transfers")
    show("attach-paused", desk, masks, (60,), "ferry attach milk files/note.txt")
    screen = Screen(desk, 80, "ferry status --watch", rows=30)
    screens.check("status-watch-80", screen.until("note.txt"), masks)
    desk.ferry("add", "Seen at once", "due:2026-12-09")
    screens.check("status-watch-later-80", screen.until("9 open of 10"), masks)
    screen.close()
    desk.ferry("resume")
    desk.sync()
    for width in (60, 80):
        screen = Screen(desk, width, f"ferry attach milk files/*.pdf --name {width}.pdf")
        screens.check(f"attach-{width}", screen.until(END), masks)
        screen.close()


def test_safety(machines, root):
    laptop, desk = machines
    laptop.write("Work/Ship.md", "---\npriority: low\n---\nPlan\n")
    for number in range(25):
        laptop.write(f"Many/Task {number:02}.md", "")
    agree(laptop, desk)
    desk.ferry("pause")
    laptop.ferry("set", "Ship", "priority:high")
    laptop.sync()
    desk.ferry("set", "Ship", "priority:medium")
    desk.ferry("resume")
    agree(laptop, desk)
    until(lambda: laptop.status()["conflicts"] == 1, laptop.status)
    masks = screens.Masks(root, laptop, desk)
    show("conflicts", laptop, masks, (60, 80), "ferry conflicts")
    show("history", laptop, masks, (80,), "ferry history Ship")
    show("status-conflict", laptop, masks, (80,), "ferry status")
    for number in (1, 2):
        laptop.ferry("rm", f"Task 0{number}")
        laptop.sync()
    show("trash", laptop, masks, (60, 80), "ferry trash")
    laptop.sync()
    shutil.rmtree(laptop.tasks / "Many")
    until(lambda: laptop.status()["heldDeletes"] == 23, laptop.status)
    show("deletes", laptop, masks, (60,), "ferry deletes")
    show("status-held", laptop, masks, (80,), "ferry status")
    show("devices", laptop, masks, (60, 80), "ferry devices")
    laptop.tasks.rename(laptop.home / "Elsewhere")
    until(lambda: laptop.status()["state"] == "root-held", laptop.status)
    show("status-root-held", laptop, masks, (60, 80), "ferry status")


def test_help_and_errors(desk, masks):
    show("help", desk, masks, (60, 80, 120), "ferry --help", rows=120)
    for name in ("add", "attach", "sync", "conflicts", "login", "import", "status"):
        show(f"help-{name}", desk, masks, (80,), f"ferry {name} --help", rows=60)
    show("errors", desk, masks, (80,), "ferry lst; ferry show nothing; ferry set milk; ferry show t; ferry list --colour x")
    show("invitations-none", desk, masks, (80,), "ferry invitations; ferry block; ferry whoami")
