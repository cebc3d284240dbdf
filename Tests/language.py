#!/usr/bin/env python3
"""Checks the language of comments in Swift and C sources.

In the directories of CONVERTED a comment line is at most 120 columns wide, a documentation comment starts with what the
declaration is or does, and neither comments nor identifiers use the words that this project has replaced. A directory is
added to CONVERTED by the change that converts it.

    Tests/language.py            checks CONVERTED, prints each finding, and exits with 1 if there is one
    Tests/language.py PATH...    checks these files and directories
    python3 -m unittest Tests/language_test.py
"""
import re
import sys
from pathlib import Path
from typing import NamedTuple

TOP = Path(__file__).resolve().parent.parent
WIDTH = 120
CONVERTED = [
    "Sources/Accounts", "Sources/C/CDeflate", "Sources/C/CGear", "Sources/C/CISAL", "Sources/C/CLinux",
    "Sources/C/COpenSSL", "Sources/C/CSQLite", "Sources/C/CSystemd", "Sources/C/CYAML", "Sources/C/CZlib",
    "Sources/Control", "Sources/Documents/DocumentClient", "Sources/Documents/DocumentStore",
    "Sources/Documents/FirestoreServer", "Sources/Documents/PostgresStore", "Sources/Model",
    "Sources/Objects/BucketStore", "Sources/Objects/ObjectStorage", "Sources/Objects/S3Server", "Sources/Programs",
    "Sources/System/CivilTime", "Sources/System/CommandLineTool", "Sources/System/Compression",
    "Sources/System/Cryptography", "Sources/System/GRPCClient", "Sources/System/GRPCProtocol",
    "Sources/System/GRPCServer", "Sources/System/HTTPClient", "Sources/System/HTTPMessages",
    "Sources/System/HTTPServer", "Sources/System/JSON", "Sources/System/MessageBus", "Sources/System/PostgreSQL",
    "Sources/System/RegularExpressions", "Sources/System/SQLite", "Sources/System/SystemIO",
    "Sources/System/SystemService", "Sources/System/Ustar", "Sources/System/XML", "Sources/System/YAML",
    "Sources/Tasks", "Tests/AccessControlTests", "Tests/AccountClientTests",
    "Tests/Benchmark", "Tests/BucketStoreTests", "Tests/CivilTimeTests", "Tests/CommandLineToolTests",
    "Tests/CompressionTests", "Tests/ControlTests", "Tests/CryptographyTests", "Tests/DocumentClientTests",
    "Tests/DocumentModelTests", "Tests/DocumentStoreTestKit", "Tests/DocumentStoreTests", "Tests/EndToEnd",
    "Tests/FerryCLITests", "Tests/FerryDaemonTests", "Tests/FerryServerTests", "Tests/FirestoreProtocolTests",
    "Tests/FirestoreServerTests", "Tests/Fuzz", "Tests/GRPCClientTests", "Tests/GRPCProtocolTests",
    "Tests/GRPCServerTests", "Tests/GRPCTestKit", "Tests/HTTPClientTests", "Tests/HTTPMessagesTests",
    "Tests/HTTPServerTests", "Tests/HTTPTestKit", "Tests/IdentityProtocolTests", "Tests/IdentityServerTests",
    "Tests/IdentityTestKit", "Tests/JSONTests", "Tests/MergeTests", "Tests/MessageBusTests", "Tests/ObjectStorageTests",
    "Tests/ObjectStoreTestKit", "Tests/ReconciliationTestKit", "Tests/ReconciliationTests", "Tests/ReconciliationTool",
    "Tests/PostgreSQLTests", "Tests/PostgresStoreTests", "Tests/PostgresTestKit", "Tests/RegularExpressionsTests",
    "Tests/RulesLanguageTests", "Tests/S3ServerTests", "Tests/SQLiteTests", "Tests/SecurityRulesTests",
    "Tests/ServerDataTests", "Tests/Simulation", "Tests/SystemIOTests", "Tests/SystemServiceTests",
    "Tests/TaskFolderTests", "Tests/TaskModelTests", "Tests/UstarTests", "Tests/XMLTests", "Tests/YAMLTests",
]
SUFFIXES = {".swift", ".h", ".c"}

# A documentation comment that starts with one of these is a fragment: it needs the declaration's name to be a sentence.
FRAGMENT = re.compile(
    r"(?:About|Above|According|After|Against|Along|Amid|Among|Around|As|At|Because|Before|Behind|Below|Beneath|Beside|Besides|"
    r"Between|Beyond|By|Despite|Down|During|Except|For|From|In|Inside|Into|Like|Near|Of|Off|On|Onto|Out|Outside|Over|Past|Per|"
    r"Since|Through|Throughout|To|Toward|Towards|Under|Until|Unlike|Up|Upon|Via|With|Within|Without)\b"
    # "In-memory storage", "Per-account limits" and "Up-to-date copy" are noun phrases.
    r"(?!-)")
RIDDLE = re.compile(r"(?:Answers?|How|That|What|Where|Which|Who|Whom|Whose|Why)\b")

# Words, and what to write instead.
WORDS = {
    r"nobody|no one|somebody|someone|anybody|anyone|everybody|whoever": "the noun: caller, user, client, reader",
    r"who (?:asks|sleeps|waits|wakes|wants)": "the noun: the caller that waits",
    r"whose (?:it|they|this|that|an? \w+|the \w+) (?:is|are|was|were)": "the owner of, to which it belongs",
    r"under way": "in flight, in progress",
    r"made anew|anew": "recreated, again",
    r"(?:tells?|told) (?:(?!which|how|apart)\w+ ){0,2}of": "reports, is notified",
    r"by itself": "automatically",
    r"so many|so much": "at most N, the number of",
    r"condemn(?:s|ed|ing)?|acquit(?:s|ted|ting)?": "marked for deletion, unmark",
    r"gives? back space|given back space": "reclaim space",
    r"bound anew|bind anew": "re-adopted",
    r"in touch(?: with)?": "connected to",
    r"all the same": "nevertheless",
    r"\w*(?:behaviour|colour|favour|honour|neighbour)\w*|\w*(?:initialis|organis|recognis|serialis|synchronis)\w+":
        "the American spelling",
    r"put aside|puts aside": "quarantined",
    r"left beside": "orphaned",
    r"claimants?": "requester",
    r"FERRY_ROOMS": "FERRY_TARGETS",
}
BANNED = [(re.compile(rf"\b(?:{words})\b", re.IGNORECASE), instead) for words, instead in WORDS.items()]

# Identifiers, and what to call them.
IDENTIFIERS = {
    "FolderEventSettler": "EventDebouncer", "SettledChange": "DebouncedChange", "NameBook": "NameAllocator",
    "TaskFacts": "TaskIndexEntry", "giveBackSpace": "reclaimSpace", "SegmentClearance": "SegmentCompaction",
    "ChunkMarks": "ChunkFingerprints", "GatheringQueue": "RequestBatcher", "SharedHashing": "HashBatcher",
    "exclusively": "withExclusiveAccess", "WakeUp": "AsyncSignal", "Wakeup": "AsyncSignal",
    "ChangeSignal": "AsyncSignal", "Handover": "OwnedBuffer", "StoredTransfer": "FinishedTransfer",
    "takeStored": "recordFinished…", "Surroundings": "Environment", "dispensedTargets": "refusedOptionalTargets",
}
IDENTIFIER = re.compile(rf"\b(?:{'|'.join(map(re.escape, IDENTIFIERS))})\b")


class Comment(NamedTuple):
    number: int
    column: int
    text: str
    """The comment with its slashes, or "" for a line without one."""


def comments(source):
    """Yields each line of the source as (code, Comment). Slashes inside string literals start no comment."""
    closing = None
    block = False
    for number, line in enumerate(source.splitlines(), 1):
        index, start = 0, None
        if block:
            end = line.find("*/")
            block = end < 0
            yield "" if block else line[end + 2:], Comment(number, 0, line if block else line[:end + 2])
            continue
        while index < len(line):
            if closing:
                if line.startswith("\\" + "#" * closing.count("#"), index) and not line.startswith(closing, index):
                    index += 2 + closing.count("#")
                elif line.startswith(closing, index):
                    index += len(closing)
                    closing = None
                else:
                    index += 1
                continue
            opening = re.match(r'(#*)("""|")', line[index:])
            if opening:
                closing = opening[2] + opening[1]
                index += len(opening[0])
            elif line.startswith("'", index) and (character := re.match(r"'(?:\\.|[^\\'])+'", line[index:])):
                index += len(character[0])
            elif line.startswith("//", index):
                start = index
                break
            elif line.startswith("/*", index):
                start = index
                block = "*/" not in line[index:]
                break
            else:
                index += 1
        if closing and not closing.startswith('"""'):
            closing = None  # A literal of one line ends with its line, whatever the scanner made of it.
        yield (line, Comment(number, 0, "")) if start is None else (line[:start], Comment(number, start, line[start:]))


def findings(source):
    """Yields (line number, what is wrong) for one file."""
    in_documentation = False
    for (code, comment), line in zip(comments(source), source.splitlines()):
        if comment.text and len(line) > WIDTH:
            yield comment.number, f"comment is {len(line)} columns wide, at most {WIDTH}"
        documentation = comment.text.startswith("///") and not code.strip()
        text = comment.text.lstrip("/*! ")
        if documentation and not in_documentation:
            if FRAGMENT.match(text):
                yield comment.number, f"documentation starts with the preposition '{text.split()[0]}'"
            elif RIDDLE.match(text):
                yield comment.number, f"documentation starts with '{text.split()[0]}' instead of a noun or a verb"
        # Code blocks, text between backquotes, and the names of parameters are no prose.
        prose = "" if comment.text.startswith("///     ") else re.sub(r"`[^`]*`|^- \w+:", "", text)
        for words, instead in BANNED:
            if found := words.search(prose):
                yield comment.number, f"'{found[0]}': write {instead}"
        if found := IDENTIFIER.search(code):
            yield comment.number, f"{found[0]} is called {IDENTIFIERS[found[0]]}"
        in_documentation = documentation


def main(arguments):
    tops = [Path(argument).resolve() for argument in arguments] or [TOP / directory for directory in CONVERTED]
    wrong = 0
    for top in tops:
        files = [top] if top.is_file() else [file for file in sorted(top.rglob("*")) if file.suffix in SUFFIXES]
        if not files:
            wrong += 1
            print(f"{top}: no sources there")
        for file in files:
            for number, message in findings(file.read_text()):
                wrong += 1
                print(f"{file.relative_to(TOP) if TOP in file.parents else file}:{number}: {message}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
