#!/usr/bin/env python3
"""Checks that time, randomness and threads come in through `Environment` of SystemIO.

A component that reads a clock, draws random numbers, sleeps or starts a thread on its own cannot be replayed by
`Tests/Simulation` nor tested without waiting. In Sources such calls are allowed only in the files and directories that
`environment.txt` lists, each with the number of such lines and the reason.

    Tests/environment.py                 prints what is wrong, and ends with 1 if anything is
    python3 -m unittest Tests/environment_test.py
"""
import re
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
LIST = TOP / "Tests/environment.txt"
DIRECT = re.compile(
    r"\bclock_gettime\(|\bgettimeofday\(|(?<![.\w])time\(nil\)|\bDate\(\)|\b(?:Continuous|Suspending)Clock(?:\(\)|\.now)"
    r"|\bTask\.sleep\(|\bu?(?:nano)?sleep\(\d|\bSystemRandomNumberGenerator\(|\bgetrandom\(|\barc4random\w*\("
    r"|(?<!environment)\.(?:random|randomElement|shuffled)\((?:\)|in: (?:(?!using:).)*$)|\bUUID\(\)|\bpthread_create\(|\bThread[.(]"
    r"|(?:at|since|time|now): \.now\b|= \.now\b")
STRING = re.compile(r'"(?:\\.|[^"\\])*"')


def findings(source):
    """The numbers and the text of the lines that use the machine directly."""
    for number, line in enumerate(source.splitlines(), 1):
        code = STRING.sub('""', line).split("//")[0]
        if DIRECT.search(code):
            yield number, line.strip()


def listed(text):
    """The allowed number of lines and the reason of each file or directory."""
    entries = {}
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            name, _, rest = line.partition(": ")
            count, _, reason = rest.partition(" ")
            entries[name] = (int(count) if count.isdigit() else 0, reason.strip())
    return entries


def entry(name, entries):
    """The longest entry that a file stands in; its own name if there is none."""
    return max((listing for listing in entries if name == listing or name.startswith(f"{listing}/")), key=len, default=name)


def main():
    allowed = listed(LIST.read_text())
    wrong = [f"{name} is listed without a number and a reason" for name, (count, reason) in allowed.items()
             if not count or not reason]
    found = {name: [] for name in allowed}
    for path in sorted((TOP / "Sources").rglob("*.swift")):
        name = str(path.relative_to(TOP / "Sources"))
        found.setdefault(entry(name, allowed), []).extend(
            f"Sources/{name}:{number}: {line}" for number, line in findings(path.read_text()))
    for name, lines in found.items():
        most = allowed.get(name, (0, ""))[0]
        if len(lines) > most:
            wrong += lines
        elif len(lines) < most:
            wrong.append(f"{name} is listed with {most} lines and has {len(lines)}")
    for line in wrong:
        print(line)
    if wrong:
        print("Pass an Environment in, or list the file with the number of its lines and the reason in Tests/environment.txt.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
