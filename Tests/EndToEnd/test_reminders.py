"""Reminders on the desktop: the real daemon on a real session bus, with a mocked notification server."""
import time
from datetime import datetime, timezone
from pathlib import Path

import pytest

from desktop import Desktop
from harness import Clock, Machine, agree, built_library, until


def soon(seconds):
    """A local time of day in so many seconds, as a due date."""
    return datetime.fromtimestamp(int(time.time()) + seconds).strftime("%Y-%m-%dT%H:%M:%S")


@pytest.fixture
def desk(laptop):
    """A machine with a desktop, not signed in."""
    desktop = Desktop(laptop)
    laptop.desktop = desktop
    yield laptop
    if laptop.daemon.running:
        laptop.stop()
    desktop.stop()


@pytest.fixture
def desks(root, server):
    """Two machines of one user, each with a desktop of its own."""
    pair = [Machine(root, "laptop"), Machine(root, "desk")]
    for index, machine in enumerate(pair):
        machine.desktop = Desktop(machine).start_bus().start_server()
        machine.start()
        machine.login(server, create=index == 0)
    yield pair
    for machine in pair:
        if machine.daemon.running:
            machine.stop()
        machine.desktop.stop()


def ready(machine):
    until(lambda: machine.json("reminders")["desktop"], "the desktop to be known")


def notes(machine, key):
    """Whether the daemon's notes about reminders have a key."""
    file = machine.state / "reminders.json"
    return file.exists() and f'"{key}"' in file.read_text()


def known(machine):
    """Waits until the daemon knows the number of a notice, which comes after the notice."""
    until(lambda: notes(machine, "number"), "the answer of the notification server")


def test_a_reminder_is_shown_within_a_second_and_once_over_restarts(desk):
    desk.desktop.start_bus().start_server()
    desk.start()
    ready(desk)
    due = int(time.time()) + 3
    desk.ferry("add", "Call Anna", f"due:{datetime.fromtimestamp(due).isoformat()}")
    desk.desktop.shows(1)
    shown, text = desk.desktop.lines("Notify")[0]
    assert 0 <= shown - due <= 1, shown - due
    assert '"Call Anna"' in text and "ferry" in text and '"done"' in text, text
    assert [r["state"] for r in desk.json("reminders")["reminders"]] == ["shown"]
    desk.stop()
    desk.start()
    ready(desk)
    desk.desktop.stays(1)
    desk.daemon.kill()
    desk.start()
    ready(desk)
    desk.desktop.stays(1)
    # The notice is still known: completing the task takes it from the desktop.
    desk.ferry("done", "Anna")
    until(desk.desktop.closed, "the notice to be closed")


def test_without_a_bus_reminders_wait_and_become_one_summary(desk):
    desk.start()
    desk.ferry("add", "One", f"due:{soon(1)}")
    desk.ferry("add", "Two", f"due:{soon(1)}", "remind:0")
    for number in range(4):
        desk.ferry("add", f"More {number}", f"due:{soon(1)}")
    until(lambda: [r["state"] for r in desk.json("reminders")["reminders"]] == ["waiting"] * 6, "all to be due")
    assert "wait for one" in desk.ferry("reminders", check=False).stderr
    desk.desktop.start_bus()
    until(lambda: desk.desktop.clients() == 1, "the daemon to be on the bus")
    desk.desktop.start_server()
    desk.desktop.shows(1)
    assert '"6 reminders"' in desk.desktop.notices()[0]
    desk.desktop.stays(1)


def test_a_server_that_ends_and_comes_back_shows_nothing_again(desk):
    desk.desktop.start_bus().start_server()
    desk.start()
    ready(desk)
    desk.ferry("add", "One", f"due:{soon(1)}")
    desk.desktop.shows(1)
    known(desk)
    desk.desktop.end(desk.desktop.server)
    until(lambda: not desk.json("reminders")["desktop"], "the server to be gone")
    desk.ferry("add", "Two", f"due:{soon(0)}", "remind:0")
    desk.desktop.start_server()
    desk.desktop.shows(2)
    assert '"Two"' in desk.desktop.notices()[1]
    desk.desktop.stays(2)
    # The bus itself ends, as at a logout.
    desk.desktop.stop()
    until(lambda: not desk.json("reminders")["desktop"], "the bus to be gone")
    desk.ferry("add", "Three", f"due:{soon(0)}", "remind:0")
    desk.desktop.start_bus().start_server()
    desk.desktop.shows(3, timeout=20)
    assert '"Three"' in desk.desktop.notices()[2]


def test_a_suspend_makes_one_summary_and_a_clock_set_back_nothing(root, desk):
    clock = Clock(built_library(root, "wrong-clock"), root / "clock")
    desk.daemon.environment = {**desk.environment, **clock.environment}
    desk.desktop.start_bus().start_server()
    desk.start()
    ready(desk)
    for number in range(3):
        desk.ferry("add", f"Task {number}", f"due:{soon(1800 + number)}")
    desk.ferry("add", "Later", f"due:{soon(7200)}")
    desk.desktop.stays(0)
    clock.set(3600)
    desk.desktop.shows(1)
    assert '"3 reminders"' in desk.desktop.notices()[0]
    clock.set(0)
    desk.desktop.stays(1)
    clock.set(3600)
    desk.desktop.stays(1)
    clock.set(7300)
    assert '"Later"' in desk.desktop.shows(2)[1]


def test_done_on_the_notice_completes_the_task_on_all_machines(desks):
    laptop, desk = desks
    laptop.ferry("add", "Call Anna", f"due:{soon(4)}")
    agree(laptop, desk)
    for machine in desks:
        machine.desktop.shows(1, timeout=20)
    laptop.desktop.press(1, "done")
    until(lambda: laptop.list()["Call Anna"].get("completed"), "the task to be completed")
    until(desk.desktop.closed, "the notice of the other machine to be closed", timeout=30)
    agree(laptop, desk)


def test_a_snooze_travels_and_a_dismissal_does_not(desks):
    laptop, desk = desks
    laptop.ferry("add", "Call Anna", f"due:{soon(4)}")
    agree(laptop, desk)
    for machine in desks:
        machine.desktop.shows(1, timeout=20)
    laptop.desktop.dismiss(1)
    desk.desktop.stays(1)
    assert not desk.desktop.closed()
    desk.desktop.press(1, "snooze")
    until(lambda: laptop.json("reminders")["reminders"][0].get("snoozed"), "the snooze to arrive")
    until(desk.desktop.closed, "the notice to be closed")
    laptop.ferry("snooze", "Anna", "none")
    agree(laptop, desk)
    # Both have shown the due time already, so the end of the snooze shows nothing.
    for machine in desks:
        machine.desktop.stays(1)
    assert laptop.read("Call Anna.md") == desk.read("Call Anna.md")
    assert "snooze" not in laptop.read("Call Anna.md")
    for machine in desks:
        assert machine.status()["conflicts"] == 0


def test_a_snooze_ends_with_a_notice_and_with_the_occurrence(root, desk):
    clock = Clock(built_library(root, "wrong-clock"), root / "clock")
    desk.daemon.environment = {**desk.environment, **clock.environment}
    desk.desktop.start_bus().start_server()
    desk.start()
    ready(desk)
    desk.ferry("add", "Water plants", f"due:{soon(1)}", "every:1d")
    desk.ferry("add", "Call Anna", f"due:{soon(1)}")
    desk.desktop.shows(2)
    desk.ferry("snooze", "Anna", "+1h")
    desk.ferry("snooze", "plants", "1h")
    until(lambda: len(desk.desktop.closed()) == 2, "both notices to be closed")
    desk.ferry("done", "plants")
    clock.set(3700)
    assert '"Call Anna"' in desk.desktop.shows(3)[2]
    desk.desktop.stays(3)
    assert desk.ferry("snooze", "nothing of that name", check=False).returncode == 3
    assert desk.ferry("snooze", "Anna", "sometime", check=False).returncode == 2


def test_an_idle_or_locked_machine_waits_a_minute_or_until_it_is_used(root, desk):
    clock = Clock(built_library(root, "wrong-clock"), root / "clock")
    desk.daemon.environment = {**desk.environment, **clock.environment}
    desk.desktop.start_bus().start_server().start_login(IdleHint=True)
    desk.start()
    ready(desk)
    desk.ferry("add", "Call Anna", f"due:{soon(1)}")
    until(lambda: [r["state"] for r in desk.json("reminders")["reminders"]] == ["waiting"], "it to be due")
    desk.desktop.stays(0)
    clock.set(63)
    assert '"Call Anna"' in desk.desktop.shows(1)[0]
    desk.desktop.hint(IdleHint=False, LockedHint=True)
    desk.ferry("add", "Call Ben", f"due:{soon(64)}")
    until(lambda: [r["state"] for r in desk.json("reminders")["reminders"]] == ["shown", "waiting"], "it to be due")
    desk.desktop.stays(1)
    desk.desktop.hint(LockedHint=False)
    assert '"Call Ben"' in desk.desktop.shows(2)[1]
    # Without the login manager the user counts as present.
    desk.desktop.hint(LockedHint=True)
    desk.desktop.end(desk.desktop.logind)
    desk.ferry("add", "Call Carla", f"due:{soon(64)}")
    assert '"Call Carla"' in desk.desktop.shows(3)[2]


def test_what_is_done_at_the_machine_in_use_is_not_shown_on_the_idle_one(root, desks):
    laptop, desk = desks
    clock = Clock(built_library(root, "wrong-clock"), root / "clock")
    desk.desktop.start_login(IdleHint=True)
    desk.stop()
    desk.daemon.environment = {**desk.environment, **clock.environment}
    desk.start()
    ready(desk)
    laptop.ferry("add", "Call Anna", f"due:{soon(3)}")
    laptop.ferry("add", "Call Ben", f"due:{soon(3)}")
    agree(laptop, desk)
    laptop.desktop.shows(2)
    laptop.ferry("done", "Anna")
    agree(laptop, desk)
    clock.set(70)
    assert '"Call Ben"' in desk.desktop.shows(1)[0]
    desk.desktop.stays(1)


def test_what_waits_without_a_bus_is_kept_over_restarts(desk):
    desk.start()
    desk.ferry("add", "One", f"due:{soon(1)}")
    desk.ferry("add", "Two", f"due:{soon(1)}")
    until(lambda: [r["state"] for r in desk.json("reminders")["reminders"]] == ["waiting"] * 2, "both to be due")
    desk.stop()
    desk.start()
    desk.daemon.kill()
    desk.start()
    desk.desktop.start_bus().start_server()
    shown = desk.desktop.shows(2)
    assert all(any(f'"{title}"' in text for text in shown) for title in ("One", "Two")), shown
    desk.desktop.stays(2)


def test_a_dismissed_notice_does_not_come_back(root, desk):
    clock = Clock(built_library(root, "wrong-clock"), root / "clock")
    desk.daemon.environment = {**desk.environment, **clock.environment}
    desk.desktop.start_bus().start_server()
    desk.start()
    ready(desk)
    desk.ferry("add", "Call Anna", f"due:{soon(1)}")
    desk.desktop.shows(1)
    known(desk)
    desk.desktop.dismiss(1)
    until(lambda: '"number"' not in (desk.state / "reminders.json").read_text(), "the dismissal to be noted")
    clock.set(7200)
    desk.desktop.stays(1)
    desk.stop()
    desk.start()
    ready(desk)
    desk.desktop.stays(1)
    assert not desk.desktop.closed()


def test_a_deleted_task_and_a_new_date_take_the_notice_away(root, desk):
    clock = Clock(built_library(root, "wrong-clock"), root / "clock")
    desk.daemon.environment = {**desk.environment, **clock.environment}
    desk.desktop.start_bus().start_server()
    desk.start()
    ready(desk)
    desk.ferry("add", "Call Anna", f"due:{soon(1)}")
    desk.ferry("add", "Call Ben", f"due:{soon(1)}")
    desk.desktop.shows(2)
    desk.ferry("rm", "Anna")
    until(lambda: len(desk.desktop.closed()) == 1, "the notice of the deleted task to be closed")
    # An editor gives the other one another date.
    text = desk.read("Call Ben.md")
    desk.write("Call Ben.md", text.replace(text.split("due: ")[1].split("\n")[0], soon(3600)))
    until(lambda: len(desk.desktop.closed()) == 2, "the notice of the old date to be closed")
    clock.set(3601)
    assert '"Call Ben"' in desk.desktop.shows(3)[2]
    desk.desktop.stays(3)


def test_each_occurrence_of_a_recurring_task_reminds_once(root, desk):
    clock = Clock(built_library(root, "wrong-clock"), root / "clock")
    desk.daemon.environment = {**desk.environment, **clock.environment}
    desk.desktop.start_bus().start_server()
    desk.start()
    ready(desk)
    desk.ferry("add", "Water plants", f"due:{soon(2)}", "every:1d")
    for day in range(3):
        clock.set(day * 86400)
        desk.desktop.shows(day + 1)
        desk.desktop.stays(day + 1)
        desk.ferry("done", "plants")
        until(lambda: len(desk.desktop.closed()) == day + 1, "the notice to be closed")
    assert all('"Water plants"' in text for text in desk.desktop.notices())


def test_a_task_done_while_the_server_is_away_closes_the_notice_elsewhere_afterwards(server, desks):
    laptop, desk = desks
    laptop.ferry("add", "Call Anna", f"due:{soon(5)}")
    agree(laptop, desk)
    server.kill()
    # Without a server each machine shows what it knows.
    for machine in desks:
        machine.desktop.shows(1, timeout=20)
    laptop.ferry("done", "Anna")
    desk.desktop.stays(1)
    assert not desk.desktop.closed()
    server.start()
    until(desk.desktop.closed, "the notice of the other machine to be closed", timeout=30)
    agree(laptop, desk)
    for machine in desks:
        machine.desktop.stays(1)


def test_a_snooze_ends_on_all_machines(root, desks):
    laptop, desk = desks
    clock = Clock(built_library(root, "wrong-clock"), root / "clock")
    for machine in desks:
        machine.stop()
        machine.daemon.environment = {**machine.environment, **clock.environment}
        machine.start()
        ready(machine)
    laptop.ferry("add", "Call Anna", f"due:{soon(4)}")
    agree(laptop, desk)
    for machine in desks:
        machine.desktop.shows(1, timeout=20)
        known(machine)
    laptop.ferry("snooze", "Anna", "1h")
    for machine in desks:
        until(machine.desktop.closed, "the notice to be closed", timeout=30)
    agree(laptop, desk)
    clock.set(3700)
    for machine in desks:
        assert '"Call Anna"' in machine.desktop.shows(2, timeout=20)[1]
        machine.desktop.stays(2)


def test_a_desktop_that_refuses_a_notice_is_asked_again_for_the_next_one_only(desk):
    desk.desktop.start_bus().start_refusing_server()
    desk.start()
    ready(desk)
    desk.ferry("add", "Call Anna", f"due:{soon(1)}")
    desk.desktop.shows(1)
    desk.desktop.stays(1)
    assert [r["state"] for r in desk.json("reminders")["reminders"]] == ["waiting"]
    # Both are asked for when the next one is due.
    desk.ferry("add", "Call Ben", f"due:{soon(1)}")
    desk.desktop.shows(3)
    desk.desktop.stays(3)
    desk.desktop.end(desk.desktop.server)
    desk.desktop.start_server()
    desk.desktop.shows(5)
    until(lambda: [r["state"] for r in desk.json("reminders")["reminders"]] == ["shown"] * 2, "both to be shown")


def test_done_pressed_late_does_not_complete_the_next_occurrence(desks):
    laptop, desk = desks
    laptop.ferry("add", "Water plants", f"due:{soon(4)}", "every:1d")
    agree(laptop, desk)
    for machine in desks:
        machine.desktop.shows(1, timeout=20)
    laptop.ferry("done", "plants")
    until(desk.desktop.closed, "the notice of the other machine to be closed", timeout=30)
    desk.desktop.press(1, "done")
    desk.desktop.stays(1)
    agree(laptop, desk)
    text = desk.read("Water plants.md")
    assert text.count("complete_instances") == 1 and "," not in text.split("complete_instances: ")[1].split("\n")[0], text


def test_text_of_others_is_escaped_and_a_plain_server_gets_plain_text(desk):
    desk.desktop.start_bus().start_server()
    desk.start()
    ready(desk)
    desk.write("Evil.md", f"---\ntitle: '<b>a</b> & \"b\"'\nreminders:\n  - absoluteTime: {soon(2)}\n"
                          "    description: '<img src=x> & more'\n---\n")
    desk.desktop.shows(1)
    text = desk.desktop.notices()[0]
    assert "&lt;img src=x&gt; &amp; more" in text and "<img" not in text, text
    desk.desktop.end(desk.desktop.server)
    desk.desktop.start_server(capabilities="body")
    ready(desk)
    desk.write("Plain.md", f"---\nreminders:\n  - absoluteTime: {soon(2)}\n    description: 'a < b'\n---\n")
    text = desk.desktop.shows(2)[1]
    assert "a < b" in text and "done" not in text and "default" not in text, text


def test_many_at_once_are_one_summary_and_few_are_not(desk):
    desk.desktop.start_bus().start_server()
    desk.start()
    ready(desk)
    due = soon(5)
    for number in range(5):
        desk.ferry("add", f"Task {number}", f"due:{due}")
    desk.desktop.shows(1)
    assert '"5 reminders"' in desk.desktop.notices()[0]
    due = soon(4)
    for number in range(2):
        desk.ferry("add", f"Few {number}", f"due:{due}")
    desk.desktop.shows(3)
    desk.desktop.stays(3)


def test_a_muted_machine_lists_reminders_and_shows_none(root):
    machine = Machine(root, "muted", "--reminders", "off")
    machine.desktop = Desktop(machine).start_bus().start_server()
    try:
        machine.start()
        machine.ferry("add", "Call Anna", f"due:{soon(1)}")
        until(lambda: [r["state"] for r in machine.json("reminders")["reminders"]] == ["waiting"], "it to be due")
        machine.desktop.stays(0)
        assert "reminders is off" in machine.ferry("reminders", check=False).stderr
    finally:
        machine.stop()
        machine.desktop.stop()


def test_reminders_are_set_in_words_and_merge_one_by_one(server, machines):
    laptop, desk = machines
    laptop.ferry("add", "Call Anna", "due:2099-11-28T17:00", "remind:1d,30m")
    agree(laptop, desk)
    assert "offset: -PT30M" in desk.read("Call Anna.md") and "offset: -P1D" in desk.read("Call Anna.md")
    server.kill()
    text = laptop.read("Call Anna.md")
    laptop.write("Call Anna.md", text.replace("offset: -P1D", "offset: -P2D"))
    desk.ferry("set", "Anna", "remind:1d,30m,2099-11-27 12:00")
    until(lambda: "2099-11-26" in laptop.ferry("reminders"), laptop.files)
    server.start()
    agree(laptop, desk)
    merged = laptop.read("Call Anna.md")
    for part in ("offset: -P2D", "offset: -PT30M", "absoluteTime: 2099-11-27 12:00"):
        assert part in merged, merged
    assert "-P1D\n    relatedTo" not in merged
    assert laptop.status()["conflicts"] == desk.status()["conflicts"] == 0
    laptop.ferry("set", "Anna", "remind:none")
    assert not laptop.json("reminders")["reminders"]
    laptop.ferry("set", "Anna", "remind:default")
    assert len(laptop.json("reminders")["reminders"]) == 1
    laptop.ferry("add", "Undated")
    result = laptop.ferry("set", "Undated", "remind:30m", check=False)
    assert result.returncode != 0 and "no due date" in result.stderr, result


def test_open_starts_the_users_program_outside_of_the_daemons_sandbox(desk):
    desk.desktop.start_bus().start_server().start_systemd()
    desk.start()
    ready(desk)
    desk.ferry("add", "Call Anna", f"due:{soon(1)}")
    desk.desktop.shows(1)
    desk.desktop.press(1, "default")
    until(lambda: desk.desktop.lines("StartTransientUnit"), "the unit to be started")
    text = desk.desktop.lines("StartTransientUnit")[0][1]
    assert "/usr/bin/xdg-open" in text and str(desk.tasks / "Call Anna.md") in text, text


def test_old_and_imported_tasks_remind_of_nothing(desk):
    desk.write("Old.md", f"---\ndue: {soon(-3600)}\n---\n")
    desk.desktop.start_bus().start_server()
    desk.start()
    ready(desk)
    desk.desktop.stays(0)
    assert not desk.json("reminders")["reminders"]


def switches(machine):
    """How often each thread of the daemon has slept, by its name and number."""
    counts = {}
    for thread in Path(f"/proc/{machine.daemon.process.pid}/task").iterdir():
        fields = dict(line.split(":\t", 1) for line in (thread / "status").read_text().splitlines() if ":\t" in line)
        counts[fields["Name"], thread.name] = int(fields["voluntary_ctxt_switches"])
    return counts


def timers(machine):
    """The seconds after which each of the daemon's timers on the real-time clock expires next."""
    found = []
    for file in Path(f"/proc/{machine.daemon.process.pid}/fdinfo").iterdir():
        fields = dict(line.split(": ", 1) for line in file.read_text().splitlines() if ": " in line)
        if fields.get("clockid") == "0":
            assert fields["ticks"] == "0" and fields["it_interval"] == "(0, 0)", fields
            found.append(int(fields["it_value"].strip("()").split(",")[0]))
    return found


def test_nothing_wakes_between_reminders(root, desk):
    """A daemon with reminders to come wakes as often as one that is muted."""
    desk.desktop.start_bus().start_server()
    muted = Machine(root, "muted", "--reminders", "off")
    try:
        for machine in (desk, muted):
            machine.start()
            for number in range(5):
                machine.ferry("add", f"Task {number}", f"due:{soon(900 + number)}")
        ready(desk)
        time.sleep(2)
        before = [switches(machine) for machine in (desk, muted)]
        time.sleep(5)
        after = [switches(machine) for machine in (desk, muted)]
        grown = [{name: count - old.get(name, 0) for name, count in new.items() if count != old.get(name, 0)}
                 for old, new in zip(before, after)]
        # The thread that waits for the timer, the bus, and the directories. The others have rhythms of their own,
        # which polling of any kind would exceed by more than this.
        assert not any(name == "poller" for name, _ in grown[0]), grown
        assert sum(grown[0].values()) <= sum(grown[1].values()) + 15, grown
        assert [time for time in timers(desk) if abs(time - 900) < 30], timers(desk)
    finally:
        muted.stop()


def test_a_snooze_before_the_first_sign_in_stays(server, laptop):
    laptop.start()
    laptop.ferry("add", "Call Anna", f"due:{soon(1)}")
    laptop.ferry("add", "Call Ben", f"due:{soon(3600)}")
    laptop.ferry("snooze", "Anna", "+2h")
    until(lambda: notes(laptop, "until"), "the snooze to be noted")
    laptop.login(server, create=True)

    def snoozed():
        return [r["title"] for r in laptop.json("reminders")["reminders"] if r.get("snoozed")]

    until(lambda: snoozed() == ["Call Anna"], "the snooze to be on the account's task")
    until(lambda: not notes(laptop, "until"), "the note to be gone")
    laptop.sync()
    laptop.stop()
    laptop.start()
    until(lambda: snoozed() == ["Call Anna"], "the snooze after a restart")
    assert laptop.status()["conflicts"] == 0


def test_days_remind_at_the_time_of_the_setting_and_a_zone_counts(root):
    machine = Machine(root, "early", "--day-reminders", "8:30")
    try:
        machine.start()
        machine.ferry("add", "Pay rent", "due:2099-11-30")
        machine.write("Call Tokyo.md", "---\ndue: 2099-11-30T09:00\ntzid: Asia/Tokyo\n---\n")
        machine.write("Call Paris.md", "---\ndue: 2099-07-01T09:00\ntzid: Europe/Paris\n---\n")

        def times():
            return {r["title"]: r["time"] for r in machine.json("reminders")["reminders"]}

        until(lambda: len(times()) == 3, "the reminders")
        local = datetime(2099, 11, 30, 8, 30).astimezone().astimezone(timezone.utc)
        assert times() == {
            "Pay rent": local.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "Call Tokyo": "2099-11-30T00:00:00Z",
            "Call Paris": "2099-07-01T07:00:00Z",
        }
    finally:
        machine.stop()
