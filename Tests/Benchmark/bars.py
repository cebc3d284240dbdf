#!/usr/bin/env python3
"""Measures the speed that Ferry promises, with real programs on loopback; prints a table. Not part of the tests.

    FERRY_BIN=.build/release Tests/Benchmark/bars.py [edit] [list] [idle] [first] [exchange] [scale] [attach]
                                             [import] [recurring]

FERRY_BIN names the directory with the release programs. Needs a quiet machine and some GiB of disk.
"""
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "EndToEnd"))
from harness import BIN, Machine, Server, until  # noqa: E402

WORDS = "milk oat call plumber report review garden invoice train ticket paint fence book doctor email server deploy".split()


def task(number):
    words = random.Random(number)
    notes = "\n".join(" ".join(words.choices(WORDS, k=8)) for _ in range(5))
    return (f"---\npriority: {words.choice(['high', 'medium', 'low'])}\ndue: 2026-{number % 12 + 1:02}-{number % 28 + 1:02}\n"
            f"tags: [{words.choice(WORDS)}, {words.choice(WORDS)}]\nproject: p{number % 7}\n---\n{notes}\n")


def fill(machine, count):
    for number in range(count):
        (machine.tasks / f"Task {number:06}.md").write_text(task(number))


def rss(program):
    for line in Path(f"/proc/{program.process.pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0


def peak(program):
    for line in Path(f"/proc/{program.process.pid}/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    return 0


def cpu(program):
    fields = Path(f"/proc/{program.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def say(what, value, bar):
    print(f"| {what} | {value} | {bar} |", flush=True)


def task_files(machine):
    return {path: text for path, text in machine.files().items() if path.endswith(".md")}


def task_ids(machine):
    return {task["id"] for task in machine.list().values()}


class Pair:
    """A server and two machines; the second is empty at first."""

    def __init__(self):
        self.root = Path(tempfile.mkdtemp(prefix="ferry-bars-"))
        self.server = Server(self.root)
        self.server.start()
        self.a, self.b = Machine(self.root, "a"), Machine(self.root, "b")

    def first_sync(self, count, fills=True):
        """Returns the seconds from the first daemon's start until the last file is on the empty second machine."""
        if fills:
            fill(self.a, count)
        start = time.monotonic()
        for index, machine in enumerate((self.a, self.b)):
            machine.start()
            machine.login(self.server, create=index == 0)

        def there():
            return sum(1 for entry in os.scandir(self.b.tasks) if entry.name.endswith(".md")) == count

        until(there, lambda: f"{count} files; {self.a.daemon.tail(5)}\n{self.b.daemon.tail(5)}", timeout=900, step=max(0.05, count / 200_000))
        took = time.monotonic() - start
        until(lambda: task_files(self.a) == task_files(self.b), "the same bytes", timeout=60, step=0.5)
        return took

    def close(self):
        for program in (self.a.daemon, self.b.daemon, self.server):
            program.stop()
        shutil.rmtree(self.root)


def measure_edits(pair, tasks, count, bar):
    for machine in (pair.a, pair.b):
        machine.sync()
    times = []
    draw = random.Random(1)
    for number in range(count):
        name = f"Task {draw.randrange(tasks):06}.md"
        text = task(number).replace("project: p", f"project: edit {number} p")
        temporary = pair.a.tasks / ".edit.tmp"
        temporary.write_text(text)
        time.sleep(draw.uniform(0.1, 0.3))
        start = time.monotonic()
        temporary.rename(pair.a.tasks / name)
        path = pair.b.tasks / name
        until(lambda: path.read_text() == text, "the edit on the other machine", step=0.001)
        times.append((time.monotonic() - start) * 1000)
    say(f"file saved on one machine → new bytes readable on the other, {tasks:,} tasks, {count} edits",
        f"median {statistics.median(times):.1f} ms, worst {max(times):.1f} ms", bar)


def measure_commands(pair, tasks, bar):
    for command in (["list"], ["status"]):
        times = []
        for _ in range(20):
            start = time.monotonic()
            subprocess.run([str(BIN / "ferry"), *command], stdout=subprocess.DEVNULL, check=True,
                           env={**os.environ, **pair.a.environment})
            times.append((time.monotonic() - start) * 1000)
        say(f"`ferry {command[0]}`, {tasks:,} tasks, exec to exit",
            f"median {statistics.median(times):.1f} ms, worst {max(times):.1f} ms", bar)


def wakeups(program):
    """The number of times that threads of a process had to wait, and went on."""
    texts = (path.read_text() for path in Path(f"/proc/{program.process.pid}/task").glob("*/status"))
    return sum(int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", text, re.M)[1]) for text in texts)


def measure_idle(pair, seconds=60):
    time.sleep(15)
    before = [cpu(machine.daemon) for machine in (pair.a, pair.b)]
    asleep = [wakeups(machine.daemon) for machine in (pair.a, pair.b)]
    time.sleep(seconds)
    woken = [(wakeups(machine.daemon) - start) / seconds for machine, start in zip((pair.a, pair.b), asleep)]
    used = [(cpu(machine.daemon) - start) / seconds * 100 for machine, start in zip((pair.a, pair.b), before)]
    say(f"idle, 10,000 tasks in sync, {seconds} s: CPU of ferryd", " / ".join(f"{share:.3f} %" for share in used), "≤ 0.1 %")
    say("idle: wake-ups of all threads of ferryd", " / ".join(f"{rate:.1f}/s" for rate in woken), "≤ 2/s, of which libdispatch's monitor is 1/s")
    say("resident memory of ferryd", " / ".join(f"{rss(machine.daemon):.1f} MiB" for machine in (pair.a, pair.b)), "≤ 35 MiB")
    say("resident memory of ferry-server", f"{rss(pair.server):.1f} MiB", "")


def rename_in_a_cycle(directory, count):
    """Gives each file the name of the next one, and the last file that of the first."""
    names = [directory / f"Task {number:06}.md" for number in range(count)]
    away = directory / ".away.tmp"
    names[-1].rename(away)
    for number in range(count - 1, 0, -1):
        names[number - 1].rename(names[number])
    away.rename(names[0])


def move_to_list(directory, count):
    (directory / "Later").mkdir()
    for number in range(count):
        name = f"Task {number:06}.md"
        (directory / name).rename(directory / "Later" / name)


def make_branches(directory, count):
    """Commits the files to one branch of a repository, and to another one with other texts, every tenth with another name."""
    git = ["git", "-C", str(directory), "-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=first"]
    subprocess.run([*git, "init", "-q"], check=True)
    for branch in ("first", "second"):
        if branch == "second":
            subprocess.run([*git, "switch", "-qc", branch], check=True)
            for number in range(count):
                path = directory / f"Task {number:06}.md"
                if number % 10:
                    path.write_text(task(number + 1_000_000))
                else:
                    path.rename(directory / f"Other {number:06}.md")
        subprocess.run([*git, "add", "-A"], check=True)
        subprocess.run([*git, "commit", "-qm", branch], check=True)
    subprocess.run([*git, "switch", "-q", "first"], check=True)


def switch_branch(directory, _):
    subprocess.run(["git", "-C", str(directory), "switch", "-q", "second"], check=True)


def measure_exchange(what, count, act, prepare=None):
    """Measures a change of many files at once, as a multiple of the first sync of as many."""
    pair = Pair()
    fill(pair.a, count)
    if prepare:
        prepare(pair.a.tasks, count)
    first = pair.first_sync(count, fills=False)
    for machine in (pair.a, pair.b):
        machine.sync(timeout=300)
    before = task_ids(pair.a)
    start = time.monotonic()
    act(pair.a.tasks, count)
    acted = time.monotonic() - start
    wanted = task_files(pair.a)
    until(lambda: task_files(pair.b) == wanted, lambda: f"{what}: {pair.a.status()} {pair.b.status()}", timeout=600, step=0.05)
    took = time.monotonic() - start
    for machine in (pair.a, pair.b):
        machine.sync(timeout=300)
    wrong = []
    for machine in (pair.a, pair.b):
        status = machine.status()
        if task_files(machine) != wanted:
            wrong.append("files changed afterwards")
        if task_ids(machine) != before:
            wrong.append("tasks are not the same")
        if status.get("problems") or status.get("conflicts"):
            wrong.append(f"{status.get('problems')} {status.get('conflicts')}")
    say(f"{what}: {acted:.1f} s to do it; until the other machine has it", f"{took:.2f} s = {took / first:.1f} × {first:.2f} s; "
        + ("; ".join(wrong) or "no double, no conflict"), "≤ 3 × the first sync of as many")
    pair.close()


def measure_scale(count=100_000):
    pair = Pair()
    programs = (pair.a.daemon, pair.b.daemon, pair.server)

    def memory(what, bar):
        say(f"{what}: sending ferryd, receiving ferryd, ferry-server",
            ", ".join(f"{peak(program):.0f}, now {rss(program):.0f} MiB" for program in programs), bar)

    say(f"first sync of {count:,} task files", f"{pair.first_sync(count):.1f} s", "≤ 12 × that of 10,000")
    for machine in (pair.a, pair.b):
        machine.sync(timeout=300)
    memory("peak memory of the first sync", "≤ 200 MiB")
    for _ in range(3):
        for machine in (pair.a, pair.b):
            machine.stop()
        for machine in (pair.a, pair.b):
            start = time.monotonic()
            machine.start()
            ready = time.monotonic() - start
            machine.sync(timeout=300)
            took = time.monotonic() - start
            say(f"cold start with {count:,} unchanged files: ready, in sync, processor time",
                f"{ready:.2f} s, {took:.2f} s, {cpu(machine.daemon):.2f} s", "≤ 3 s")
    memory("peak memory of the restarted programs", "≤ 200 MiB")
    measure_edits(pair, count, 50, "≤ 60 ms")
    measure_commands(pair, count, "")
    memory("peak memory after edits and lists", "≤ 200 MiB")
    pair.close()


def disk_rate(directory, mebibytes):
    """Returns the MiB/s of writing and syncing one file: an upper bound for programs that store their bytes durably."""
    path = directory / "disk"
    start = time.monotonic()
    subprocess.run(["dd", "if=/dev/zero", f"of={path}", "bs=1M", f"count={mebibytes}", "conv=fsync", "status=none"], check=True)
    took = time.monotonic() - start
    path.unlink()
    return mebibytes / took


def measure_attachment(mebibytes=1024):
    pair = Pair()
    disk = disk_rate(pair.root, 3 * mebibytes)
    source = pair.root / "big.bin"
    subprocess.run(["dd", "if=/dev/urandom", f"of={source}", "bs=1M", f"count={mebibytes}", "status=none"], check=True)
    pair.a.write("Film.md", "to watch\n")
    pair.a.write("Second.md", "the same file again\n")
    for index, machine in enumerate((pair.a, pair.b)):
        machine.start()
        machine.login(pair.server, create=index == 0)
    pair.a.sync()
    programs = (pair.a.daemon, pair.b.daemon, pair.server)
    before = [cpu(program) for program in programs]
    target = pair.b.tasks / "Film.files" / "big.bin"
    start = time.monotonic()
    pair.a.ferry("attach", "Film", source, "--no-wait")
    until(target.exists, lambda: f"the attachment; {pair.a.status()} {pair.b.status()}", timeout=600, step=0.01)
    took = time.monotonic() - start
    used = [cpu(program) - start for program, start in zip(programs, before)]
    subprocess.run(["cmp", str(source), str(target)], check=True)
    say(f"attach {mebibytes} MiB of random bytes, until whole and verified on the other machine",
        f"{mebibytes / took:.0f} MiB/s ({took:.1f} s)", "≥ 150 MiB/s")
    say("the three copies written and synced by dd alone, on the same disk",
        f"{disk / 3:.0f} MiB/s ({disk:.0f} MiB/s for one)", "")
    say("processor time: attaching ferryd, fetching ferryd, ferry-server", ", ".join(f"{seconds:.1f} s" for seconds in used), "")
    say("peak memory: attaching ferryd, fetching ferryd, ferry-server",
        ", ".join(f"{peak(program):.0f} MiB" for program in programs), "≤ 128 MiB")
    pair.a.ferry("attach", "Second", source, timeout=300)
    again = [t for t in pair.a.json("transfers")["transfers"] if t["direction"] == "upload"]
    sent = min(transfer["bytesOnWire"] for transfer in again)
    say("the same file on another task: bytes sent", f"{sent}", "no chunk")
    pair.close()


def import_files(root, count):
    """Files with records of tasks, one in each format, and the words that import them."""
    tasks = [(f"Call plumber {number} again", f"2027-{number % 12 + 1:02}-{number % 28 + 1:02}", f"Notes of {number}")
             for number in range(count)]
    todo = [f"(A) {title} +work @phone due:{due}" for title, due, _ in tasks]
    rows = [f'"{title}",{due},high,work,"{notes}"' for title, due, notes in tasks]
    calendar = [f"BEGIN:VTODO\r\nUID:{number}@example.org\r\nSUMMARY:{title}\r\nDUE;VALUE=DATE:{due.replace('-', '')}\r\n"
                f"CATEGORIES:work\r\nPRIORITY:1\r\nDESCRIPTION:{notes}\r\nEND:VTODO\r\n"
                for number, (title, due, notes) in enumerate(tasks)]
    objects = [{"uuid": f"00000000-0000-4000-8000-{number:012}", "description": title, "due": due.replace("-", "") + "T120000Z",
                "status": "pending", "tags": ["work"], "priority": "H", "entry": "20261101T120000Z"}
               for number, (title, due, _) in enumerate(tasks)]
    records = [{"id": f"record{number:08}", "title": title, "due": due, "priority": "high", "tags": ["work"], "notes": notes + "\n"}
               for number, (title, due, notes) in enumerate(tasks)]
    notes = [f"- [ ] {title} ⏫ #work 📅 {due}" for title, due, _ in tasks]
    texts = {
        "todo.txt": "\n".join(todo) + "\n", "tasks.csv": "\n".join(["title,due,priority,tags,notes", *rows]) + "\n",
        "tasks.ics": "BEGIN:VCALENDAR\r\nVERSION:2.0\r\n" + "".join(calendar) + "END:VCALENDAR\r\n",
        "tasks.json": json.dumps(objects), "tasks.ndjson": "".join(json.dumps(record) + "\n" for record in records),
        "note.md": "\n".join(notes) + "\n"}
    for name, text in texts.items():
        (root / name).write_text(text, newline="")
    return [(name, [root / name, *(["--format", "obsidian"] if name == "note.md" else [])]) for name in texts]


def measure_import(count=5000):
    root = Path(tempfile.mkdtemp(prefix="ferry-bars-"))
    server = Server(root)
    server.start()
    for number, (name, words) in enumerate(import_files(root, count)):
        machine = Machine(root, f"machine{number}")
        machine.start()
        machine.login(server, email=f"me{number}@example.org", create=True)
        before, start = cpu(machine.daemon), time.monotonic()
        result = machine.json("import", *words, timeout=300)
        took = time.monotonic() - start
        used = cpu(machine.daemon) - before
        assert len(result["imported"]) == count, result
        until(lambda: sum(1 for entry in os.scandir(machine.tasks) if entry.name.endswith(".md")) == count, "the files", timeout=300)
        there = time.monotonic() - start
        say(f"import of {count:,} records, {name}; until all files are there; processor time of ferryd",
            f"{count / took:,.0f}/s, {count / there:,.0f}/s, {used:.2f} s", "≥ 5,000/s")
        machine.stop()
    server.stop()
    shutil.rmtree(root)


def measure_recurring(count=10_000, edits=100):
    """Two machines with recurring tasks, beside two with tasks that are due once."""
    for what, lines in (("due once", ""), ("recurring", "recurrence: DTSTART:20270104;FREQ=WEEKLY;BYDAY=MO,TH\n")):
        pair = Pair()
        for number in range(count):
            (pair.a.tasks / f"Task {number:06}.md").write_text(f"---\ndue: 2027-01-04\n{lines}---\nnotes of {number}\n")
        for index, machine in enumerate((pair.a, pair.b)):
            machine.start()
            machine.login(pair.server, create=index == 0)
        until(lambda: sum(1 for entry in os.scandir(pair.b.tasks) if entry.name.endswith(".md")) == count, "all files", timeout=900)
        for machine in (pair.a, pair.b):
            machine.sync(timeout=300)
        times, draw = [], random.Random(1)
        for number in range(edits):
            name = f"Task {draw.randrange(count):06}.md"
            text = (pair.a.tasks / name).read_text() + f"edit {number}\n"
            temporary = pair.a.tasks / ".edit.tmp"
            temporary.write_text(text)
            time.sleep(draw.uniform(0.1, 0.3))
            start = time.monotonic()
            temporary.rename(pair.a.tasks / name)
            until(lambda: (pair.b.tasks / name).read_text() == text, "the edit on the other machine", step=0.001)
            times.append((time.monotonic() - start) * 1000)
        say(f"{count:,} tasks {what}: file saved → on the other machine, {edits} edits",
            f"median {statistics.median(times):.1f} ms, worst {max(times):.1f} ms", "the same")
        times = []
        for number in range(20):
            name = f"Task {draw.randrange(count):06}"
            start = time.monotonic()
            pair.a.ferry("done", name)
            until(lambda: (pair.b.tasks / f"{name}.md").read_text() == (pair.a.tasks / f"{name}.md").read_text() != "",
                  "the completion on the other machine", step=0.001)
            times.append((time.monotonic() - start) * 1000)
        say(f"{count:,} tasks {what}: `ferry done` → on the other machine", f"median {statistics.median(times):.1f} ms", "the same")
        time.sleep(15)
        before = [(wakeups(machine.daemon), cpu(machine.daemon)) for machine in (pair.a, pair.b)]
        time.sleep(30)
        after = [(wakeups(machine.daemon), cpu(machine.daemon)) for machine in (pair.a, pair.b)]
        rates = [f"{(new[0] - old[0]) / 30:.2f}/s, {(new[1] - old[1]) / 30 * 100:.3f} %" for old, new in zip(before, after)]
        say(f"{count:,} tasks {what}, idle: wake-ups and processor of ferryd", " / ".join(rates), "≤ 1/s besides libdispatch's")
        pair.close()


def main():
    wanted = sys.argv[1:] or ["first", "edit", "list", "idle", "attach"]
    print("| what | measured | bar |\n|---|---|---|")
    if {"first", "edit", "list", "idle"} & set(wanted):
        pair = Pair()
        took = pair.first_sync(10_000)
        say("first sync of 10,000 task files to an empty second machine", f"{took:.2f} s", "≤ 6 s")
        if "edit" in wanted:
            measure_edits(pair, 10_000, 100, "≤ 30 ms, ≤ 250 ms")
        if "list" in wanted:
            measure_commands(pair, 10_000, "≤ 50 ms")
        if "idle" in wanted:
            measure_idle(pair)
        pair.close()
    if "exchange" in wanted:
        measure_exchange("1,000 files renamed in a cycle", 1000, rename_in_a_cycle)
        measure_exchange("5,000 files moved to another list", 5000, move_to_list)
        measure_exchange("`git switch` to other texts of 2,000 files, every tenth with another name", 2000, switch_branch, make_branches)
    if "scale" in wanted:
        measure_scale()
    if "attach" in wanted:
        measure_attachment()
    if "import" in wanted:
        measure_import()
    if "recurring" in wanted:
        measure_recurring()


if __name__ == "__main__":
    main()
