"""Lists that two accounts share: all their content is on both sides, and nothing else; and the state after the sharing ends."""
import json
import os
import sqlite3
import subprocess
import urllib.error
import urllib.request

import boto3
import pytest
from botocore import UNSIGNED
from botocore.config import Config
from botocore.exceptions import ClientError

from harness import BIN, Machine, PASSWORD, agree, until


@pytest.fixture
def households(root, server):
    """Anna's machine and Bob's, each with its own list."""
    pair = []
    for name in ("anna", "bob"):
        machine = Machine(root, name)
        machine.start()
        machine.login(server, email=f"{name}@example.org", create=True)
        machine.write("Private.md", f"{name} alone\n")
        pair.append(machine)
    yield pair
    for machine in pair:
        if machine.daemon.running:
            machine.stop()


def there(machine, path, text):
    until(lambda: machine.read(path) == text, lambda: f"{path} on {machine.name}: {machine.read(path)!r}\n{machine.status()}\n{machine.daemon.tail()}")


@pytest.fixture
def shared(households):
    anna, bob = households
    anna.write("Groceries/Milk.md", "---\npriority: high\n---\noat\n")
    anna.write("Work/Secret.md", "not for Bob\n")
    anna.sync()
    assert "invited bob@example.org" in anna.ferry("share", "groceries", "bob@example.org")
    accept(bob)
    there(bob, "Groceries/Milk.md", "---\npriority: high\n---\noat\n")
    return anna, bob


def invitations(machine):
    return machine.json("invitations")["invitations"]


def accept(machine, number="1"):
    until(lambda: machine.status()["invitations"] > 0, machine.daemon.tail)
    return machine.ferry("invitations", "accept", number)


def groceries(machine):
    return {name: data for name, data in machine.files().items() if name.startswith("Groceries/")}


def same(anna, bob):
    for machine in (anna, bob):
        machine.sync()
    until(lambda: groceries(anna) == groceries(bob),
          lambda: f"{groceries(anna)}\n{groceries(bob)}\n{anna.daemon.tail(10)}\n{bob.daemon.tail(10)}")


def test_both_read_and_write_a_shared_list_and_nothing_else(shared):
    anna, bob = shared
    assert not (bob.tasks / "Work").exists() and anna.read("Private.md") == "anna alone\n" and bob.read("Private.md") == "bob alone\n"
    # The member creates, changes, renames, completes and deletes tasks.
    bob.write("Groceries/Bread.md", "rye\n")
    there(anna, "Groceries/Bread.md", "rye\n")
    bob.write("Groceries/Milk.md", "---\npriority: high\n---\noat\ntwo bottles\n")
    there(anna, "Groceries/Milk.md", "---\npriority: high\n---\noat\ntwo bottles\n")
    (bob.tasks / "Groceries/Bread.md").rename(bob.tasks / "Groceries/Rye bread.md")
    there(anna, "Groceries/Rye bread.md", "rye\n")
    anna.ferry("done", "Milk")
    until(lambda: "completed: true" in (bob.read("Groceries/Milk.md") or ""), bob.daemon.tail)
    bob.ferry("rm", "Rye bread")
    until(lambda: anna.read("Groceries/Rye bread.md") is None, anna.daemon.tail)
    anna.ferry("restore", "Rye bread")
    there(bob, "Groceries/Rye bread.md", "rye\n")
    same(anna, bob)
    lists = {entry["name"]: entry for entry in bob.json("lists")["lists"]}
    assert lists["Groceries"]["owner"] == "anna@example.org" and "Work" not in lists
    assert {entry["name"]: entry for entry in anna.json("lists")["lists"]}["Groceries"]["sharedWith"] == ["bob@example.org"]
    for machine in shared:
        assert not machine.status()["problems"], machine.status()


def test_independent_changes_are_merged_and_shown_to_both(shared):
    anna, bob = shared
    bob.ferry("pause")
    anna.write("Groceries/Milk.md", "---\npriority: low\n---\noat\n")
    anna.sync()
    bob.write("Groceries/Milk.md", "---\npriority: medium\n---\noat\nor soy\n")
    until(lambda: bob.status()["pendingUp"] > 0, bob.status)
    bob.ferry("resume")
    same(anna, bob)
    assert anna.read("Groceries/Milk.md") == "---\npriority: medium\n---\noat\nor soy\n"
    for machine in shared:
        until(lambda: machine.status()["conflicts"] == 1, lambda: f"{machine.name} {machine.status()}")
        (entry,) = machine.json("history", "Milk")["history"]
        assert entry["displaced"] == "low"
    bob.ferry("conflicts", "theirs", "Milk")
    until(lambda: "priority: low" in anna.read("Groceries/Milk.md"), anna.daemon.tail)
    until(lambda: anna.status()["conflicts"] == 0, anna.status)


def test_attachments_of_a_shared_list_sync_both_ways(shared, root):
    anna, bob = shared
    (anna.tasks / "Groceries/Milk.files").mkdir()
    ours, theirs = os.urandom(300_000), os.urandom(2_000_000)
    (anna.tasks / "Groceries/Milk.files/label.jpg").write_bytes(ours)
    (anna.tasks / "Groceries/Milk.files/label.jpg").chmod(0o755)
    until(lambda: groceries(bob).get("Groceries/Milk.files/label.jpg") == ours, lambda: f"{bob.status()} {bob.daemon.tail()}")
    # A file from another person is not executable without the user's consent.
    assert (bob.tasks / "Groceries/Milk.files/label.jpg").stat().st_mode & 0o111 == 0
    (bob.tasks / "Groceries/Milk.files/receipt.pdf").write_bytes(theirs)
    (bob.tasks / "Groceries/Milk.files/receipt.pdf").chmod(0o755)
    until(lambda: groceries(anna).get("Groceries/Milk.files/receipt.pdf") == theirs, lambda: f"{anna.status()} {anna.daemon.tail()}")
    # Nor is a file from a member on the machine of the list's owner.
    assert (anna.tasks / "Groceries/Milk.files/receipt.pdf").stat().st_mode & 0o111 == 0
    same(anna, bob)


def test_attachments_of_a_deleted_account_stay_with_the_tasks_of_others(shared, server, root):
    anna, bob = shared
    content, copied = os.urandom(3_000_000), os.urandom(5_000)
    (bob.tasks / "Groceries/Milk.files").mkdir()
    (bob.tasks / "Groceries/Milk.files/label.jpg").write_bytes(content)
    (bob.tasks / "Groceries/Milk.files/small.txt").write_bytes(copied)
    (bob.tasks / "Private.files").mkdir()
    (bob.tasks / "Private.files/own.bin").write_bytes(os.urandom(400_000))
    same(anna, bob)
    until(lambda: groceries(anna).get("Groceries/Milk.files/label.jpg") == content, anna.daemon.tail)
    user = bob.json("whoami")["account"]["userId"]
    bob.stop()
    subprocess.run([BIN / "ferry-server", "user", "delete", user, "--yes", "--data", server.data], check=True)
    index = sqlite3.connect(f"file:{server.data}/objects/index.db?mode=ro", uri=True)
    (left,) = index.execute("SELECT sum(size) FROM object WHERE key LIKE ?", (f"{user}/%",)).fetchone()
    assert 3_000_000 <= left < 3_200_000, "only what Anna's task references"
    fresh = Machine(root, "fresh")
    fresh.start()
    fresh.login(server, email="anna@example.org")
    until(lambda: groceries(fresh).get("Groceries/Milk.files/label.jpg") == content, fresh.daemon.tail)
    until(lambda: groceries(fresh).get("Groceries/Milk.files/small.txt") == copied, fresh.daemon.tail)
    fresh.stop()


def keys(server, machine):
    """Returns a client of the objects with the keys of an account, and the account's id."""
    session = json.load(urllib.request.urlopen(urllib.request.Request(
        f"{server.url}/v1/accounts:signInWithPassword?key=x", headers={"Content-Type": "application/json"},
        data=json.dumps({"email": f"{machine}@example.org", "password": PASSWORD, "returnSecureToken": True}).encode())))
    answer = boto3.client("sts", endpoint_url=server.url, region_name="us-east-1", config=Config(signature_version=UNSIGNED)).assume_role_with_web_identity(
        RoleArn="arn:ferry:iam:::role/user", RoleSessionName="test", WebIdentityToken=session["idToken"])["Credentials"]
    return boto3.client("s3", endpoint_url=server.url, region_name="us-east-1", aws_access_key_id=answer["AccessKeyId"],
                        aws_secret_access_key=answer["SecretAccessKey"], aws_session_token=answer["SessionToken"]), session["localId"]


def test_only_what_the_shared_list_references_can_be_read(server, shared):
    anna, bob = shared
    for path in ("Groceries/Milk.files", "Work/Secret.files"):
        (anna.tasks / path).mkdir()
    (anna.tasks / "Groceries/Milk.files/label.bin").write_bytes(os.urandom(5_000_000))
    (anna.tasks / "Work/Secret.files/plan.bin").write_bytes(os.urandom(3_000_000))
    anna.sync()
    (hers, her_id), (his, _) = keys(server, "anna"), keys(server, "bob")
    everything = {entry["Key"]: entry["Size"] for entry in hers.list_objects_v2(Bucket="ferry", Prefix=her_id + "/")["Contents"]}

    def readable():
        found = set()
        for key in everything:
            try:
                his.head_object(Bucket="ferry", Key=key)
                his.get_object(Bucket="ferry", Key=key, Range="bytes=0-9")
                found.add(key)
            except ClientError as error:
                assert error.response["ResponseMetadata"]["HTTPStatusCode"] == 403, error
        return found

    until(lambda: groceries(bob).get("Groceries/Milk.files/label.bin"), lambda: f"{bob.status()} {bob.daemon.tail()}")
    seen = readable()
    size = sum(everything[key] for key in seen)
    assert 5_000_000 < size < 5_200_000 and len(seen) < len(everything), (seen, everything)
    with pytest.raises(ClientError):
        his.copy_object(Bucket="ferry", Key="x", CopySource={"Bucket": "ferry", "Key": sorted(set(everything) - seen)[0]})
    anna.ferry("unshare", "Groceries", "bob@example.org")
    anna.sync()
    assert not readable()


def test_tasks_that_move_to_another_list_change_owner(shared):
    anna, bob = shared
    (bob.tasks / "Groceries/Milk.md").rename(bob.tasks / "Milk.md")
    until(lambda: anna.read("Groceries/Milk.md") is None, lambda: f"{anna.files()} {anna.daemon.tail()}")
    bob.sync()
    assert bob.read("Milk.md").endswith("oat\n")
    (bob.tasks / "Private.md").rename(bob.tasks / "Groceries/Private.md")
    there(anna, "Groceries/Private.md", "bob alone\n")
    same(anna, bob)
    assert anna.read("Private.md") == "anna alone\n"


def test_a_former_member_keeps_the_files_as_their_own(shared):
    anna, bob = shared
    bob.write("Groceries/Bread.md", "rye\n")
    there(anna, "Groceries/Bread.md", "rye\n")
    same(anna, bob)
    before = groceries(bob)
    assert "not shared" in anna.ferry("unshare", "Groceries", "bob@example.org")
    until(lambda: "owner" not in {e["name"]: e for e in bob.json("lists")["lists"]}["Groceries"], lambda: bob.json("lists"))
    bob.sync()
    assert groceries(bob) == before == groceries(anna), "nobody lost a file"
    # The two copies are independent from here on.
    anna.write("Groceries/Milk.md", "Anna's\n")
    bob.write("Groceries/Milk.md", "Bob's\n")
    (bob.tasks / "Groceries/Bread.md").unlink()
    for machine in shared:
        machine.sync()
    until(lambda: len([t for t in bob.list().values() if t.get("list") == "Groceries"]) == 1, lambda: bob.list())
    assert anna.read("Groceries/Milk.md") == "Anna's\n" and anna.read("Groceries/Bread.md") == "rye\n"
    assert bob.read("Groceries/Milk.md") == "Bob's\n"
    for machine in shared:
        status = machine.status()
        assert not status["problems"] and status["pendingUp"] == 0 and status["heldDeletes"] == 0, status


def test_a_list_is_unshared_while_the_machine_is_off(shared):
    anna, bob = shared
    same(anna, bob)
    before = groceries(bob)
    bob.stop()
    anna.ferry("unshare", "Groceries")
    anna.sync()
    bob.start()
    until(lambda: "owner" not in {e["name"]: e for e in bob.json("lists")["lists"]}.get("Groceries", {"owner": ""}),
          lambda: f"{bob.json('lists')} {bob.daemon.tail()}")
    bob.sync()
    assert groceries(bob) == before and not bob.json("trash")["trash"]


def test_a_member_may_leave(shared):
    anna, bob = shared
    bob.ferry("unshare", "Groceries")
    until(lambda: "sharedWith" not in {e["name"]: e for e in anna.json("lists")["lists"]}["Groceries"], lambda: anna.json("lists"))
    assert bob.read("Groceries/Milk.md") and anna.read("Groceries/Milk.md")


def test_a_second_machine_gets_the_shared_list_too(root, server, shared):
    _, bob = shared
    second = Machine(root, "second")
    second.start()
    second.login(server, email="bob@example.org")
    agree(bob, second)
    assert second.read("Groceries/Milk.md")
    second.stop()


def test_sharing_reports_errors(shared):
    anna, bob = shared
    for machine, words, status, told in [
        (anna, ("share", "Groceries", "nobody@example.org"), 3, "nobody@example.org"), (anna, ("share", "Nowhere", "bob@example.org"), 3, "Nowhere"),
        (anna, ("share", "Inbox", "bob@example.org"), 1, "default list"), (bob, ("share", "Groceries", "bob@example.org"), 1, "somebody else"),
        (anna, ("share", "Groceries", "anna@example.org"), 1, "yours"), (anna, ("unshare", "Work"), 3, "not shared"),
    ]:
        result = machine.ferry(*words, check=False)
        assert result.returncode in (status, 2) and told in result.stderr, (words, result)


def test_a_list_is_not_synced_before_it_is_accepted(households):
    anna, bob = households
    anna.write("Groceries/Milk.md", "oat\n")
    anna.write("Work/Secret.md", "not for Bob\n")
    anna.sync()
    told = anna.ferry("share", "Groceries", "bob@example.org")
    assert "invited bob@example.org" in told and "shared with" not in told
    until(lambda: bob.status()["invitations"] == 1, bob.daemon.tail)
    until(lambda: anna.status()["sentInvitations"] == 1, anna.daemon.tail)
    bob.sync()
    assert not (bob.tasks / "Groceries").exists() and "Groceries" not in {e["name"] for e in bob.json("lists")["lists"]}
    (invitation,) = invitations(bob)
    assert (invitation["list"], invitation["from"]) == ("Groceries", "anna@example.org")
    assert invitations(anna)[0]["sent"] and "to answer: ferry invitations" in bob.ferry("status")
    assert "invitation" in bob.ferry("doctor", check=False).stdout
    until(lambda: {e["name"]: e for e in anna.json("lists")["lists"]}["Groceries"].get("invited") == ["bob@example.org"], anna.daemon.tail)
    assert "no invitation" in bob.ferry("invitations", "accept", "7", check=False).stderr
    # Bob declines: both sides drop the invitation, and it can be sent again, and withdrawn.
    assert "declined" in bob.ferry("invitations", "decline", invitation["id"])
    until(lambda: anna.status()["sentInvitations"] == 0, anna.daemon.tail)
    anna.ferry("share", "Groceries", "bob@example.org")
    until(lambda: bob.status()["invitations"] == 1, bob.daemon.tail)
    anna.ferry("unshare", "Groceries")
    until(lambda: bob.status()["invitations"] == 0, bob.daemon.tail)
    # Anna is blocked: her pending invitation goes, and the next one is refused.
    anna.ferry("share", "Groceries", "bob@example.org")
    until(lambda: bob.status()["invitations"] == 1, bob.daemon.tail)
    assert "anna@example.org: blocked" in bob.ferry("block", "anna@example.org")
    until(lambda: bob.status()["invitations"] == 0 and anna.status()["sentInvitations"] == 0, bob.daemon.tail)
    bob.sync()
    refused = anna.ferry("share", "Groceries", "bob@example.org", check=False)
    assert refused.returncode != 0 and "does not let you invite bob@example.org" in refused.stderr, refused
    bob.ferry("unblock", "anna@example.org")
    bob.sync()
    anna.ferry("share", "Groceries", "bob@example.org")
    assert "accepted" in accept(bob)
    there(bob, "Groceries/Milk.md", "oat\n")
    assert not (bob.tasks / "Work").exists() and not invitations(bob)
    for machine in households:
        assert not machine.status()["problems"], machine.status()


def test_the_server_enforces_access(server, shared):
    """Sends plain requests, as the rules must be enforced by the server, not only by the daemon."""
    anna, bob = shared
    session = json.load(urllib.request.urlopen(urllib.request.Request(
        f"{server.url}/v1/accounts:signUp?key=x", headers={"Content-Type": "application/json"},
        data=json.dumps({"email": "eve@example.org", "password": PASSWORD, "returnSecureToken": True}).encode())))
    answer = json.load(urllib.request.urlopen(urllib.request.Request(
        f"{server.url}/v1/accounts:lookup?key=x", headers={"Content-Type": "application/json"},
        data=json.dumps({"idToken": session["idToken"], "email": ["anna@example.org"]}).encode())))
    assert set(answer["users"][0]) == {"localId", "email"}, "only what sharing needs"
    with pytest.raises(urllib.error.HTTPError):
        urllib.request.urlopen(urllib.request.Request(
            f"{server.url}/v1/accounts:lookup?key=x", headers={"Content-Type": "application/json"},
            data=json.dumps({"idToken": "nobody", "email": ["anna@example.org"]}).encode()))
