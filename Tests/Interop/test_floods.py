"""Clients that consume a server's resources without a request: others are served, and memory stays bounded."""
import contextlib
import pathlib
import re
import socket
import struct
import urllib.request

import pytest
from conftest import User, started
from harness import until

REST = 128 << 20
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


@pytest.fixture(scope="module")
def own():
    yield from started()


@pytest.fixture
def alice(own):
    return User(own)


def memory(server, field="VmRSS"):
    status = open(f"/proc/{server.process.pid}/status").read()
    return int(re.search(rf"{field}:\s+(\d+)", status).group(1)) << 10


def forget_peak(server):
    """Makes the peak, `VmHWM`, what the server has now."""
    pathlib.Path(f"/proc/{server.process.pid}/clear_refs").write_text("5")


class Others:
    """A client that uses the server in the meantime."""

    def __init__(self, server):
        self.server, self.user = server, User(server)
        self.serve()
        self.rest = memory(server)

    def serve(self):
        assert urllib.request.urlopen(f"{self.server.url}/healthz", timeout=10).read() == b"ok\n"
        document = self.user.db().collection("tasks").document(self.user.id)
        document.set({"userId": self.user.id, "title": "t"}, timeout=10)
        assert document.get(timeout=10).get("title") == "t"

    def check(self):
        self.serve()
        assert memory(self.server) - self.rest < REST

    def check_rest(self):
        """Checks after the flood that most of the memory was returned to the system."""
        until(lambda: memory(self.server) - self.rest < 48 << 20, lambda: f"{memory(self.server)} from {self.rest}", timeout=30)
        self.serve()


@pytest.fixture
def others(own):
    others = Others(own)
    yield others
    others.check_rest()


@contextlib.contextmanager
def connections(address, count, sending=b""):
    host, port = address.rsplit(":", 1)
    with contextlib.ExitStack() as stack:
        opened = []
        for _ in range(count):
            opened.append(stack.enter_context(socket.create_connection((host, int(port)), timeout=10)))
            with contextlib.suppress(OSError):
                opened[-1].sendall(sending)
        yield opened


def web(server):
    return server.url.split("//")[1]


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def literal(text):
    """Encodes a string of HPACK without Huffman coding."""
    text = text.encode()
    if len(text) < 127:
        return bytes([len(text)]) + text
    rest, length = len(text) - 127, b"\x7f"
    while rest > 127:
        length, rest = length + bytes([rest & 127 | 128]), rest >> 7
    return length + bytes([rest]) + text


def fields(method, *more):
    known = [(":method", "POST"), (":scheme", "http"), (":path", f"/google.firestore.v1.Firestore/{method}"),
             (":authority", "x"), ("content-type", "application/grpc"), ("te", "trailers")]
    return b"".join(b"\x00" + literal(name) + literal(value) for name, value in [*known, *more])


def read_all(connection):
    """Reads until the other end closes, and returns the bytes."""
    data = b""
    with contextlib.suppress(OSError):
        while more := connection.recv(1 << 16):
            data += more
    return data


def test_headers_that_never_end(own, others):
    with connections(web(own), 1100, b"GET /healthz HTTP/1.1\r\nHost: x\r\nX: ") as opened:
        others.check()
        assert read_all(opened[0]).startswith(b"HTTP/1.1 408 ")


def test_bodies_that_never_end(own, others):
    head = b"POST /v1/accounts:signUp HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n"
    with connections(web(own), 1100, head + b" " * 50_000) as opened:
        others.check()
        # The response may be lost with the rest of the body.
        assert read_all(opened[0])[:12] in (b"", b"HTTP/1.1 408")


@pytest.mark.parametrize("greeting", [b"", PREFACE + frame(4, 0, 0)], ids=["silent", "greeted"])
def test_connections_without_calls(own, others, greeting):
    with connections(own.documents, 2000, greeting) as opened:
        others.check()
        read_all(opened[0])


def test_headers_that_unpack_to_much(own, others):
    # One field goes into the table; each later byte refers to all of it.
    first = fields("GetDocument") + b"\x40" + literal("x") + literal("v" * 3900)
    later = fields("GetDocument") + b"\xbe" * 8
    flood = PREFACE + frame(4, 0, 0) + frame(4, 1, 0) + frame(1, 4, 1, first)
    flood += b"".join(frame(1, 4, stream, later) for stream in range(3, 8001, 2))
    with connections(own.documents, 3, flood):
        others.check()


def test_messages_that_never_end(own, others):
    flood = PREFACE + frame(4, 0, 0)
    for stream in range(1, 9, 2):
        flood += frame(1, 4, stream, fields("Commit"))
        flood += frame(0, 0, stream, b"\0" + struct.pack(">I", 16 << 20)) + frame(0, 0, stream, bytes(16_000)) * 4
    with connections(own.documents, 20, flood) as opened:
        others.check()
        # Each is refused at its header.
        assert ended_stream(opened[-1]) == 1


def ended_stream(connection):
    """Returns the first stream that the server ends, or None if it closes the connection first."""
    file = connection.makefile("rb")
    while len(head := file.read(9)) == 9:
        file.read(int.from_bytes(head[:3], "big"))
        if head[3] == 1 and head[4] & 1:
            return int.from_bytes(head[5:], "big")
    return None


@pytest.mark.parametrize("method", ["RunQuery", "BatchGetDocuments"])
def test_responses_that_are_not_read(own, alice, others, method):
    from google.cloud.firestore_v1 import types

    db = alice.db()
    for number in range(12):
        db.collection("tasks").document(f"{alice.id}-{number}").set({"userId": alice.id, "notes": "n" * 900_000})
    others.rest = memory(own)
    query = types.StructuredQuery(
        from_=[types.StructuredQuery.CollectionSelector(collection_id="tasks")],
        where=types.StructuredQuery.Filter(field_filter=types.StructuredQuery.FieldFilter(
            field=types.StructuredQuery.FieldReference(field_path="userId"), op="EQUAL",
            value=types.Value(string_value=alice.id))))
    database = "projects/ferry/databases/(default)"
    request = {
        "RunQuery": types.RunQueryRequest(parent=f"{database}/documents", structured_query=query),
        "BatchGetDocuments": types.BatchGetDocumentsRequest(
            database=database, documents=[f"{database}/documents/tasks/{alice.id}-{number}" for number in range(12)]),
    }[method]
    request = type(request).serialize(request)
    call = fields(method, ("authorization", f"Bearer {alice.token}"))
    message = b"\0" + struct.pack(">I", len(request)) + request
    # The window is zero, so no message may be sent.
    first = PREFACE + frame(4, 0, 0, struct.pack(">HI", 4, 0)) + frame(4, 1, 0)
    flood = first + b"".join(frame(1, 4, stream, call) + frame(0, 1, stream, message) for stream in range(1, 201, 2))
    with connections(own.documents, 3, flood) as opened:
        # Most streams that cannot send are refused.
        for connection in opened:
            assert ended_stream(connection)
        others.check()
        alice.db().collection("tasks").document(f"{alice.id}-small").set({"userId": alice.id}, timeout=10)


def part(number, content):
    """A field of a protobuf message that has a length."""
    length, rest = b"", len(content)
    while rest > 127:
        length, rest = length + bytes([rest & 127 | 128]), rest >> 7
    return bytes([number << 3 | 2]) + length + bytes([rest]) + content


def test_a_commit_of_millions_of_values(own, alice, others):
    """It is refused, and what it took is given back even though it took that for less than a second. Of four at a time
    not all are decoded."""
    import grpc

    database = b"projects/ferry/databases/(default)"
    nulls = part(9, part(1, b"\x58\0") * 2_600_000)
    document = part(1, database + b"/documents/tasks/nulls") + part(2, part(1, b"a") + part(2, nulls))
    forget_peak(own)
    with grpc.insecure_channel(own.documents, options=[("grpc.max_send_message_length", -1)]) as channel:
        commit = channel.unary_unary("/google.firestore.v1.Firestore/Commit")
        request = part(1, database) + part(2, part(1, document))
        calls = [commit.future(request, metadata=[("authorization", f"Bearer {alice.token}")]) for _ in range(4)]
        codes = [call.code() for call in calls]
    assert grpc.StatusCode.INVALID_ARGUMENT in codes
    assert set(codes) <= {grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.RESOURCE_EXHAUSTED}, codes
    assert memory(own, "VmHWM") - others.rest < 128 << 20
    others.check()
    until(lambda: memory(own) - others.rest < 32 << 20, lambda: f"{memory(own)} from {others.rest}", timeout=10)


@pytest.mark.parametrize("lengths", [
    "Content-Length: 2\r\nContent-Length: 3", "Content-Length: 2\r\nContent-Length: 2",
    "Content-Length: 4\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
    "Content-Length: 2\r\nHost: y", "Content-Length: 2\r\nX: a\0b", "\0Content-Length: 2"])
def test_an_ambiguous_request_is_the_last_on_its_connection(own, lengths):
    request = f"POST /v1/accounts:signUp HTTP/1.1\r\nHost: x\r\n{lengths}\r\n\r\n0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    with connections(web(own), 1, request.encode()) as (connection,):
        answer = read_all(connection)
        assert answer.startswith(b"HTTP/1.1 400 ") and b"ok\n" not in answer


def test_trailers_that_never_end(own, alice, others):
    keys = alice.storage_keys()
    from botocore.auth import S3SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    class Unsigned(S3SigV4Auth):
        def payload(self, request):
            return "STREAMING-UNSIGNED-PAYLOAD-TRAILER"

    request = AWSRequest("PUT", f"{own.url}/ferry/{alice.id}/t", headers={
        "x-amz-content-sha256": "STREAMING-UNSIGNED-PAYLOAD-TRAILER", "x-amz-decoded-content-length": "1",
        "x-amz-trailer": "x-amz-checksum-crc32", "content-encoding": "aws-chunked"})
    Unsigned(Credentials(keys["AccessKeyId"], keys["SecretAccessKey"], keys["SessionToken"]), "s3", "us-east-1").add_auth(request)
    head = f"PUT /ferry/{alice.id}/t HTTP/1.1\r\nHost: {web(own)}\r\nContent-Length: {4 << 30}\r\n"
    head += "".join(f"{name}: {value}\r\n" for name, value in request.headers.items() if name.lower() != "host")
    with connections(web(own), 1, head.encode() + b"\r\n1\r\na\r\n0\r\n") as (connection,):
        lines = (b"a:" + b"b" * 8000 + b"\r\n") * 64
        with contextlib.suppress(OSError):
            for _ in range(1000):
                connection.sendall(lines)
        others.check()
