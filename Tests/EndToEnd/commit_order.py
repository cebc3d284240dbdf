#!/usr/bin/env python3
"""Writes through two servers on one PostgreSQL while listeners at both move between them, and checks the order of what they see.

    FERRY_BIN=.build/release .venv/bin/python Tests/EndToEnd/commit_order.py --minutes 10

Four writers, two at each server, create, change and delete the same documents of one user, several in a commit. Four listeners
resume at the other server every few seconds. No listener's time may fall, nor that of a document. What a listener is told of must
be what a writer has committed, with that commit's time; each boundary must show each commit as a whole; and in the end each
listener must have what is stored. The exit status is 1 if anything is wrong.
"""
import argparse
import collections
import json
import random
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

import grpc
from google.api_core.exceptions import GoogleAPICallError
from google.cloud.firestore_v1.services.firestore.transports import FirestoreGrpcTransport
from google.cloud.firestore_v1.types import CommitRequest, ListenRequest, RunQueryRequest, Target, Write

from harness import PASSWORD, Server, until
from postgres import Postgres

DATABASE = "projects/ferry/databases/(default)"
PARENT = f"{DATABASE}/documents"
DOCUMENTS = 40


def query(user):
    return {"from_": [{"collection_id": "tasks"}], "where": {"field_filter": {
        "field": {"field_path": "userId"}, "op": "EQUAL", "value": {"string_value": user}}}}


class Account:
    def __init__(self, server):
        body = json.dumps({"email": "me@example.org", "password": PASSWORD, "returnSecureToken": True}).encode()
        request = urllib.request.Request(f"{server.url}/v1/accounts:signUp", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=30) as response:
            account = json.load(response)
        self.id, self.metadata = account["localId"], [("authorization", f"Bearer {account['idToken']}")]


class Writer(threading.Thread):
    """Commits pairs of documents with the same number. `commits` has the time of each, and the documents it left by name."""

    def __init__(self, server, account, number, enough):
        super().__init__(daemon=True)
        self.server, self.account, self.number, self.enough = server, account, number, enough
        self.chance, self.commits, self.failed = random.Random(number), {}, []

    def run(self):
        round = 0
        with grpc.insecure_channel(self.server.documents) as channel:
            commit = FirestoreGrpcTransport(channel=channel).commit
            while not self.enough.wait(self.chance.uniform(0, 0.02)):
                round += 1
                value, pair = f"{self.number}-{round}", self.chance.randrange(DOCUMENTS)
                names = [f"{PARENT}/tasks/{pair}-{side}" for side in "ab"]
                deletes = self.chance.random() < 0.2
                fields = {"userId": {"string_value": self.account.id}, "value": {"string_value": value}}
                writes = [Write(delete=name) if deletes else Write(update={"name": name, "fields": fields}) for name in names]
                try:
                    answer = commit(CommitRequest(database=DATABASE, writes=writes), metadata=self.account.metadata)
                    self.commits[answer.commit_time] = pair, None if deletes else value
                except GoogleAPICallError as error:
                    self.failed.append(str(error))


class Listener(threading.Thread):
    def __init__(self, servers, place, account, chance, enough):
        super().__init__(daemon=True)
        self.servers, self.place, self.account, self.chance, self.enough = servers, place, account, chance, enough
        self.token = self.read_time = self.call = None
        self.held, self.times, self.seen = {}, {}, {}
        self.faults, self.streams, self.boundaries, self.pending = [], 0, 0, []

    def run(self):
        while not self.enough.is_set():
            with grpc.insecure_channel(self.servers[self.place % 2].documents) as channel:
                self.listen(channel)
            self.place += 1

    def listen(self, channel):
        target = Target(query={"parent": PARENT, "structured_query": query(self.account.id)}, target_id=1)
        if self.token:
            target.resume_token = self.token
        ended = threading.Event()

        def requests():
            yield ListenRequest(database=DATABASE, add_target=target)
            ended.wait()

        self.streams += 1
        # Changes count from the boundary that follows them. The next stream begins at the last boundary.
        self.pending = []
        self.call = FirestoreGrpcTransport(channel=channel).listen(requests(), metadata=self.account.metadata)
        timer = threading.Timer(self.chance.uniform(0.5, 6), self.call.cancel)
        timer.start()
        try:
            for response in self.call:
                self.take(response)
        except (GoogleAPICallError, grpc.RpcError):
            pass
        finally:
            timer.cancel()
            ended.set()

    def take(self, response):
        kind = response._pb.WhichOneof("response_type")
        if kind == "document_change":
            document = response.document_change.document
            self.pending.append((document.name, document.update_time, document.fields["value"].string_value))
        elif kind in ("document_delete", "document_remove"):
            change = response.document_delete if kind == "document_delete" else response.document_remove
            self.pending.append((change.document, change.read_time, None))
        elif kind == "target_change":
            change = response.target_change
            if change.target_change_type.name == "RESET":
                self.held, self.times, self.pending = {}, {}, []
            if change.resume_token:
                self.token = change.resume_token
            if not change.target_ids and change.read_time:
                if self.read_time and change.read_time < self.read_time:
                    self.faults.append(f"the time fell from {self.read_time} to {change.read_time}")
                self.read_time = change.read_time
                for change in self.pending:
                    self.note(*change)
                self.pending = []
                self.check_pairs()

    def note(self, name, when, value):
        if when < self.times.get(name, when):
            self.faults.append(f"{name} went from {self.times[name]} back to {when}")
        self.times[name] = when
        if value is None:
            self.held.pop(name, None)
        else:
            self.held[name] = value
            self.seen[name, when] = value

    def check_pairs(self):
        """At a boundary both documents of a pair are those of one commit."""
        self.boundaries += 1
        for pair in range(DOCUMENTS):
            one, other = (self.held.get(f"{PARENT}/tasks/{pair}-{side}") for side in "ab")
            if one != other:
                self.faults.append(f"at {self.read_time} the pair {pair} is {one} and {other}")


def examine(servers, account, writers, listeners):
    """Returns what is wrong at the end."""
    commits, wrong = {}, []
    for writer in writers:
        wrong += [f"a commit failed: {text}" for text in writer.failed[:3]]
        for when, commit in writer.commits.items():
            if when in commits:
                wrong.append(f"two commits have the time {when}")
            commits[when] = commit
    newest = {}
    for when in sorted(commits):
        pair, value = commits[when]
        for side in "ab":
            newest[f"{PARENT}/tasks/{pair}-{side}"] = value
    wanted = {name: value for name, value in newest.items() if value}
    for server in servers:
        with grpc.insecure_channel(server.documents) as channel:
            request = RunQueryRequest(parent=PARENT, structured_query=query(account.id))
            answers = FirestoreGrpcTransport(channel=channel).run_query(request, metadata=account.metadata)
            stored = {a.document.name: a.document.fields["value"].string_value for a in answers if a.document.name}
        if stored != wanted:
            wrong.append(f"{server.documents} has {len(stored)} documents that are not those of the newest commits")
    for listener in listeners:
        try:
            until(lambda: listener.held == wanted, "a listener to have everything", timeout=60, step=0.1)
        except AssertionError as error:
            wrong.append(str(error))
        for (name, when), value in listener.seen.items():
            pair, committed = commits.get(when, (None, None))
            if committed != value or name.rpartition("/")[2][:-2] != str(pair):
                wrong.append(f"{name} was seen at {when} as {value}, which was not committed then")
    return wrong + [fault for listener in listeners for fault in listener.faults]


def run(minutes, seed, root):
    database = Postgres(root / "postgres").start()
    servers, enough, quiet = [], threading.Event(), threading.Event()
    try:
        for name in "ab":
            (root / name).mkdir()
            servers.append(Server(root / name, "--database", database.url, "--url", "https://tasks.example.org", "--sign-up", "open"))
            servers[-1].start()
            servers[-1].documents = until(lambda: address(servers[-1], "documents"), "the address")
            servers[-1].url = f"http://{address(servers[-1], 'http')}"
        account = Account(servers[0])
        writers = [Writer(servers[number % 2], account, number, enough) for number in range(4)]
        listeners = [Listener(servers, number, account, random.Random(f"{seed} {number}"), quiet) for number in range(4)]
        for thread in [*writers, *listeners]:
            thread.start()
        time.sleep(minutes * 60)
        enough.set()
        for writer in writers:
            writer.join()
        wrong = examine(servers, account, writers, listeners)
        quiet.set()
        counts = collections.Counter(len(writer.commits) for writer in writers)
        print(f"{sum(count * times for count, times in counts.items())} commits, {sum(len(l.seen) for l in listeners)} changes seen by "
              f"{len(listeners)} listeners in {sum(l.streams for l in listeners)} streams with {sum(l.boundaries for l in listeners)} boundaries")
        print("\n".join(wrong[:20]) or "nothing is wrong")
        return 1 if wrong else 0
    finally:
        enough.set()
        quiet.set()
        for server in servers:
            server.stop()
        database.stop()


def address(server, name):
    """Returns an address from the log of a server behind a proxy."""
    for line in server.log.read_text().splitlines():
        if "127.0.0.1" in line:
            if line.startswith("{"):
                return json.loads(line)[name]
            if f"{name}=" in line:
                return line.split(f"{name}=", 1)[1].split()[0].strip('"')
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ferry-") as root:
        sys.exit(run(arguments.minutes, arguments.seed, Path(root)))


if __name__ == "__main__":
    main()
