#!/usr/bin/env python3
"""Plays a day of faults on the cluster of Examples/cluster, while clients write to it through its proxy and listen to its servers.

    FERRY_BIN=.build/release .venv/bin/python Tests/EndToEnd/cluster_faults.py --minutes 30 --seed 7
    FERRY_BIN=.build/release .venv/bin/python Tests/EndToEnd/cluster_faults.py --minutes 90 kill_server=50 kill_postgres=50 cut_leader=5

Programs are killed and paused, and the links of machines are cut: each database and each server has a network namespace of its own.
Each commit of a writer creates an entry and updates the writer's counter. At the end no acknowledged commit may be missing, and
none may have a time at or before that of one that was acknowledged before it began. The listeners resume on the other server whenever
theirs is away; the times that they see must not fall, and what they have must be what is stored. For each fault the longest time
is taken that a writer had no commit acknowledged, until each has had one that it began after the fault. Needs root. The exit status is 1 if anything is wrong.
"""
import argparse
import collections
import http.client
import json
import os
import random
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import grpc
from google.api_core.exceptions import GoogleAPICallError
from google.cloud.firestore_v1.services.firestore.transports import FirestoreGrpcTransport
from google.cloud.firestore_v1.types import ListenRequest, RunQueryRequest, Target

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "Examples" / "cluster"))
from cluster import NODES, SERVERS, Cluster, Failure, start_time, until  # noqa: E402

NETWORK = "10.77.0"
PARENT = "projects/ferry/databases/(default)/documents"
WRITERS = 6
BACK = 30  # Seconds within which clients must write again.


def ip(*words):
    subprocess.run(["ip", *words], check=True)


class Network:
    """A bridge, on which the proxy, etcd and the store of attachments are, and namespaces of the other parts."""

    def __init__(self, names, address):
        ip("link", "set", "lo", "up")
        ip("link", "add", "bridge", "type", "bridge")
        ip("link", "set", "bridge", "up")
        for name in ("proxy", "etcd", "objects"):
            ip("address", "add", f"{address[name]}/24", "dev", "bridge")
        self.holders, self.prefixes, self.links = [], {}, {}
        for number, name in enumerate(names):
            # The process holds the namespace. It ends with its standard input, and so with this program.
            holder = subprocess.Popen(["unshare", "-n", "sh", "-c", "ip link set lo up; echo up; exec cat"],
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            holder.stdout.readline()
            self.holders.append(holder)
            self.prefixes[name] = ["nsenter", f"--net=/proc/{holder.pid}/ns/net"]
            self.links[name] = f"link{number}"
            ip("link", "add", f"link{number}", "type", "veth", "peer", "name", "eth", "netns", str(holder.pid))
            ip("link", "set", f"link{number}", "master", "bridge", "up")
            inside = [*self.prefixes[name], "ip"]
            subprocess.run([*inside, "address", "add", f"{address[name]}/24", "dev", "eth"], check=True)
            subprocess.run([*inside, "link", "set", "eth", "up"], check=True)

    def cut(self, name):
        ip("link", "set", self.links[name], "down")

    def mend(self, name):
        ip("link", "set", self.links[name], "up")

    def close(self):
        for holder in self.holders:
            holder.stdin.close()
            holder.wait()


class Account:
    """An account, and calls of the REST interface in its name through the proxy."""

    def __init__(self, cluster, number):
        self.cluster, self.number = cluster, number
        self.context = ssl.create_default_context(cafile=cluster.authority)
        self.id = self.token = self.connection = None

    def call(self, path, body, timeout=10):
        if not self.connection:
            self.connection = http.client.HTTPSConnection(
                self.cluster.address["proxy"], 7443, timeout=timeout, context=self.context)
        headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {self.token}"} if self.token else {})}
        try:
            self.connection.request("POST", path, json.dumps(body), headers)
            response = self.connection.getresponse()
            content = response.read()
            return response.status, json.loads(content) if content[:1] in (b"{", b"[") else {}
        except (OSError, http.client.HTTPException, ValueError):
            self.connection.close()
            self.connection = None
            return None, {}

    def sign_in(self, operation="signInWithPassword"):
        body = {"email": f"user{self.number}@example.org", "password": "correct horse battery", "returnSecureToken": True}
        status, account = self.call(f"/v1/accounts:{operation}?key=k", body)
        if status == 200:
            self.id, self.token = account["localId"], account["idToken"]
        return status == 200


class Writer(threading.Thread):
    """Commits one after the other. `acknowledged` has the number, the begin, the end and the time of each."""

    def __init__(self, cluster, number, enough):
        super().__init__(daemon=True)
        self.account, self.number, self.enough = Account(cluster, number), number, enough
        self.attempted, self.acknowledged, self.refusals = 0, [], collections.Counter()

    def run(self):
        while not self.enough.wait(0.03):
            self.attempted += 1
            fields = {"userId": {"stringValue": self.account.id}, "n": {"integerValue": str(self.attempted)}}
            names = f"{PARENT}/tasks/counter-{self.number}", f"{PARENT}/entries/{self.number}-{self.attempted}"
            begin = time.monotonic()
            status, answer = self.account.call(
                f"/v1/{PARENT}:commit", {"writes": [{"update": {"name": name, "fields": fields}} for name in names]})
            if status == 200:
                self.acknowledged.append((self.attempted, begin, time.monotonic(), answer["commitTime"]))
                continue
            self.refusals[status] += 1
            if status == 401:
                self.account.sign_in()

    def has_written_since(self, moment):
        return bool(self.acknowledged) and self.acknowledged[-1][1] > moment

    def longest_pause(self, since):
        """Returns the longest time in seconds between two acknowledgements, of which the later one came after `since`."""
        ends = [end for _, _, end, _ in reversed(self.acknowledged[-20_000:])]
        return max(later - max(earlier, since) for later, earlier in zip(ends, ends[1:]) if later > since)


class Listener(threading.Thread):
    """Listens to the counter of one writer at one of the servers, and at the other one after each loss of its stream."""

    def __init__(self, cluster, writer, place, enough):
        super().__init__(daemon=True)
        self.cluster, self.writer, self.place, self.enough = cluster, writer, place, enough
        self.faults, self.streams, self.changes = [], 0, 0
        self.read_time, self.token, self.held, self.stream = None, None, {}, None

    def run(self):
        while not self.enough.is_set():
            address = self.cluster.address[f"server-{SERVERS[self.place % 2]}"]
            self.place += 1
            options = [("grpc.keepalive_time_ms", 10_000), ("grpc.keepalive_timeout_ms", 5_000),
                       ("grpc.use_local_subchannel_pool", 1), ("grpc.initial_reconnect_backoff_ms", 200)]
            with grpc.insecure_channel(f"{address}:7440", options=options) as channel:
                try:
                    grpc.channel_ready_future(channel).result(timeout=2)
                    self.listen(channel)
                except (grpc.RpcError, grpc.FutureTimeoutError, GoogleAPICallError):
                    self.enough.wait(0.1)

    def listen(self, channel):
        query = {"from_": [{"collection_id": "tasks"}], "where": {"field_filter": {
            "field": {"field_path": "userId"}, "op": "EQUAL", "value": {"string_value": self.writer.account.id}}}}
        target = Target(query={"parent": PARENT, "structured_query": query}, target_id=1)
        if self.token:
            target.resume_token = self.token
        ended = threading.Event()

        def requests():
            yield ListenRequest(database=PARENT.rpartition("/")[0], add_target=target)
            ended.wait()

        self.streams += 1
        try:
            call = FirestoreGrpcTransport(channel=channel).listen
            self.stream = call(requests(), metadata=[("authorization", f"Bearer {self.writer.account.token}")])
            for response in self.stream:
                self.take(response)
        finally:
            ended.set()

    def take(self, response):
        change, deleted = response.target_change, response.document_delete
        match response._pb.WhichOneof("response_type"):
            case "document_change":
                document = response.document_change.document
                before = self.held.get(document.name)
                if before and document.update_time < before[0]:
                    self.faults.append(f"{document.name} went from {before[0]} back to {document.update_time}")
                self.held[document.name] = document.update_time, document.fields["n"].integer_value
                self.changes += 1
            case "document_delete" | "document_remove":
                self.faults.append(f"{deleted.document or response.document_remove.document} was removed")
            case "target_change":
                if change.target_change_type.name == "RESET":
                    self.held = {}
                if change.target_change_type.name == "REMOVE":
                    self.token = None
                if change.resume_token:
                    self.token = change.resume_token
                if not change.target_ids and change.read_time:
                    if self.read_time and change.read_time < self.read_time:
                        self.faults.append(f"the time fell from {self.read_time} to {change.read_time}")
                    self.read_time = change.read_time

    def has_seen(self, number):
        return any(n == number for _, n in self.held.values())


class Day:
    """The faults. Each returns what it did, and leaves everything running or started again."""

    def __init__(self, cluster, network, writers, chance):
        self.cluster, self.network, self.writers, self.chance = cluster, network, writers, chance

    def server(self):
        return f"server-{self.chance.choice(SERVERS)}"

    def leader(self):
        return until(self.cluster.leader, "a leader")

    def await_other(self, former):
        """Waits until another database leads. There may be none that is known to have all commits; then the former one goes on."""
        try:
            until(lambda: self.cluster.leader() not in (None, former), "another leader", timeout=45)
        except Failure as error:
            print(f"         {error}", flush=True)

    def processes(self, name):
        """The processes of a node: Patroni, and PostgreSQL with its children."""
        found = [self.cluster.programs[name].pid, self.cluster.postmaster(name)]
        for pid in filter(None, list(found)):
            for task in Path(f"/proc/{pid}/task").glob("*/children"):
                found += map(int, task.read_text().split())
        return sorted(set(filter(None, found)))

    def kill_server(self):
        name = self.server()
        self.cluster.programs[name].stop(signal.SIGKILL)
        time.sleep(self.chance.random())
        self.cluster.programs[name].start()

    def kill_postgres(self):
        os.kill(self.cluster.postmaster(self.leader()), signal.SIGKILL)

    def kill_patroni(self):
        name = self.leader()
        self.cluster.programs[name].stop(signal.SIGKILL)
        # Seldom it stays away for so long that another one leads while its PostgreSQL still takes itself for the leader.
        time.sleep(self.chance.choice([0.5, 1, 2, 23]))
        self.cluster.programs[name].start()

    def kill_node(self):
        name = self.leader()
        postmaster = self.cluster.postmaster(name)
        self.cluster.programs[name].stop(signal.SIGKILL)
        os.kill(postmaster, signal.SIGKILL)
        self.await_other(name)
        self.cluster.programs[name].start()

    def kill_standby(self):
        roles = self.cluster.roles()
        name = self.chance.choice([name for name, role in roles.items() if role in ("sync", "standby")])
        os.kill(self.cluster.postmaster(name), signal.SIGKILL)

    def pause_server(self):
        name = self.server()
        self.cluster.programs[name].send(signal.SIGSTOP)
        time.sleep(self.chance.uniform(2, 14))
        self.cluster.programs[name].send(signal.SIGCONT)

    def pause_leader(self):
        name = self.leader()
        stopped = [(pid, start_time(pid)) for pid in self.processes(name)]
        for pid, _ in stopped:
            os.kill(pid, signal.SIGSTOP)
        self.await_other(name)
        time.sleep(self.chance.uniform(0, 8))
        for pid, started in stopped:
            if start_time(pid) == started:
                os.kill(pid, signal.SIGCONT)

    def cut_leader(self):
        name = self.leader()
        self.network.cut(name)
        self.await_other(name)
        time.sleep(self.chance.uniform(0, 8))
        self.network.mend(name)

    def cut_server(self):
        name = self.server()
        self.network.cut(name)
        time.sleep(self.chance.uniform(2, 14))
        self.network.mend(name)

    def is_whole(self):
        roles = sorted(self.cluster.roles().values())
        return roles == ["leader", "standby", "sync"] and all(
            self.cluster.get(self.cluster.address[f"server-{number}"], 7441, "/healthz") == 200 for number in SERVERS)

    def await_whole(self):
        """Waits until everything runs, and Patroni has had time to choose a synchronous standby anew."""
        whole = [None]

        def lasts():
            whole[0] = (whole[0] or time.monotonic()) if self.is_whole() else None
            return whole[0] and time.monotonic() - whole[0] > 2.5

        until(lasts, "everything to run", timeout=120, step=0.2)

    def play(self, kind):
        """Plays one fault. Returns the longest time in seconds for which a writer had no commit acknowledged that it began then."""
        self.await_whole()
        begin = time.monotonic()
        getattr(self, kind)()
        end = time.monotonic()
        until(lambda: all(writer.has_written_since(end) for writer in self.writers), "commits of all", 180, 0.05)
        return max(writer.longest_pause(begin) for writer in self.writers)


KINDS = ["kill_server", "kill_postgres", "kill_patroni", "kill_node", "kill_standby", "pause_server", "pause_leader",
         "cut_leader", "cut_server"]


def examine(cluster, writers, listeners):
    """Returns what is wrong at the end."""
    wrong, lost = [], 0
    commits = sorted((ack for writer in writers for ack in writer.acknowledged), key=lambda ack: ack[1])
    with grpc.insecure_channel(f"{cluster.address['server-1']}:7440", options=[("grpc.max_receive_message_length", -1)]) as channel:
        for writer in writers:
            writer.account.sign_in()
            metadata = [("authorization", f"Bearer {writer.account.token}")]
            stored = {}
            for collection in ("tasks", "entries"):
                query = {"from_": [{"collection_id": collection}], "where": {"field_filter": {
                    "field": {"field_path": "userId"}, "op": "EQUAL", "value": {"string_value": writer.account.id}}}}
                for answer in FirestoreGrpcTransport(channel=channel).run_query(
                        RunQueryRequest(parent=PARENT, structured_query=query), metadata=metadata):
                    if answer.document.name:
                        document = answer.document
                        stored[collection, document.fields["n"].integer_value] = document.update_time
            for number, _, _, when in writer.acknowledged:
                if ("entries", number) not in stored:
                    lost += 1
                    wrong.append(f"commit {number} of writer {writer.number} at {when} is missing")
            # A commit that its writer gave up may still be applied, also after the next one.
            [counter] = [number for collection, number in stored if collection == "tasks"]
            newest = max(when for (collection, _), when in stored.items() if collection == "entries")
            if not stored["tasks", counter] == stored.get(("entries", counter)) == newest or counter > writer.attempted:
                wrong.append(f"the counter of writer {writer.number} is {counter}, which is not that of its newest entry")
            for listener in listeners:
                if listener.writer is writer:
                    until(lambda: listener.has_seen(counter), lambda: f"a listener, which has {listener.held}, to see {counter}", 90)
    # A commit that began after another one was acknowledged must have a later time.
    ended = sorted(commits, key=lambda ack: ack[2])
    newest, place, reordered = "", 0, 0
    for _, begin, _, when in commits:
        while place < len(ended) and ended[place][2] < begin:
            newest, place = max(newest, padded(ended[place][3])), place + 1
        if padded(when) <= newest:
            reordered += 1
            wrong.append(f"a commit at {when} began after one at {newest} was acknowledged")
    falls = [fault for listener in listeners for fault in listener.faults]
    print(f"\n{len(commits)} commits acknowledged, {lost} lost, {reordered} reordered; {sum(l.changes for l in listeners)} changes seen by "
          f"{len(listeners)} listeners in {sum(l.streams for l in listeners)} streams, {len(falls)} out of order")
    return wrong + falls


def padded(time):
    """Returns a time with nine digits of fraction, so that times compare as strings."""
    whole, _, fraction = time.rstrip("Z").partition(".")
    return f"{whole}.{fraction:0<9}"


def run(arguments, root):
    chance = random.Random(arguments.seed)
    addresses = Cluster(root, NETWORK).address
    names = [*(f"postgres-{node}" for node in NODES), *(f"server-{number}" for number in SERVERS)]
    network = Network(names, addresses)
    cluster = Cluster(root, NETWORK, network.prefixes)
    enough, quiet = threading.Event(), threading.Event()
    times = collections.defaultdict(list)
    try:
        cluster.start()
        writers = [Writer(cluster, number, enough) for number in range(WRITERS)]
        for writer in writers:
            until(lambda: writer.account.sign_in("signUp"), "an account")
        listeners = [Listener(cluster, writer, place, quiet) for place, writer in enumerate(writers)]
        listeners += [Listener(cluster, writer, place + 1, quiet) for place, writer in enumerate(writers)]
        for thread in [*writers, *listeners]:
            thread.start()
        day = Day(cluster, network, writers, chance)
        end = time.monotonic() + arguments.minutes * 60
        counts = dict(counted(fault, arguments.count) for fault in arguments.faults)
        while time.monotonic() < end and any(len(times[kind]) < count for kind, count in counts.items()):
            for kind, count in counts.items():
                if len(times[kind]) >= count or time.monotonic() > end:
                    continue
                times[kind].append(day.play(kind))
                print(f"{time.strftime('%H:%M:%S')} {kind:14} {len(times[kind]):3} all clients wrote again after {times[kind][-1]:5.1f} s",
                      flush=True)
        day.await_whole()
        enough.set()
        for writer in writers:
            writer.join()
        wrong = examine(cluster, writers, listeners)
        quiet.set()
        print("fault             times   longest pause of a client in seconds: median, worst")
        for kind, seconds in times.items():
            ordered = sorted(seconds)
            print(f"{kind:16} {len(seconds):6}   {ordered[len(ordered) // 2]:.1f}, {ordered[-1]:.1f}")
            if ordered[-1] > BACK:
                wrong.append(f"after {kind} clients wrote again only after {ordered[-1]:.1f} s")
        print("answers to other commits:", dict(sum((writer.refusals for writer in writers), collections.Counter())))
        print("\n".join(wrong) or "nothing is wrong")
        return 1 if wrong else 0
    finally:
        enough.set()
        quiet.set()
        for name in names:
            network.mend(name)
        cluster.stop()
        network.close()


def counted(fault, default):
    """Returns the kind of a fault, and how often it is to be played."""
    kind, _, count = fault.partition("=")
    return kind, int(count or default)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30, help="the longest that faults are played")
    parser.add_argument("--count", type=int, default=50, help="how often each is played at most")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", help="a directory for all data and logs, which is not removed")
    parser.add_argument("faults", nargs="*", default=KINDS, metavar="FAULT[=COUNT]", help=f"the faults: {', '.join(KINDS)}")
    arguments = parser.parse_args()
    if unknown := [fault for fault in arguments.faults if counted(fault, 0)[0] not in KINDS]:
        parser.error(f"there is no fault {unknown[0]}")
    if "FERRY_CLUSTER_NETWORK" not in os.environ:
        os.execvpe("unshare", ["unshare", "-n", sys.executable, *sys.argv], {**os.environ, "FERRY_CLUSTER_NETWORK": "1"})
    root = arguments.keep or tempfile.mkdtemp(prefix="ferry-cluster-")
    try:
        return run(arguments, root)
    except Failure as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        if not arguments.keep:
            shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
