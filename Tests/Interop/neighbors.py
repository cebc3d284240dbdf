"""Measures the effect of a caller at its limits on others: 200 connections of one account use everything that they may, at once.

    FERRY_BIN=.build/release .venv/bin/python Tests/Interop/neighbors.py

Meanwhile another account gets a document and puts an object. Prints the 99th percentile of its response times with an otherwise idle
server and during the flood, and their ratio, which should be at most 3 on a quiet machine. Fails if a request of the other account is
not answered, or if the flood reached no limit; never for a time.
"""
import collections
import contextlib
import socket
import statistics
import struct
import sys
import threading
import time

from conftest import User, started
from test_floods import PREFACE, fields, frame

CONNECTIONS = 200
SAMPLES = 400


def flood_of(user):
    """Opens one connection's part of the flood: streams, queries with unread responses, transactions, an unfinished message."""
    from google.cloud.firestore_v1 import types

    database = "projects/ferry/databases/(default)"
    field = types.StructuredQuery.FieldFilter(
        field=types.StructuredQuery.FieldReference(field_path="userId"), op="EQUAL", value=types.Value(string_value=user.id))
    query = types.RunQueryRequest(parent=f"{database}/documents", structured_query=types.StructuredQuery(
        from_=[types.StructuredQuery.CollectionSelector(collection_id="tasks")],
        where=types.StructuredQuery.Filter(field_filter=field)))
    begin = types.BeginTransactionRequest(database=database)
    listen = types.ListenRequest(database=database, add_target=types.Target(query=types.Target.QueryTarget(
        parent=query.parent, structured_query=query.structured_query)))
    stream, flood = 1, PREFACE + frame(4, 0, 0, struct.pack(">HI", 4, 0)) + frame(4, 1, 0)
    calls = [("RunQuery", query, 1), ("BeginTransaction", begin, 1), ("Listen", listen, 0)] * 5
    for method, request, flags in calls:
        body = type(request).serialize(request)
        flood += frame(1, 4, stream, fields(method, ("authorization", f"Bearer {user.token}")))
        flood += frame(0, flags, stream, b"\0" + struct.pack(">I", len(body)) + body)
        stream += 2
    flood += frame(1, 4, stream, fields("Commit", ("authorization", f"Bearer {user.token}")))
    return flood + frame(0, 0, stream, b"\0" + struct.pack(">I", 8 << 20) + bytes(16_000))


def read(connection, ends):
    """Counts the calls that the server ends. Each of them was refused, as no response may be sent."""
    with contextlib.suppress(OSError):
        file = connection.makefile("rb")
        while len(head := file.read(9)) == 9:
            file.read(int.from_bytes(head[:3], "big"))
            if head[3] == 1 and head[4] & 1:
                ends["calls ended at a limit"] += 1
    ends["connections closed"] += 1


def sample(user):
    """Returns the milliseconds that a get and a put take, SAMPLES times each."""
    document = user.db().collection("tasks").document(user.id)
    document.set({"userId": user.id, "title": "t"}, timeout=30)
    storage = user.s3()
    gets, puts = [], []
    for number in range(SAMPLES):
        start = time.perf_counter()
        assert document.get(timeout=30).get("title") == "t"
        gets.append((time.perf_counter() - start) * 1000)
        start = time.perf_counter()
        storage.put_object(Bucket="ferry", Key=f"{user.id}/{number % 10}", Body=b"x" * 1000)
        puts.append((time.perf_counter() - start) * 1000)
    return {"get": gets, "put": puts}


def percentile(values):
    return statistics.quantiles(values, n=100)[98]


def main():
    programs = started()
    server = next(programs)
    greedy, other = User(server), User(server)
    for number in range(12):
        greedy.db().collection("tasks").document(f"big{number}").set({"userId": greedy.id, "notes": "n" * 900_000})
    idle = sample(other)
    host, port = server.documents.rsplit(":", 1)
    flood, ends = flood_of(greedy), collections.Counter()
    with contextlib.ExitStack() as stack:
        for _ in range(CONNECTIONS):
            connection = stack.enter_context(socket.create_connection((host, int(port)), timeout=60))
            threading.Thread(target=read, args=(connection, ends), daemon=True).start()
            with contextlib.suppress(OSError):
                connection.sendall(flood)
        beside = sample(other)
        open_connections = CONNECTIONS - ends["connections closed"]
    for name in idle:
        before, after = percentile(idle[name]), percentile(beside[name])
        print(f"{name}: p99 {before:.1f} ms idle, {after:.1f} ms beside the flood, ratio {after / before:.1f}; all answered")
    print(f"flood: {open_connections} of {CONNECTIONS} connections stayed open; {dict(ends)}")
    assert ends["calls ended at a limit"] > 0, "the flood met no limit"
    next(programs, None)
    return 0


if __name__ == "__main__":
    sys.exit(main())
