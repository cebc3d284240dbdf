#!/usr/bin/env python3
"""Compares the expansion of random recurrence rules with that of python-dateutil.

    Tests/recurrence.py TOOL [RULES] [SEED]     TOOL is the built `recurrence`; by default 20,000 rules

Prints each rule for which the two differ, and exits with 1 if there is one. Rules in which dateutil is known to depart from
RFC 5545 are counted apart and not compared:

    BYWEEKNO without BYDAY        what a rule lacks is derived from DTSTART, so a week means one day of it; dateutil takes
                                  all seven days
    BYDAY=MO,1FR                  each entry adds days; dateutil demands that a day satisfies both kinds of entries
    BYWEEKNO of 52 or 53          2038-W52 ends on 2 January 2039; dateutil takes some days of such weeks for others
    BYSETPOS with FREQ=WEEKLY     positions count the whole week; dateutil counts the first week from DTSTART
"""
import random
import subprocess
import sys
from datetime import datetime, timedelta
from itertools import islice

from dateutil.rrule import rrulestr

LIMIT = 12
HORIZON = datetime(2100, 1, 1)
# dateutil looks for the days of a rule that has none up to the year 9999. As that takes it seconds, it is asked for few of
# the rules for which the tool finds none.
EMPTY_SHARE = 0.02
DAYS = ["MO", "TU", "WE", "TH", "FR", "SA", "SU"]


def numbers(source, low, high, count, signed=False):
    found = {source.randint(low, high) * (source.choice([1, 1, -1]) if signed else 1) for _ in range(count)}
    return ",".join(map(str, sorted(found)))


def rule(source):
    frequency = source.choice(["DAILY", "WEEKLY", "MONTHLY", "YEARLY"])
    parts = [f"FREQ={frequency}"]

    def sometimes(probability):
        return source.random() < probability

    def few():
        return source.choice([1, 1, 2, 3, 5])

    if sometimes(0.5):
        parts.append(f"INTERVAL={source.choice([1, 2, 3, 4, 5, 7, 10, 13])}")
    limited = False
    if sometimes(0.3):
        parts.append(f"BYMONTH={numbers(source, 1, 12, few())}")
        limited = True
    if frequency != "WEEKLY" and sometimes(0.25):
        parts.append(f"BYMONTHDAY={numbers(source, 1, 31, few(), True)}")
        limited = True
    if frequency == "YEARLY" and sometimes(0.2):
        parts.append(f"BYYEARDAY={numbers(source, 1, 366, few(), True)}")
        limited = True
    weeks = frequency == "YEARLY" and sometimes(0.2)
    if weeks:
        parts.append(f"BYWEEKNO={numbers(source, 1, 53, few(), True)}")
        limited = True
    if sometimes(0.4):
        days = {}
        for _ in range(few()):
            ordinal = ""
            if frequency in ("MONTHLY", "YEARLY") and not weeks and sometimes(0.5):
                ordinal = str(source.randint(1, 5) * source.choice([1, -1]))
            days[ordinal + source.choice(DAYS)] = None
        parts.append(f"BYDAY={','.join(days)}")
        limited = True
    if limited and sometimes(0.2):
        # A day is the only one of its period.
        last = 1 if frequency == "DAILY" else 5
        parts.append(f"BYSETPOS={numbers(source, 1, last, source.choice([1, 2]), True)}")
    if sometimes(0.3):
        parts.append(f"WKST={source.choice(DAYS)}")
    if sometimes(0.25):
        parts.append(f"COUNT={source.randint(1, 20)}")
    elif sometimes(0.25):
        parts.append(f"UNTIL={source.randint(2000, 2060)}{source.randint(1, 12):02}{source.randint(1, 28):02}")
    source.shuffle(parts)
    return ";".join(parts)


def departure(text):
    """The way in which dateutil departs from the RFC for a rule, or None."""
    parts = dict(part.split("=") for part in text.split(";"))
    if "BYWEEKNO" in parts and not {"BYDAY", "BYMONTHDAY", "BYYEARDAY"} & parts.keys():
        return "BYWEEKNO without BYDAY"
    if {"52", "53", "-52", "-53"} & set(parts.get("BYWEEKNO", "").split(",")):
        return "BYWEEKNO of 52 or 53"
    kinds = {len(day) > 2 for day in parts.get("BYDAY", "").split(",") if day}
    if len(kinds) == 2:
        return "BYDAY with and without numbers"
    if parts["FREQ"] == "WEEKLY" and "BYSETPOS" in parts:
        return "BYSETPOS with FREQ=WEEKLY"
    return None


def expansion(text, start):
    parts = dict(part.split("=") for part in text.split(";"))
    count = int(parts.pop("COUNT", LIMIT))
    parts["UNTIL"] = min(parts.get("UNTIL", "9"), f"{HORIZON - timedelta(days=1):%Y%m%d}")
    bounded = ";".join(f"{name}={value}" for name, value in parts.items())
    return islice(rrulestr(bounded, dtstart=start), min(count, LIMIT))


def main():
    tool, count, seed = sys.argv[1], int((sys.argv + ["", "20000"])[2] or 20000), int((sys.argv + [""] * 2 + ["1"])[3] or 1)
    source = random.Random(seed)
    cases, apart = [], {}
    while len(cases) < count:
        text = rule(source)
        start = datetime(source.randint(1990, 2040), source.randint(1, 12), source.randint(1, 28))
        if reason := departure(text):
            apart[reason] = apart.get(reason, 0) + 1
        else:
            cases.append((text, start))
    lines = "".join(f"{start:%Y-%m-%d} {LIMIT} {text}\n" for text, start in cases)
    answers = subprocess.run([tool], input=lines, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(answers) == count, f"{len(answers)} answers to {count} rules"
    wrong, days, empty = 0, 0, 0
    for (text, start), answer in zip(cases, answers):
        if not answer and source.random() > EMPTY_SHARE:
            empty += 1
            continue
        expected = [f"{day:%Y-%m-%d}" for day in expansion(text, start)]
        found = [day for day in answer.split() if day < f"{HORIZON:%Y-%m-%d}"] if not answer.startswith("!") else [answer]
        days += len(expected)
        if found != expected:
            wrong += 1
            print(f"{start:%Y-%m-%d} {text}\n  expected {' '.join(expected)}\n  found    {' '.join(found)}")
    apart["without a day"] = empty
    print(f"{count - empty} rules with {days} days compared, {wrong} differ; not compared: "
          + ", ".join(f"{number} {reason}" for reason, number in sorted(apart.items())))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
