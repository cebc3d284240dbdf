"""Checks that the compiler refuses each program of programs.txt for its mistake, and accepts it without, and that it
accepts each listing of FerryKit's documentation.

Usage: check.py MODULES…   the directories with the compiled modules and with module maps
"""
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).parent
HEAD = ("import FerryKit\nimport Foundation\n"
        "func program(\n    ferry: Ferry, tasks: DocumentCollection<Item>, item: Reference<Item>, list: Reference<TaskList>\n"
        ") async throws {\n")


def programs():
    """Yields the name, the wrong and the right body, and the expected message of each program."""
    name, wrong, right, message = None, [], [], None
    for line in (HERE / "programs.txt").read_text().splitlines():
        if line.startswith("#"):
            continue
        if line.startswith("== "):
            name, wrong, right = line[3:], [], []
        elif line.startswith("!! "):
            yield name, "\n".join(wrong), "\n".join(right), line[3:]
        else:
            body, _, correction = line.partition(" // right: ")
            wrong.append(body)
            right.append(correction or body)


def listings():
    """Yields the name and the body of each listing of the documentation. Models that a listing declares are known to those
    after it on the page."""
    for page in sorted((HERE.parents[1] / "Sources/Library/FerryKit/FerryKit.docc").glob("*.md")):
        models = ""
        for number, body in enumerate(re.findall(r"^```swift\n(.*?)^```$", page.read_text(), re.M | re.S), 1):
            yield f"listing {number} of {page.name}", models + body
            models += "".join(re.findall(r"^struct .*?^}\n", body, re.M | re.S))


def compile_body(body, directories):
    """Returns the compiler's errors; empty if it accepts the body."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "program.swift"
        imports = [line for line in body.splitlines() if line.startswith("import ")]
        rest = [line for line in body.splitlines() if line not in imports]
        path.write_text("\n".join([*imports, HEAD, *rest, "}", ""]))
        arguments = ["swiftc", "-emit-sil", "-wmo", "-o", "/dev/null", "-swift-version", "6", "-parse-as-library", "-module-name", "Program"]
        for folder in directories:
            arguments += ["-I", folder]
        run = subprocess.run([*arguments, HERE / "models.swift", path], capture_output=True, text=True)
        return "" if run.returncode == 0 else run.stderr


def main():
    directories = [os.path.abspath(folder) for folder in sys.argv[1:]]
    cases = list(programs())

    def check(case):
        name, wrong, right, message = case
        refusal, complaint = compile_body(wrong, directories), compile_body(right, directories)
        if not refusal:
            return f"{name}: the compiler accepts it"
        if message not in refusal:
            return f"{name}: refused without {message!r}:\n{refusal}"
        return f"{name}: refused without its mistake:\n{complaint}" if complaint else None

    def check_listing(listing):
        name, body = listing
        complaint = compile_body(body, directories)
        return f"{name}:\n{complaint}" if complaint else None

    pages = list(listings())
    with ThreadPoolExecutor(2) as pool:
        problems = [problem for problem in [*pool.map(check, cases), *pool.map(check_listing, pages)] if problem]
    for problem in problems:
        print(problem)
    print(f"{len(cases) + len(pages) - len(problems)} passed, {len(problems)} failed")
    sys.exit(bool(problems) or len(cases) < 20 or not pages)


if __name__ == "__main__":
    main()
