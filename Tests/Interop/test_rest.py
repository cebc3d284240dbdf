"""Firestore over REST, as web pages, microcontrollers and REST clients call it, on both ports."""
import json
import socket

import httpx
import pytest
from google.cloud import firestore

from conftest import User

DATABASE = "/v1/projects/ferry/databases/(default)"
DOCUMENTS = DATABASE + "/documents"


def text(value):
    return {"stringValue": value}


class Client:
    def __init__(self, base, token="owner"):
        self.http = httpx.Client(base_url=base, headers={"Authorization": f"Bearer {token}"} if token else {}, timeout=20)

    def call(self, method, path, body=None, **query):
        return self.http.request(method, DOCUMENTS + path, json=body, params=query)

    def ok(self, method, path, body=None, **query):
        answer = self.call(method, path, body, **query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def refused(self, method, path, body=None, **query):
        answer = self.call(method, path, body, **query)
        assert answer.headers["content-type"].startswith("application/json")
        error = answer.json()
        error = (error[0] if isinstance(error, list) else error)["error"]
        assert error["code"] == answer.status_code and error["message"]
        return answer.status_code, error["status"]


@pytest.fixture(params=["http", "documents"])
def client(emulator, request):
    return Client(emulator.url if request.param == "http" else f"http://{emulator.documents}")


def test_documents_are_made_read_changed_and_deleted(client, name, db):
    made = client.ok("POST", f"/{name}", {"fields": {"a": text("x"), "n": {"integerValue": 5}}}, documentId="one")
    assert made["name"].endswith(f"/documents/{name}/one") and made["createTime"] == made["updateTime"]
    assert made["fields"] == {"a": text("x"), "n": {"integerValue": "5"}}
    assert client.refused("POST", f"/{name}", {"fields": {}}, documentId="one") == (409, "ALREADY_EXISTS")
    assert client.ok("GET", f"/{name}/one", **{"mask.fieldPaths": "a"})["fields"] == {"a": text("x")}
    changed = client.ok("PATCH", f"/{name}/one", {"fields": {"b": {"arrayValue": {"values": [{"nullValue": None}]}}}},
                        **{"updateMask.fieldPaths": ["b", "n"]})
    assert set(changed["fields"]) == {"a", "b"}
    assert db.document(f"{name}/one").get().to_dict() == {"a": "x", "b": [None]}
    assert client.refused("PATCH", f"/{name}/two", {"fields": {}}, **{"currentDocument.exists": True})[0] == 404
    assert client.refused("DELETE", f"/{name}/one", **{"currentDocument.updateTime": "2020-01-01T00:00:00Z"}) == (
        400, "FAILED_PRECONDITION")
    assert client.ok("DELETE", f"/{name}/one") == {}
    assert client.refused("GET", f"/{name}/one") == (404, "NOT_FOUND")
    automatic = client.ok("POST", f"/{name}", {})
    assert len(automatic["name"].rsplit("/", 1)[1]) == 20
    odd = client.ok("PATCH", f"/{name}/" + "a%20%C3%BC%3A%25", {"fields": {"a": text("z")}})
    assert odd["name"].endswith("/a ü:%") and db.document(f"{name}/a ü:%").get().to_dict() == {"a": "z"}


def test_lists_have_pages_and_orders(client, name, db):
    for number in range(7):
        db.document(f"{name}/d{number}").set({"n": number})
    first = client.ok("GET", f"/{name}", pageSize=4, orderBy="n desc")
    rest = client.ok("GET", f"/{name}", pageSize=4, orderBy="n desc", pageToken=first["nextPageToken"])
    numbers = [d["fields"]["n"]["integerValue"] for d in first["documents"] + rest["documents"]]
    assert numbers == list("6543210") and "nextPageToken" not in rest
    assert client.ok("GET", f"/{name}none") == {}
    db.document(f"{name}/d0/below/x").set({})
    assert client.ok("POST", f"/{name}/d0:listCollectionIds", {}) == {"collectionIds": ["below"]}


def query(name, **parts):
    return {"structuredQuery": {"from": [{"collectionId": name}], **parts}}


def test_queries_are_one_array(client, name, db):
    batch = db.batch()
    for number in range(400):
        batch.set(db.document(f"{name}/d{number:03}"), {"n": number, "fill": "x" * 500})
    batch.commit()
    everything = client.ok("POST", ":runQuery", query(name))
    assert [r["document"]["fields"]["n"]["integerValue"] for r in everything] == [str(n) for n in range(400)]
    assert all("readTime" in r for r in everything)
    some = client.ok("POST", ":runQuery", query(
        name, where={"fieldFilter": {"field": {"fieldPath": "n"}, "op": "GREATER_THAN", "value": {"integerValue": "396"}}},
        orderBy=[{"field": {"fieldPath": "n"}, "direction": "DESCENDING"}], limit=2,
        select={"fields": [{"fieldPath": "n"}]}))
    assert [r["document"]["fields"] for r in some] == [{"n": {"integerValue": "399"}}, {"n": {"integerValue": "398"}}]
    nothing = client.ok("POST", ":runQuery", query(name + "none"))
    assert len(nothing) == 1 and set(nothing[0]) == {"readTime"}
    aggregated = client.ok("POST", ":runAggregationQuery", {"structuredAggregationQuery": {
        **query(name), "aggregations": [{"alias": "c", "count": {}}, {"alias": "s", "sum": {"field": {"fieldPath": "n"}}},
                                        {"alias": "a", "avg": {"field": {"fieldPath": "n"}}}]}})
    assert aggregated[0]["result"]["aggregateFields"] == {
        "c": {"integerValue": "400"}, "s": {"integerValue": "79800"}, "a": {"doubleValue": 199.5}}
    assert client.refused("POST", ":runQuery", query(name, where={"fieldFilter": {
        "field": {"fieldPath": "n"}, "op": "IN", "value": {"integerValue": "1"}}})) == (400, "INVALID_ARGUMENT")
    explained = client.ok("POST", ":runQuery", {**query(name, limit=1), "explainOptions": {"analyze": True}})
    assert explained[-1]["explainMetrics"]["executionStats"]["resultsReturned"] == "1"
    parts = client.ok("POST", ":partitionQuery", {"partitionCount": "2", "structuredQuery": {
        "from": [{"collectionId": name, "allDescendants": True}], "orderBy": [{"field": {"fieldPath": "__name__"}}]}})
    cursors = [p["values"][0]["referenceValue"].rsplit("/", 2)[1] for p in parts["partitions"]]
    assert 1 <= len(cursors) <= 2 and set(cursors) == {name}


def test_transactions_and_batches(client, name, db):
    path = f"projects/ferry/databases/(default)/documents/{name}"
    transaction = client.ok("POST", ":beginTransaction", {"options": {"readWrite": {}}})["transaction"]
    got = client.ok("POST", ":batchGet", {"documents": [f"{path}/a", f"{path}/b"], "transaction": transaction})
    assert sorted(r["missing"] for r in got) == [f"{path}/a", f"{path}/b"]
    committed = client.ok("POST", ":commit", {"transaction": transaction, "writes": [
        {"update": {"name": f"{path}/a", "fields": {"n": {"integerValue": "1"}}}, "currentDocument": {"exists": False}},
        {"transform": {"document": f"{path}/a", "fieldTransforms": [
            {"fieldPath": "n", "increment": {"integerValue": "4"}},
            {"fieldPath": "at", "setToServerValue": "REQUEST_TIME"}]}}]})
    assert len(committed["writeResults"]) == 2 and committed["commitTime"]
    assert db.document(f"{name}/a").get().get("n") == 5
    other = client.ok("POST", ":batchGet", {"documents": [f"{path}/a"], "newTransaction": {"readOnly": {}}})
    assert other[0]["transaction"] and other[1]["found"]["fields"]["n"] == {"integerValue": "5"}
    assert client.ok("POST", ":rollback", {"transaction": other[0]["transaction"]}) == {}
    batch = client.ok("POST", ":batchWrite", {"writes": [
        {"update": {"name": f"{path}/c", "fields": {}}},
        {"update": {"name": f"{path}/a", "fields": {}}, "currentDocument": {"exists": False}}]})
    assert batch["status"] == [{}, {"code": 6, "message": batch["status"][1]["message"]}]


@pytest.mark.parametrize("body", [
    b"{", b"[]", b'{"writes": 1}', b'{"nonsense": 1}', b'{"writes": [{"update": {"fields": {"a": {"b": 1}}}}]}',
    b'{"writes": [{}]}', b'{"a": ' * 1000, b'"\xff"', b'{"transaction": "***"}',
    b'{"writes": [{"delete": "projects/other/databases/(default)/documents/a/b"}]}'])
def test_bad_bodies_are_refused(client, body):
    answer = client.http.post(DOCUMENTS + ":commit", content=body)
    assert answer.status_code == 400 and answer.json()["error"]["status"] == "INVALID_ARGUMENT"


def test_large_bodies_are_refused(client):
    answer = client.http.post(DOCUMENTS + ":commit", content=b" " * (11 << 20))
    assert answer.status_code == 400 and "limit" in answer.json()["error"]["message"]


@pytest.mark.parametrize("call", [
    ("POST", ":listen", 501), ("POST", ":write", 501), ("POST", ":executePipeline", 400), ("GET", "", 404),
    ("PUT", "/a/b", 404), ("POST", ":unknown", 404), ("GET", "/a/b/c%2Fd", 404)])
def test_what_is_not_offered_is_named(client, call):
    method, path, status = call
    assert client.refused(method, path, {} if method == "POST" else None)[0] == status


def test_the_rules_and_tokens_decide(server):
    """Nothing is read for a caller without a token, and nothing shown to one without the right."""
    ann, bob = User(server), User(server)
    path = f"projects/ferry/databases/(default)/documents/users/{ann.id}"
    for base in (server.url, f"http://{server.documents}"):
        nobody, wrong, his, hers = (Client(base, token) for token in (None, "x.y.z", bob.token, ann.token))
        assert nobody.refused("POST", ":runQuery", query("tasks")) == (401, "UNAUTHENTICATED")
        assert nobody.http.post(DOCUMENTS + ":commit", content=b"not json").status_code == 401
        assert wrong.refused("GET", f"/users/{ann.id}") == (401, "UNAUTHENTICATED")
        assert Client(base, "owner").refused("GET", f"/users/{ann.id}") == (401, "UNAUTHENTICATED")
        mine = {"fields": {"userId": text(ann.id), "title": text("milk")}}
        hers.ok("PATCH", f"/tasks/{ann.id}1", mine)
        assert his.refused("GET", f"/tasks/{ann.id}1") == (403, "PERMISSION_DENIED")
        assert his.refused("PATCH", f"/tasks/{ann.id}1", mine) == (403, "PERMISSION_DENIED")
        assert his.refused("POST", ":runQuery", query("tasks")) == (403, "PERMISSION_DENIED")
        assert his.refused("POST", ":partitionQuery", query("tasks"))[0] == 403
        assert his.http.delete("/emulator" + DOCUMENTS).status_code == 404
        owned = {"fieldFilter": {"field": {"fieldPath": "userId"}, "op": "EQUAL", "value": text(ann.id)}}
        found = hers.ok("POST", ":runQuery", query("tasks", where=owned))
        assert [r["document"]["name"].rsplit("/", 1)[1] for r in found] == [f"{ann.id}1"]


def test_pages_of_other_sites_may_call(client, name):
    asked = client.http.options(f"{DOCUMENTS}/{name}", headers={
        "Origin": "https://app.example", "Access-Control-Request-Method": "PATCH",
        "Access-Control-Request-Headers": "authorization,content-type"})
    assert asked.status_code == 204 and asked.headers["access-control-allow-origin"] == "*"
    assert "PATCH" in asked.headers["access-control-allow-methods"]
    assert asked.headers["access-control-allow-headers"] == "authorization,content-type"
    for path, status in ((f"{DOCUMENTS}/{name}", 200), (f"{DOCUMENTS}/{name}/none", 404)):
        answer = client.http.get(path, headers={"Origin": "https://app.example"})
        assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (status, "*")


def test_the_emulator_is_cleared(emulator, name):
    other = f"projects/p{name}/databases/(default)/documents"
    client = Client(f"http://{emulator.documents}")
    for number in range(3):
        assert client.http.patch(f"/v1/{other}/a/d{number}/b/x", json={"fields": {}}).status_code == 200
    assert client.http.delete(f"/emulator/v1/{other}").json() == {}
    left = client.http.post(f"/v1/{other}:runQuery", json={"structuredQuery": {"from": [{"allDescendants": True}]}})
    assert [set(r) for r in left.json()] == [{"readTime"}]


def test_googles_client_speaks_rest(emulator, name):
    """The official library's REST transport, which nobody here wrote, at the address of the documents."""
    from google.auth.credentials import AnonymousCredentials
    from google.cloud.firestore_admin_v1.services.firestore_admin import client as _  # noqa: F401
    from google.cloud.firestore_v1.services.firestore import client as service
    from google.cloud.firestore_v1.services.firestore.transports.rest import FirestoreRestTransport

    transport = FirestoreRestTransport(
        host=emulator.documents, credentials=AnonymousCredentials(), url_scheme="http")
    transport._session.headers["Authorization"] = "Bearer owner"
    client = firestore.Client(project="ferry", credentials=AnonymousCredentials())
    client._firestore_api_internal = service.FirestoreClient(transport=transport)
    documents = client.collection(name)
    value = {"a": [1, 2.5, None, True, "ü", b"\x00\xff"], "m": {"k": {"z": -0.0}}, "g": firestore.GeoPoint(1, 2)}
    documents.document("one").set(value)
    assert documents.document("one").get().to_dict() == value
    documents.document("one").update({"a": firestore.ArrayUnion([3]), "n": firestore.Increment(2)})
    documents.add({"n": 7})
    assert sorted(d.get("n") for d in documents.stream()) == [2, 7]
    assert documents.count().get()[0][0].value == 2
    assert [d.id for d in documents.where(filter=firestore.FieldFilter("n", "<", 5)).stream()] == ["one"]

    @firestore.transactional
    def add(transaction):
        number = documents.document("one").get(transaction=transaction).get("n")
        transaction.update(documents.document("one"), {"n": number + 1})

    add(client.transaction())
    assert documents.document("one").get().get("n") == 3
    assert [c.id for c in client.collections() if c.id == name] == [name]
    batch = client.bulk_writer()
    batch.create(documents.document("two"), {"n": 1})
    batch.close()
    assert documents.document("two").get().exists


def test_the_documents_address_tells_the_protocols_apart(emulator, name, db):
    """Both protocols on one port at once, and a client that says nothing."""
    host, port = emulator.documents.rsplit(":", 1)
    with socket.create_connection((host, int(port))) as silent, httpx.Client() as http:
        db.document(f"{name}/a").set({"n": 1})
        for _ in range(20):
            answer = http.get(f"http://{emulator.documents}{DOCUMENTS}/{name}/a", headers={"Authorization": "Bearer owner"})
            assert answer.status_code == 200
            assert db.document(f"{name}/a").get().get("n") == 1
        silent.settimeout(20)
        silent.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert silent.recv(100).startswith(b"HTTP/1.1 200")


def test_json_numbers_stay_exact(client, name):
    big = {"fields": {"i": {"integerValue": str(2**63 - 1)}, "d": {"doubleValue": 0.1}, "x": {"doubleValue": "-Infinity"}}}
    answer = client.ok("PATCH", f"/{name}/a", big)
    assert answer["fields"] == big["fields"] and json.dumps(answer)
