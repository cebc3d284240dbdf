"""Measures the shape of the sources, and fails where a value is above its limit.

Prints the number of lines and the largest type of each target, and the groups of types that call each other in a cycle. The lines
of a type are those of its declaration and of its extensions in the target. A type calls another if its code names it.
"""
import re
import sys
from pathlib import Path

SOURCES = Path(__file__).parent.parent / "Sources"
TYPE_LINES = 700
CYCLE = 4
SERVER_LINES = 3000
# The plan for the Tasks layer rebuilds these types; then the limits apply to them as well.
EXEMPT = {"TaskSync"}
# Its interface is a circle: a document has a reference, which reads documents and leads to collections, which are queried for documents.
CIRCULAR = {"FerryKit"}

DECLARATION = re.compile(
    r"^[ \t]*(?:@[\w().]+[ \t]+)*(?:(?:public|package|internal|fileprivate|private|final|indirect|nonisolated)[ \t]+)*"
    r"(struct|class|enum|actor|protocol|extension)[ \t]+([\w.]+)", re.M)


def code_only(text):
    """Returns the text with comments and string literals, including interpolations, blanked; line numbers stay the same."""
    pattern = re.compile(r'"""(?:\\.|[^\\])*?"""|#"(?:[^"]|"(?!#))*"#|"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.S)
    return pattern.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def end_of_block(text, start):
    """Returns the offset behind the brace that closes the first block at or after start."""
    depth = 0
    for place in range(text.index("{", start), len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return place + 1
    return len(text)


def types(target):
    """Returns the top-level types of a target: name → [lines, identifiers]. A nested type counts for its outermost type."""
    found, declared = {}, set()
    for file in sorted(target.rglob("*.swift")):
        text = code_only(file.read_text())
        place = 0
        while declaration := DECLARATION.search(text, place):
            if "{" not in text[declaration.start():]:
                break
            end = end_of_block(text, declaration.end())
            name = declaration[2].partition(".")[0]
            body = text[declaration.start():end]
            lines, words = found.setdefault(name, [0, set()])
            found[name] = [lines + body.count("\n") + 1, words | set(re.findall(r"\b[A-Z]\w*", body))]
            if declaration[1] != "extension":
                declared.add(name)
            place = end
    return {name: value for name, value in found.items() if name in declared}


def cycles(graph):
    """Returns the strongly connected components of more than one node, by Tarjan's algorithm, largest first."""
    index, low, stack, on_stack, result = {}, {}, [], set(), []

    def visit(node):
        work = [(node, iter(sorted(graph[node])))]
        index[node] = low[node] = len(index)
        stack.append(node)
        on_stack.add(node)
        while work:
            current, rest = work[-1]
            for other in rest:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    on_stack.add(other)
                    work.append((other, iter(sorted(graph[other]))))
                    break
                if other in on_stack:
                    low[current] = min(low[current], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[current])
                if low[current] == index[current]:
                    component = set()
                    while True:
                        member = stack.pop()
                        on_stack.discard(member)
                        component.add(member)
                        if member == current:
                            break
                    if len(component) > 1:
                        result.append(component)

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return sorted(result, key=len, reverse=True)


def circles(found):
    """The groups of types that call each other, of what types() has found."""
    return cycles(
        {name: {word for word in words if word in found and word != name} for name, (_, words) in found.items()})


def lines_of(target):
    """The lines of a target's sources."""
    return sum(len(file.read_text().splitlines()) for file in target.rglob("*.swift"))


def problems(target, found):
    """What passes a bound in a target, each as a sentence."""
    large = sorted(name for name, (size, _) in found.items() if size > TYPE_LINES)
    result = [f"{target.name}: {name} has {found[name][0]} lines; at most {TYPE_LINES}" for name in large]
    result += [
        f"{target.name}: {len(circle)} types in a circle; at most {CYCLE}: {' '.join(sorted(circle))}"
        for circle in circles(found) if len(circle) > CYCLE and target.name not in CIRCULAR
    ]
    lines = lines_of(target)
    if target.name == "FerryServer" and lines > SERVER_LINES:
        result.append(f"FerryServer: {lines} lines; at most {SERVER_LINES}")
    return result


def main():
    failures = []
    print(f"{'target':22} {'lines':>6} {'largest type':>12}")
    for target in sorted(path for path in SOURCES.glob("*/*") if path.is_dir() and path.parent.name != "C"):
        lines = lines_of(target)
        if not lines:
            continue
        found = types(target)
        largest = max(found, key=lambda name: found[name][0], default=None)
        print(f"{target.name:22} {lines:6} {found[largest][0] if largest else 0:6} {largest or ''}")
        if target.name not in EXEMPT:
            failures += problems(target, found)
    print("\n".join(failures) or "All sources are within the bounds.")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
