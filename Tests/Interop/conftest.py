"""Fixtures for Google's and Amazon's own clients against `ferry-server`.

`emulator` is a server as FIRESTORE_EMULATOR_HOST requires it, `server` one as users run it. Both live as long as the tests.
With FERRY_TEST_DATABASE=postgresql their documents are in PostgreSQL.
"""
import contextlib
import json
import os
import sys
import tempfile
import urllib.error
import urllib.request
import uuid
from pathlib import Path

import boto3
import pytest
from botocore.config import Config

sys.path.insert(0, str(Path(__file__).parent.parent / "EndToEnd"))
from harness import BIN, PASSWORD, Server  # noqa: E402
from postgres import Postgres  # noqa: E402


def started(*options):
    with tempfile.TemporaryDirectory(prefix="ferry-") as directory:
        database = None
        if os.environ.get("FERRY_TEST_DATABASE") == "postgresql":
            database = Postgres(Path(directory) / "postgres").start()
            options = ("--database", database.url, *options)
        server = Server(Path(directory), *options)
        server.start()
        yield server
        server.stop()
        if database:
            database.stop()


@pytest.fixture(scope="session")
def emulator():
    yield from started("--emulator")


@pytest.fixture(scope="session")
def server():
    yield from started()


@pytest.fixture(scope="session")
def db(emulator):
    """The official client, as a developer uses it with the emulator."""
    from google.cloud import firestore

    os.environ["FIRESTORE_EMULATOR_HOST"] = emulator.documents
    try:
        return firestore.Client(project="ferry")
    finally:
        del os.environ["FIRESTORE_EMULATOR_HOST"]


@pytest.fixture
def service(emulator):
    service = Service(emulator)
    yield service
    service.close()


@pytest.fixture
def name():
    """A collection or prefix that no other test uses."""
    return "t" + uuid.uuid4().hex[:12]


@pytest.fixture
def collection(db, name):
    return db.collection(name)


class Refused(Exception):
    def __init__(self, status, body):
        super().__init__(f"{status}: {body}")
        self.status, self.body = status, body
        self.message = body.get("error", {}).get("message", "") if isinstance(body, dict) else body


def call(url, body=None, headers=None, method=None):
    """Sends and receives JSON; raises Refused if the status is not a success."""
    request = urllib.request.Request(
        url, data=None if body is None else json.dumps(body).encode(), method=method,
        headers={"Content-Type": "application/json", **(headers or {})})
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.loads(answer.read())
    except urllib.error.HTTPError as error:
        text = error.read().decode()
        try:
            raise Refused(error.code, json.loads(text)) from None
        except json.JSONDecodeError:
            raise Refused(error.code, text) from None


class User:
    """An account that has signed up at a server."""

    def __init__(self, server, **credentials):
        self.server = server
        answer = call(f"{server.url}/v1/accounts:signUp?key=any", {"returnSecureToken": True, **credentials})
        self.id, self.token, self.refresh_token = answer["localId"], answer["idToken"], answer["refreshToken"]

    def storage_keys(self, token=None, **parameters):
        """Returns credentials from STS, requested by Amazon's client."""
        from botocore import UNSIGNED

        sts = boto3.client("sts", endpoint_url=self.server.url, region_name="us-east-1",
                           config=Config(signature_version=UNSIGNED))
        return sts.assume_role_with_web_identity(
            RoleArn="arn:aws:iam::000000000000:role/ferry", RoleSessionName="test", WebIdentityToken=token or self.token,
            **parameters)["Credentials"]

    def s3(self):
        keys = self.storage_keys()
        return s3_client(self.server, keys["AccessKeyId"], keys["SecretAccessKey"], keys["SessionToken"])

    def db(self, token=None):
        """Returns the official client with this user's ID token, over the protocol that the daemon uses."""
        return firestore_client(self.server.documents, token or self.token)


def firestore_client(address, token, compression=None):
    """Returns the official client on a plaintext channel with a bearer token (None: no token). compression: a grpc.Compression."""
    import grpc
    from google.auth.credentials import AnonymousCredentials
    from google.cloud import firestore
    from google.cloud.firestore_v1.services.firestore import client as service
    from google.cloud.firestore_v1.services.firestore.transports import grpc as transport

    class Bearer(grpc.UnaryUnaryClientInterceptor, grpc.UnaryStreamClientInterceptor, grpc.StreamStreamClientInterceptor):
        def intercept(self, go, details, request):
            metadata = list(details.metadata or []) + ([("authorization", f"Bearer {token}")] if token else [])
            return go(_Details(details, metadata), request)

        intercept_unary_unary = intercept_unary_stream = intercept_stream_stream = intercept

    class _Details(grpc.ClientCallDetails):
        def __init__(self, details, metadata):
            self.method, self.timeout, self.credentials = details.method, details.timeout, details.credentials
            self.wait_for_ready, self.compression, self.metadata = details.wait_for_ready, details.compression, metadata

    channel = grpc.intercept_channel(grpc.insecure_channel(address, compression=compression), Bearer())
    client = firestore.Client(project="ferry", credentials=AnonymousCredentials())
    client._firestore_api_internal = service.FirestoreClient(
        transport=transport.FirestoreGrpcTransport(channel=channel))
    return client


class Service:
    """Calls of the service with their messages, or with arbitrary bytes, which the clients' libraries would not send."""

    STREAMING = {"BatchGetDocuments", "RunQuery", "RunAggregationQuery", "ExecutePipeline"}
    ANSWERS = {"GetDocument": "Document", "CreateDocument": "Document", "UpdateDocument": "Document"}

    def __init__(self, server, token="owner"):
        import grpc

        unlimited = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
        self.channel = grpc.insecure_channel(server.documents, options=unlimited)
        self.metadata = [("authorization", f"Bearer {token}")]

    def call(self, method, message=None, timeout=30, **fields):
        """Returns the response, or a list of them for a stream. `message` is the request as bytes, instead of its fields."""
        from google.cloud.firestore_v1 import types

        if message is None:
            request = getattr(types, f"{method}Request")
            message = request.serialize(request(**fields))
        answer = getattr(types, self.ANSWERS.get(method, f"{method}Response"), None)
        decode = answer.deserialize if answer else bytes
        path = f"/google.firestore.v1.Firestore/{method}"
        start = self.channel.unary_stream if method in self.STREAMING else self.channel.unary_unary
        answers = start(path, response_deserializer=decode)(message, metadata=self.metadata, timeout=timeout)
        return list(answers) if method in self.STREAMING else answers

    def __getattr__(self, method):
        return lambda message=None, **fields: self.call(method, message, **fields)

    def close(self):
        self.channel.close()


@contextlib.contextmanager
def refused(code, words=""):
    """Checks that the body fails with this status, and that its message contains these words."""
    import grpc

    with pytest.raises(grpc.RpcError) as error:
        yield error
    assert (error.value.code(), words in error.value.details()) == (getattr(grpc.StatusCode, code), True), error.value


class Stream:
    """A Listen or Write stream at the level of messages, as the mobile clients use it."""

    def __init__(self, server, method, token="owner"):
        import queue

        import grpc
        from google.cloud.firestore_v1 import types

        self.request, response = getattr(types, f"{method}Request"), getattr(types, f"{method}Response")
        self.requests = queue.Queue()
        self.channel = grpc.insecure_channel(server.documents)
        call = self.channel.stream_stream(
            f"/google.firestore.v1.Firestore/{method}",
            request_serializer=lambda message: message if isinstance(message, bytes) else self.request.serialize(message),
            response_deserializer=response.deserialize)
        self.call = call(iter(self.requests.get, None), metadata=[("authorization", f"Bearer {token}")], timeout=60,
                         wait_for_ready=True)

    def send(self, **fields):
        self.requests.put(self.request(**fields))

    def send_bytes(self, message):
        self.requests.put(message)

    def next(self):
        return next(self.call)

    def close(self):
        self.requests.put(None)
        self.call.cancel()
        self.channel.close()


def s3_client(server, key, secret, token=None, **config):
    return boto3.client(
        "s3", endpoint_url=server.url, aws_access_key_id=key, aws_secret_access_key=secret, aws_session_token=token,
        region_name="us-east-1",
        config=Config(s3={"addressing_style": "path"}, retries={"max_attempts": 1}, signature_version="s3v4", **config))


def administrator_keys(server, label="tests"):
    import subprocess

    added = subprocess.run([str(BIN / "ferry-server"), "keys", "add", label, "--data", str(server.data)], capture_output=True, text=True)
    assert added.returncode == 0, added
    values = dict(line.split("=", 1) for line in added.stdout.split())
    return values["AWS_ACCESS_KEY_ID"], values["AWS_SECRET_ACCESS_KEY"]


def working_keys(server, label="tests"):
    """Returns an administrator's keys that the server knows already: a running server learns of new ones by a signal."""
    from harness import until

    keys = administrator_keys(server, label)
    client = s3_client(server, *keys)

    def works():
        try:
            return client.list_buckets()
        except client.exceptions.ClientError:
            return None

    until(works, "the new key to be known")
    return keys


@pytest.fixture(scope="session")
def s3(server):
    """Amazon's client with an administrator's key."""
    return s3_client(server, *working_keys(server))


@pytest.fixture
def user(server):
    return User(server)


@pytest.fixture
def other(server):
    return User(server)
