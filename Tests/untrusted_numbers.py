#!/usr/bin/env python3
"""Checks that no operator that can trap is applied to a number from an untrusted source.

Sizes, lengths, rates and times come from documents, manifests, headers, responses of a server and state files, and can be any
number. In the client's sources, `+`, `-` and `*` on such values, and their conversion from floating point, are allowed only
in the files that `untrusted_numbers.txt` lists, each with the reason why the result fits. All other files use the
`SaturatingArithmetic` of SystemIO.

    Tests/untrusted_numbers.py           prints each finding, and exits with 1 if there is one
"""
import re
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
SOURCES = ["Tasks", "Model/TaskModel", "Objects/ObjectStorage", "Documents/DocumentClient", "Accounts/AccountClient", "Control",
           "Programs/FerryDaemon", "Programs/FerryCLI"]
# Constants of a type are defined by the program itself.
QUANTITY = (r"(?<!Self\.)(?<!standard\.)(?:[a-z]\w*\.)*(?:\w*[sS]ize|bytes(?:Total|Done|OnWire|Deduplicated)|(?:\w+L|l)ength|total|seconds|milliseconds|microseconds|"
            r"nanos|nanoseconds|rate|lifetime|readTime)(?:\(\))?")
OPERATOR = re.compile(
    rf"\b{QUANTITY}\b(?: \?\? -?\d+\))? *(?:[+*-]|[+*-]=) |(?:\w|\)) (?:[+*-]|[+*-]=) (?:Int64\(|Int\(|abs\()?{QUANTITY}\b(?!\()")
CONVERSION = re.compile(rf"\bU?Int(?:8|16|32|64)?\((?:{QUANTITY} [*/]|[^:]*\.rounded\(\)|Double\()")
STRING = re.compile(r'"(?:\\.|[^"\\])*"')


def findings(path):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        code = STRING.sub('""', line).split("//")[0]
        if OPERATOR.search(code) or CONVERSION.search(code):
            yield number, line.strip()


def main():
    listed = {}
    for line in (TOP / "Tests/untrusted_numbers.txt").read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            name, _, reason = line.partition(": ")
            listed[name] = reason.strip()
    wrong = [f"{name} is listed without a reason" for name, reason in listed.items() if not reason]
    found = {}
    for directory in SOURCES:
        for path in sorted((TOP / "Sources" / directory).rglob("*.swift")):
            if lines := list(findings(path)):
                found[str(path.relative_to(TOP / "Sources"))] = lines
    wrong += [f"Sources/{name}:{number}: {line}" for name, lines in found.items() if name not in listed for number, line in lines]
    wrong += [f"{name} is listed and needs not be" for name in listed if name not in found]
    for line in wrong:
        print(line)
    if wrong:
        print("Use saturatingAdded, saturatingSubtracted or saturatingMultiplied, or list the file with the reason why the"
              " numbers fit, in Tests/untrusted_numbers.txt.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
