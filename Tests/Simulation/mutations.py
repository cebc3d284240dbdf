#!/usr/bin/env python3
"""Mutation testing: breaks one rule of Ferry at a time, and reports which of the breaks the simulation detects.

    Tests/Simulation/mutations.py                  all breaks, or the remaining ones of an interrupted campaign
    Tests/Simulation/mutations.py WORD ...         the breaks whose names contain one of these words
    Tests/Simulation/mutations.py --again          also the breaks that were detected before
    Tests/Simulation/mutations.py --list           lists all breaks, and checks that each still fits the sources

Works on a copy of the tree in --scratch, which contains all breaks at once; FERRY_BREAK selects one of them. Each break has
--seconds of processor time to be detected. A seed counts only if the program without the break passes it. The results are in
results.json beside the copy: a detected break is not tried again, and an undetected one only with a changed program.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import threading

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLIENT, SYNC = "Sources/Documents/DocumentClient/", "Sources/Tasks/TaskSync/"
FOLDER, MERGE = "Sources/Tasks/TaskFolder/", "Sources/Model/Merge/Documents/"
PLANNER = "Sources/Tasks/Reconciliation/"

# Name, file, text that occurs once in it, its replacement (`$` is true if the break is selected), and the action that must be frequent.
BREAKS = [
    # Merging
    ("tags of both sides: mine only", MERGE + "FieldMerge.swift",
     "let (known, kept) = (Set(base), Set(mine))", "if $ { return mine }\n        let (known, kept) = (Set(base), Set(mine))"),
    ("an edit gives way to the trash", MERGE + "FieldMerge.swift",
     "if let deleted, Self.isEdited(other, from: base, policy: policy) {",
     "if let deleted, Self.isEdited(other, from: base, policy: policy), !$ {"),
    ("an edit gives way to a hard delete", MERGE + "DocumentMerge.swift",
     "FieldMerge.isEdited(survivor, from: base, policy: policy) else {",
     "FieldMerge.isEdited(survivor, from: base, policy: policy), !$ else {"),
    ("what is displaced is not kept", MERGE + "FieldMerge.swift",
     "displaced.append(DisplacedValue(field: field, value: value, side: side, reason: reason))",
     "if !$ { displaced.append(DisplacedValue(field: field, value: value, side: side, reason: reason)) }"),
    ("overlapping lines are not kept", MERGE + "FieldMerge.swift", "if merged.hasConflict {", "if merged.hasConflict, !$ {"),
    ("notes of both sides: mine only", MERGE + "FieldMerge.swift",
     "return .string(merged.text)", "return $ ? m : .string(merged.text)"),
    ("what only they changed: mine", MERGE + "FieldMerge.swift",
     "!isRemoved(path, in: mine) ? Outcome(value: t) : nil", "!isRemoved(path, in: mine) ? Outcome(value: $ ? m : t) : nil"),
    ("without a base mine is the later one", MERGE + "FieldMerge.swift",
     "guard !hasBase, let theirTime", "guard !hasBase, !$, let theirTime", "restoreServer"),
    # Sending and hearing
    ("an update has no precondition", CLIENT + "Mutations/Mutation+Write.swift",
     ".update(name, fields: fields), mask: mask, transforms: transforms, precondition: .updateTime(time))",
     ".update(name, fields: fields), mask: mask, transforms: transforms, precondition: $ ? nil : .updateTime(time))"),
    ("a delete has no precondition", CLIENT + "Mutations/Mutation+Write.swift",
     "write = Write(.delete(name), precondition: .updateTime(time))",
     "write = Write(.delete(name), precondition: $ ? nil : .updateTime(time))", "lose"),
    ("a retry does not look for its own effect", CLIENT + "Rebase/Rebase.swift",
     "if wasSent, Self.isEffect", "if wasSent, !$, Self.isEffect", "count"),
    ("news is not held back while a commit is open", CLIENT + "Replica/Replica+Listening.swift",
     "guard file.journal.count > 0 else { return false }", "guard file.journal.count > 0, !$ else { return false }"),
    ("older news replaces newer", CLIENT + "Replica/Replica+Listening.swift",
     "row.version >= state.version {", "$ ? row.version == state.version : row.version >= state.version {"),
    ("a lost answer counts as a refusal", CLIENT + "Journal/Journal.swift",
     "settle(job, isOpen: code.isTransient && code", "settle(job, isOpen: code.isTransient && !$ && code", "count"),
    ("a mutation goes before an older one of its document", CLIENT + "Journal/Journal.swift",
     "return byPath[member.path]?.first == sequence", "return $ || byPath[member.path]?.first == sequence"),
    ("what a refused write carries with it is not parked", CLIENT + "Replica/ReplicaFile.swift",
     "waiting += followers + journal.members(of: entry.group)\n            }\n        }\n    }\n\n    private func joined",
     "if !$ { waiting += followers + journal.members(of: entry.group) }\n            }\n        }\n    }\n\n    private func joined", "refuse"),
    ("a refused write is dropped", CLIENT + "Replica/Replica+Committing.swift",
     "try file.park(sequences, reason: \"\\(error.code): \\(error.message)\")",
     "if $ { for sequence in sequences { try file.deleteMutation(sequence, .rejected(\"\")) } } else { try file.park(sequences, reason: \"\\(error.code): \\(error.message)\") }"),
    ("an answer that is older than the stream's news is taken", CLIENT + "Replica/Replica+Committing.swift",
     "row.state != .unknown, row.version > state.version {", "row.state != .unknown, row.version > state.version, !$ {", "edit"),
    # From files
    ("the stamp hides an edit made while the identifier was set", FOLDER + "Folder/DiskTaskFolder.swift",
     "return after.hasContent(of: before) ? after : before", "return $ || after.hasContent(of: before) ? after : before"),
    ("an import is told before it is on the disk", SYNC + "Importing/TaskSync+Importing.swift",
     "let gone = folder.synchronize(imported", "let gone = $ ? [] : folder.synchronize(imported"),
    ("what the last run put into a file is its user's edit", SYNC + "Importing/TaskSync+Importing.swift",
     "if let put = unfinished[file.task], let old", "if !$, let put = unfinished[file.task], let old", "dieWriting"),
    ("a truncated file is taken at once", SYNC + "Importing/TaskSync+Importing.swift",
     "if content.bytes.isEmpty, settled?.size != 0,", "if content.bytes.isEmpty, settled?.size != 0, !$,"),
    ("an own move is the user's", FOLDER + "Events/EventDebouncer.swift",
     "if isExpected {", "if isExpected, !$ {", "passName"),
    ("a file of the same inode is a new task", SYNC + "Importing/TaskSync+Identifying.swift",
     "if let sameInode, hasCome(sameInode) {", "if let sameInode, !$, hasCome(sameInode) {", "passNamesUnseen"),
    ("an inode alone says whose a file is", SYNC + "Importing/TaskSync+Identifying.swift",
     "return isSame(content.stamp, as: entry, identifier) }", "return $ || isSame(content.stamp, as: entry, identifier) }"),
    ("the identifier is not looked at", SYNC + "Importing/TaskSync+Identifying.swift",
     "if let identifier, try await isFree(identifier) {", "if let identifier, !$, try await isFree(identifier) {", "rename"),
    ("a copy is the same task", SYNC + "Importing/TaskSync+Identifying.swift",
     "guard known != path else { return false }\n", "guard known != path else { return false }\n            if $ { return true }\n", "copy"),
    ("absence is not checked before a delete", SYNC + "Importing/TaskSync+Removals.swift",
     "guard let entry = index[path], folder.isAbsent(path) else { continue }",
     "guard let entry = index[path], $ || folder.isAbsent(path) else { continue }", "putBack"),
    ("what a scan missed is deleted where something cannot be read", FOLDER + "Events/EventDebouncer.swift",
     "if pending[path] == nil {\n            remove(path, at: now, isMovedAway: true)",
     "if pending[path] == nil {\n            remove(path, at: now, isMovedAway: !$)", "forbid"),
    ("the root is not checked before deletes", SYNC + "Importing/TaskSync+Removals.swift",
     "guard try await checkRoot() else { return }", "if !$ { guard try await checkRoot() else { return } }"),
    ("a removed file stays removed although its document was edited", PLANNER + "Planning/ReconciliationTable.swift",
     "case (.absent, .changed): .restoreFile", "case (.absent, .changed): $ ? .trashDocument : .restoreFile"),
    ("a document that is gone comes back for a removed file", PLANNER + "Planning/ReconciliationTable.swift",
     "case (.absent, .absent): .forget", "case (.absent, .absent): $ ? .restoreDocument : .forget"),
    ("nothing is held", PLANNER + "Planning/HeldChanges.swift",
     "guard count > 0 else { return false }", "guard count > 0, !$ else { return false }", "bringBack"),
    ("a held delete outlives an edit", SYNC + "Exporting/TaskSync+Exporting.swift",
     "if waiting[item.task] != nil {\n                gone.append(item.task)", "if waiting[item.task] != nil {\n                if !$ { gone.append(item.task) }",
     "bringBack"),
    ("a document that has changed since the plan is trashed", SYNC + "Executing/TaskSync+Executing.swift",
     "guard RemoteTreeReader.version(of:", "guard try $ || RemoteTreeReader.version(of:"),
    ("attachments stay where a removed file was", SYNC + "Executing/TaskSync+Executing.swift",
     "        try await trashAttachments(beside: files)\n        let changed", "        if !$ { try await trashAttachments(beside: files) }\n        let changed", "attach"),
    ("attachments stay beside the old name of a restored file", SYNC + "Executing/TaskSync+Executing.swift",
     "try await trashAttachments(beside: renamed)", "if !$ { try await trashAttachments(beside: renamed) }", "attach"),
    ("a plan for removed files is forgotten at a power cut", SYNC + "Executing/TaskSync+Executing.swift",
     "folder.synchronize(rows.map(\\.path))", "if !$ { _ = folder.synchronize(rows.map(\\.path)) }"),
    ("a file whose document is gone is taken away whatever it says", SYNC + "Executing/TaskSync+Executing.swift",
     "let file = TrashItem(path: path, expecting: .stamp(FileStamp(node.stamp)))",
     "let file = TrashItem(path: path, expecting: $ ? .anything : .stamp(FileStamp(node.stamp)))", "removeByCommand"),
    ("a file whose document is gone stays", SYNC + "Executing/TaskSync+Executing.swift",
     "case (.trashFile, .stamp(let stamp)): removed.append((task, stamp, false))",
     "case (.trashFile, .stamp(let stamp)): if !$ { removed.append((task, stamp, false)) }"),
    ("what lies beside a file whose document is gone stays", SYNC + "Executing/TaskSync+Executing.swift",
     "switch node.isWritten ? try folder.trash([file])", "switch node.isWritten || $ ? try folder.trash([file])", "attach"),
    ("a file that is gone with its document is not looked for", SYNC + "Executing/TaskSync+Executing.swift",
     "case .changed(_, nil), nil: isMissing(node.task, at: path)",
     "case .changed(_, nil), nil: if !$ { isMissing(node.task, at: path) } else { trashed.append((node.task, path)) }",
     "removeByCommand"),
    ("reverts are not planned again once no more of them come", SYNC + "Importing/TaskSync+Reverting.swift",
     "recent.isHolding = false\n", "recent.isHolding = $\n", "bringOld"),
    ("a revert that is restored stays as it is", SYNC + "Executing/TaskSync+Executing.swift",
     "case (.writeFile, .stamp(let stamp)): removed.append((task, stamp, true))",
     "case (.writeFile, .stamp(let stamp)): if !$ { removed.append((task, stamp, true)) }", "bringOld"),
    ("an edit that is a revert is taken for one that is restored", SYNC + "Importing/TaskSync+Reverting.swift",
     "if decision != .restore {", "if decision != .restore, !$ {", "bringOld"),
    ("a revert is forgotten when its hold ends", SYNC + "Importing/TaskSync+Reverting.swift",
     "try await importFiles(decided.compactMap { index.path(of: $0) }, sendsReverts: true)",
     "if !$ { try await importFiles(decided.compactMap { index.path(of: $0) }, sendsReverts: true) }", "bringOld"),
    ("an unlisted directory counts as empty", SYNC + "Importing/TaskSync+Scanning.swift",
     "let missed = absent.filter(scan.sees)", "let missed = $ ? absent : absent.filter(scan.sees)", "forbid"),
    ("after an import the document is not looked at again", SYNC + "Importing/TaskSync+Importing.swift",
     "if !isAppended { self.retries.insert(row.task) }", "if !isAppended, !$ { self.retries.insert(row.task) }", "bringBack"),
    # To files
    ("an exchange does not look at what came out", FOLDER + "Folder/FilePlacer.swift",
     "if displaced.hasContent(of: expected) {", "if $ || displaced.hasContent(of: expected) {"),
    ("a write overwrites whatever is there", FOLDER + "Folder/FilePlacer.swift",
     "guard before == expected else { return .changed(before) }",
     "guard $ || before == expected else { return .changed(before) }", "denyExchange"),
    ("trash takes a file that was edited meanwhile", FOLDER + "Folder/DiskTrash.swift",
     "guard FileStamp(status).hasContent(of: expected) else {", "guard $ || FileStamp(status).hasContent(of: expected) else {",
     "removeByCommand"),
    ("whose a new file is is noted after it is written", SYNC + "Exporting/TaskSync+Exporting.swift",
     "try await remember(new)\n", "if !$ { try await remember(new) }\n"),
    ("the feed is acknowledged before files are written", SYNC + "Exporting/TaskSync+Exporting.swift",
     "try await export(tasks.map(\\.id).sorted())",
     "if $ { try await acknowledge(through: last.sequence) }\n            try await export(tasks.map(\\.id).sorted())"),
    ("an export that finds no file is forgotten", SYNC + "Importing/TaskSync+Missing.swift",
     "compactMap(\\.self))\n        retries.insert(task)", "compactMap(\\.self))\n        if !$ { retries.insert(task) }"),
    ("a restart forgets which files are behind", SYNC + "TaskSync.swift",
     "retries = rememberedRetries", "retries = $ ? [] : rememberedRetries"),
    ("two tasks of one title are numbered as they come", SYNC + "Engine/NameAllocator.swift",
     "return right(a) < right(b)", "return !$ && right(a) < right(b)"),
    # Lists and attachments
    ("two lists of one name are numbered as they come", SYNC + "Lists/TaskSync+Lists.swift",
     "let first = listBook.number(of: list)", "let first = $ ? 1 : listBook.number(of: list)"),
    ("the echo of an own rename of a list is the user's", SYNC + "Lists/TaskSync+Directories.swift",
     "if isOwnMove(from, to) { return }", "if isOwnMove(from, to), !$ { return }", "remakeList"),
    ("an upload takes the attachment of its name", SYNC + "Attachments/TaskSync+FinishedTransfers.swift",
     "let found = others[upload.file.sha256.hex] ?? []\n",
     "let found = $ ? others.values.joined().filter { $0.value.name == upload.name } : others[upload.file.sha256.hex] ?? []\n",
     "attach"),
    ("a list that comes late does not get its tasks", SYNC + "Lists/TaskSync+Lists.swift",
     "for task in catalog.livingBoxes {", "if $ { return }\n        for task in catalog.livingBoxes {"),
    ("a list that was deleted beneath a new task stays deleted", SYNC + "Lists/TaskSync+Lists.swift",
     "guard isUsed, try !transaction.document(name).exists", "guard isUsed, !$, try !transaction.document(name).exists", "leave"),
    ("attachments stay behind after a move that nobody told of", SYNC + "Importing/TaskSync+Importing.swift",
     "moveAttachments(of: imported)\n", "if !$ { moveAttachments(of: imported) }\n", "renameList"),
    ("bytes that come during an upload are not uploaded", SYNC + "Attachments/TaskSync+FinishedTransfers.swift",
     "{ try await lookAgain(path, (try? stamp.get()) ?? nil) }", "{ if !$ { try await lookAgain(path, (try? stamp.get()) ?? nil) } }"),
    ("a directory that can be read again is not looked at", FOLDER + "Events/WatchState.swift",
     "so entries that could not be seen may be visible now.\n            outputs.append", "so entries that could not be seen may be visible now.\n            if !$ { outputs.append"),
]


def fits():
    return [(name, (ROOT / file).read_text().count(old)) for name, file, old, *_ in BREAKS]


def broken_sources():
    """Returns the text of each file with its breaks."""
    texts = {}
    for number, (_, file, old, new, *_) in enumerate(BREAKS):
        text = texts.get(file) or (ROOT / file).read_text()
        new = re.sub(r"\$(?!\d)", f"isBroken({number})", new)
        if "{ outputs.append" in new:  # the statement continues to the end of its line
            line = text.split(old, 1)[1].split("\n", 1)[0]
            old, new = old + line, new + line + " }"
        text = text.replace(old, new, 1)
        if "private func isBroken" not in text:
            text = "import Glibc\n" + text.replace("\nimport Glibc\n", "\n") + (
                "\nprivate let chosenBreak = getenv(\"FERRY_BREAK\").flatMap { Int(String(cString: $0)) }\n"
                "private func isBroken(_ number: Int) -> Bool { chosenBreak == number }\n")
        texts[file] = text
    return texts


def build(scratch, configuration):
    tree, texts = scratch / "tree", broken_sources()
    # Unchanged files keep their times, so that only changed targets are rebuilt.
    subprocess.run(["rsync", "-rlp", "--checksum", "--delete", *(f"--exclude={name}" for name in (".git", ".build", ".venv", "__pycache__")),
                    *(f"--exclude=/{file}" for file in texts), f"{ROOT}/", f"{tree}/"], check=True)
    for file, text in texts.items():
        path = tree / file
        if not path.exists() or path.read_text() != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    subprocess.run(["swift", "build", "-c", configuration, "--product", "simulate", "--scratch-path", str(scratch / "build")],
                   cwd=tree, env=os.environ | {"FERRY_TARGETS": "simulate"}, check=True)
    return scratch / "build" / configuration / "simulate"


class Campaign:
    def __init__(self, scratch, simulate, options):
        self.simulate, self.options, self.path = simulate, options, scratch / "results.json"
        self.lock = threading.Lock()
        self.program = hashlib.sha256(simulate.read_bytes()).hexdigest()
        known = json.loads(self.path.read_text()) if self.path.exists() else {}
        self.results = known.get("results", {})
        self.clean = known.get("clean", {}) if known.get("program") == self.program else {}

    def save(self):
        self.path.with_suffix(".new").write_text(json.dumps(
            {"program": self.program, "results": self.results, "clean": self.clean}, indent=1))
        self.path.with_suffix(".new").replace(self.path)

    def simulation(self, number, arguments, seconds, often):
        """Returns the seed that violates a law, the law (None: none), and the processor time until then."""
        seconds = max(1, int(seconds))
        with subprocess.Popen(
                [self.simulate, "--actions", str(self.options.actions), "--minutes", str(seconds / 60), "--progress",
                 *(["--often", often] if often else []), *arguments],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                env=os.environ | {"FERRY_BREAK": str(number), "SWIFT_DETERMINISTIC_HASHING": "1"},
                # A run that never ends is a detection, too.
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds + 30, seconds + 40))) as process:
            lines = []
            reader = threading.Thread(target=lambda: lines.extend(process.stderr))
            reader.start()
            output = process.stdout.read()
            reader.join()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        spent = usage.ru_utime + usage.ru_stime
        if process.returncode == 0:
            return None, None, spent
        if found := re.search(r"^FAILED seed (\d+): (.*)", output, re.MULTILINE):
            return int(found[1]), found[2], spent
        if process.returncode in (-signal.SIGINT, -signal.SIGTERM, -signal.SIGKILL):
            raise SystemExit("interrupted")
        seeds = [line for line in lines if line.startswith("seed ")]
        return int(seeds[-1].split()[1]) if seeds else None, f"ends with {process.returncode}", spent

    def is_clean(self, seed, often):
        plan = f"{seed} {often}"
        with self.lock:
            known = self.clean.get(plan)
        if known is None:
            known = self.simulation(-1, ["--seeds", str(seed)], 60, often)[1] is None
            with self.lock:
                self.clean[plan] = known
                self.save()
        return known

    def attempt(self, number):
        name, _, old, new, *action = BREAKS[number]
        often = self.options.often or "".join(action)
        text = hashlib.sha256((old + new + often).encode()).hexdigest()
        known = self.results.get(name)
        if known and known["text"] == text and not self.options.again and (
                known["law"] or known["program"] == self.program and known["seconds"] >= self.options.seconds):
            return known
        first, spent, law, seed = self.options.first, 0.0, None, None
        while spent < self.options.seconds:
            seed, law, more = self.simulation(number, ["--first", str(first)], self.options.seconds - spent, often)
            spent += more
            if law is None or (seed is not None and self.simulation(number, ["--seeds", str(seed)], 60, often)[1]
                               and self.is_clean(seed, often)):
                break
            # The unchanged program violates this law as well, or the violation is not deterministic.
            first, law, seed = (seed or first) + 1, None, None
        result = {"law": law, "seed": seed, "seconds": round(spent, 1), "program": self.program, "text": text}
        with self.lock:
            self.results[name] = result
            self.save()
        return result


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("words", nargs="*")
    arguments.add_argument("--list", action="store_true")
    arguments.add_argument("--again", action="store_true")
    arguments.add_argument("--scratch", type=pathlib.Path, default=pathlib.Path("/tmp/ferry-mutations"))
    arguments.add_argument("--configuration", default="release", help="debug is built sooner and runs slower")
    arguments.add_argument("--actions", type=int, default=60, help="of one plan")
    arguments.add_argument("--often", help="an action that comes twenty times as often, in place of a break's own")
    arguments.add_argument("--first", type=int, default=1, help="the first seed")
    arguments.add_argument("--seconds", type=float, default=60)
    arguments.add_argument("--jobs", type=int, default=os.cpu_count())
    options = arguments.parse_args()
    wrong = [f"{name}: {count} places" for name, count in fits() if count != 1]
    if wrong:
        sys.exit("these do not fit the sources: " + "; ".join(wrong))
    if options.list:
        print("\n".join(name for name, *_ in BREAKS))
        return
    options.scratch.mkdir(parents=True, exist_ok=True)
    campaign = Campaign(options.scratch, build(options.scratch, options.configuration), options)
    chosen = [number for number, (name, *_) in enumerate(BREAKS)
              if not options.words or any(word in name for word in options.words)]
    survived = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for number, result in zip(chosen, pool.map(campaign.attempt, chosen)):
            survived += result["law"] is None
            noticed = f"seed {result['seed']}, {result['law'][:80]}" if result["law"] else "**not**"
            print(f"| {BREAKS[number][0]} | {noticed} | {result['seconds']} s |", flush=True)
    print(f"{len(chosen) - survived} caught, {survived} survived")


if __name__ == "__main__":
    main()
