#!/usr/bin/env python3
"""Breaks the planner and the identification on purpose, one rule at a time, and prints which breaks the tests notice.

    Tests/ReconciliationTool/mutations.py           all breaks
    Tests/ReconciliationTool/mutations.py WORD ...  those whose names contain one of these words
    Tests/ReconciliationTool/mutations.py --list    whether each still fits the sources

Works on a copy of the tree in --scratch. All breaks are built in at once; FERRY_BREAK chooses one of them.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = "Sources/Tasks/Reconciliation/"
TARGETS = "Reconciliation,ReconciliationTests"

# Name, file, text that is there once, what it becomes: `$` is true where this break is chosen.
BREAKS = [
    ("an unreachable file counts as absent", "Planning/NodePlan.swift",
     "localChange = .unknown", "localChange = $ ? Comparison.change(of: nil, since: synced?.state) : .unknown"),
    ("a document that is not reported counts as absent", "Planning/NodePlan.swift",
     "remote == .unknown ? .unknown :", "remote == .unknown && !$ ? .unknown :"),
    ("a delete beats an edit", "Planning/ReconciliationTable.swift",
     "case (.changed, .absent): .restoreDocument", "case (.changed, .absent): $ ? .trashFile : .restoreDocument"),
    ("a removed file stays removed although its document was edited", "Planning/ReconciliationTable.swift",
     "case (.absent, .changed): .restoreFile", "case (.absent, .changed): $ ? .trashDocument : .restoreFile"),
    ("both sides changed: the document is overwritten", "Planning/ReconciliationTable.swift",
     "case (.changed, .changed): .merge", "case (.changed, .changed): $ ? .importFile : .merge"),
    ("a numbered file asks for its number", "Planning/Comparison.swift",
     "if file.location.fileName == synced.location.fileName {", "if !$, file.location.fileName == synced.location.fileName {"),
    ("a merge displaces nothing", "Planning/StateMerge.swift",
     "displaced += result.displaced", "if !$ { displaced += result.displaced"),
    ("the base stays behind an import", "Planning/OperationBuilder.swift",
     "if let local = node.local, let file = node.file {\n            row", "if !$, let local = node.local, let file = node.file {\n            row"),
    ("files are created before their names are vacant", "Planning/MoveOrder.swift",
     "if let other = leaving[move.to], other != index {", "if !$, let other = leaving[move.to], other != index {"),
    ("a directory is removed although a task was put into it", "Planning/Families.swift",
     "            if children.isLived {\n                node.resolution = .restoreDocument",
     "            if children.isLived, !$ {\n                node.resolution = .restoreDocument"),
    ("an attachment is detached with its removed task", "Planning/Families.swift",
     "case .restoreFile where node.localChange == .absent", "case .restoreFile where !$ && node.localChange == .absent"),
    ("the newest task has the name", "Naming/NameAllocation.swift",
     "where a != b: return a < b", "where a != b: return $ ? a > b : a < b"),
    ("a foreign file's name is taken", "Naming/NameAllocation.swift",
     "taken.contains(location) || draft.trees.local.foreign.contains(location)",
     "taken.contains(location) || !$ && draft.trees.local.foreign.contains(location)"),
    ("a swap is two edits", "Identification/Identification.swift",
     "for evidence in Evidence.allCases {", "for evidence in $ ? [.place] + Evidence.allCases : Evidence.allCases {"),
    ("a copy is the original", "Identification/Identification.swift",
     "return evidence.standsWithoutLook && there", "return $ || evidence.standsWithoutLook && there"),
    ("a copy is not told from a moved file", "Identification/Identification.swift",
     "if !candidate.isObserved { return .unobserved(candidate.known.location) }",
     "if !candidate.isObserved, !$ { return .unobserved(candidate.known.location) }"),
    ("a number that was given to a new file identifies it", "Identification/Identification.swift",
     "if evidence == .fileNumber, batch.keepsMarks {", "if evidence == .fileNumber, batch.keepsMarks, !$ {"),
    ("a newborn task never dissolves", "Identification/Identification.swift",
     "newborn.age < Newborn.limit else", "newborn.age < Newborn.limit, !$ else"),
    ("a missing file is gone while a directory cannot be listed", "Identification/Identification.swift",
     "if batch.isHiding {", "if !$, batch.isHiding {"),
    ("a missing directory is gone while one cannot be listed", "Identification/DirectoryIdentification.swift",
     "if batch.isHiding {", "if !$, batch.isHiding {"),
    ("a directory has the list whose place it took", "Identification/DirectoryIdentification.swift",
     "for evidence in [DirectoryEvidence.sameDirectory, .movedDirectory] {",
     "for evidence in $ ? [DirectoryEvidence.place] : [DirectoryEvidence.sameDirectory, .movedDirectory] {"),
    ("a directory below a renamed one is a new list", "Identification/DirectoryIdentification.swift",
     "guard let above = result.lists[parent],", "guard !$, let above = result.lists[parent],"),
    ("a list is where one of its files is", "Identification/DirectoryIdentification.swift",
     ".count * 2 > known.files.count", ".count * ($ ? 100 : 2) > known.files.count"),
    ("a list that is still there moves with its files", "Identification/DirectoryIdentification.swift",
     "guard !matched.contains(known.list), !paths", "guard $ || !matched.contains(known.list), $ || !paths"),
    ("an attachment is what has its name, whatever moved", "Identification/AttachmentIdentification.swift",
     "for evidence in AttachmentEvidence.allCases {",
     "for evidence in $ ? [AttachmentEvidence.place, .document] : AttachmentEvidence.allCases {"),
    ("an empty file is known by its contents", "Identification/AttachmentIdentification.swift",
     "file.digest == known.digest && file.stamp.size > 0", "file.digest == known.digest && ($ || file.stamp.size > 0)"),
    ("a refused value is sent again", "Planning/Gates.swift",
     "node.withheld = rejection.fields(in: node.local)", "if !$ { node.withheld = rejection.fields(in: node.local) }"),
    ("a refused value is forgotten", "Planning/OperationBuilder.swift",
     "row = SyncedRow(state: node.agreement(on: Draft(local)),", "row = SyncedRow(state: $ ? Draft(local) : node.agreement(on: Draft(local)),"),
    ("the lists above a list are not made", "Planning/Families.swift",
     "return node.target == nil && node.implied != nil", "return !$ && node.target == nil && node.implied != nil"),
]
# The filter that follows the displaced values ends the statement that the break makes conditional.
CLOSING = {"a merge displaces nothing": (".map { .field($0) }\n", ".map { .field($0) } }\n")}

CHOICE = """import Glibc

/// The break that the environment chooses.
enum PlantedBreak {
    static let chosen = getenv("FERRY_BREAK").flatMap { Int(String(cString: $0)) } ?? -1
}
"""


def plant(top):
    """Plants every break; returns the names of those that do not fit."""
    unfit = []
    for number, (name, file, text, broken) in enumerate(BREAKS):
        path = top / SOURCES / file
        source = path.read_text()
        closing = CLOSING.get(name)
        if source.count(text) != 1 or closing and source.count(closing[0]) != 1:
            unfit.append(name)
            continue
        source = source.replace(text, broken.replace("$ ", f"(PlantedBreak.chosen == {number}) ").replace(
            "$,", f"(PlantedBreak.chosen == {number}),"))
        path.write_text(source.replace(*closing) if closing else source)
    (top / SOURCES / "PlantedBreak.swift").write_text(CHOICE)
    return unfit


def is_caught(top, number):
    environment = dict(os.environ, FERRY_TARGETS=TARGETS, FERRY_BREAK=str(number))
    try:
        result = subprocess.run(
            ["swift", "test", "--skip-build", "--no-parallel"], cwd=top, env=environment, capture_output=True, timeout=300)
    except subprocess.TimeoutExpired:
        return True
    return result.returncode != 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--scratch", type=pathlib.Path, default=pathlib.Path("/tmp/ferry-plan-mutations"))
    options = parser.parse_args()
    top = options.scratch / "tree"
    for directory in ["Sources", "Tests", "Package.swift"]:
        source, target = ROOT / directory, top / directory
        if source.is_dir():
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(source, target, symlinks=True)
        else:
            shutil.copy2(source, target)
    unfit = plant(top)
    for name in unfit:
        print(f"does not fit the sources: {name}")
    if options.list or unfit:
        print(f"{len(BREAKS) - len(unfit)} of {len(BREAKS)} breaks fit")
        return 1 if unfit else 0
    subprocess.run(["swift", "build", "--build-tests"], cwd=top, env=dict(os.environ, FERRY_TARGETS=TARGETS), check=True)
    if is_caught(top, -1):
        print("the tests fail without a break")
        return 1
    chosen = [(n, b[0]) for n, b in enumerate(BREAKS) if not options.words or any(w in b[0] for w in options.words)]
    missed = 0
    for number, name in chosen:
        caught = is_caught(top, number)
        missed += not caught
        print(f"{'caught' if caught else 'MISSED'}: {name}", flush=True)
    print(f"{len(chosen) - missed} of {len(chosen)} breaks caught")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
