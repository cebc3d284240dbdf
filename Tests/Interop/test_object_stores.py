"""Ferry's S3 client against real servers, by the contract that all its stores keep: `ferry-server`, and two that are not ours, moto and
Ceph's gateway. The latter runs where Debian's packages are installed: apt-get install ceph-mon ceph-osd radosgw
"""
import os
import socket
import subprocess
import sys
from pathlib import Path

import boto3
import ceph
import pytest
from botocore.config import Config
from conftest import working_keys
from harness import until

TESTS = Path(__file__).parent.parent.parent / ".build/debug/ferryPackageTests.xctest"


def keep_the_contract(url, keys):
    """Runs the contract of object stores, which is written in Swift, on the bucket `ferry-test`."""
    if not TESTS.exists():
        pytest.skip("the unit tests are not built")
    client = boto3.client("s3", endpoint_url=url, aws_access_key_id=keys[0], aws_secret_access_key=keys[1],
                          region_name="us-east-1", config=Config(s3={"addressing_style": "path"}))
    client.create_bucket(Bucket="ferry-test")
    environment = {**os.environ, "FERRY_TEST_S3": url, "AWS_ACCESS_KEY_ID": keys[0], "AWS_SECRET_ACCESS_KEY": keys[1]}
    done = subprocess.run([str(TESTS), "--testing-library", "swift-testing", "--filter", "S3StoreTests"], env=environment,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
    lines = [line for line in done.stdout.splitlines() if '"S3 store"' in line or "recorded an issue" in line]
    assert done.returncode == 0, "\n".join(lines)
    assert any("passed" in line for line in lines), done.stdout


def test_ferry_server(server):
    keep_the_contract(server.url, working_keys(server, "contract"))


def free_ports(count):
    probes = [socket.socket() for _ in range(count)]
    for probe in probes:
        probe.bind(("127.0.0.1", 0))
    ports = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return ports


def listens(port):
    with socket.socket() as probe:
        return not probe.connect_ex(("127.0.0.1", port))


def test_moto(tmp_path):
    [port] = free_ports(1)
    log = tmp_path / "moto.log"
    with open(log, "wb") as out:
        server = subprocess.Popen([str(Path(sys.executable).parent / "moto_server"), "-H", "127.0.0.1", "-p", str(port)],
                                  stdout=out, stderr=out)
    try:
        until(lambda: listens(port), lambda: log.read_text(), timeout=60, step=0.1)
        keep_the_contract(f"http://127.0.0.1:{port}", ("testing", "testing"))
    finally:
        server.terminate()
        server.wait()


@pytest.mark.skipif(not ceph.is_installed(), reason="Ceph is not installed: apt-get install ceph-mon ceph-osd radosgw")
def test_ceph(tmp_path):
    monitor, gateway = free_ports(2)
    cluster = ceph.Ceph(tmp_path, monitor, gateway)
    try:
        cluster.start()
        until(lambda: listens(gateway), lambda: (tmp_path / "client.rgw.log").read_text()[-2000:], timeout=120, step=0.2)
        cluster.add_user("ferry-key", "ferry-secret")
        keep_the_contract(cluster.url, ("ferry-key", "ferry-secret"))
    finally:
        cluster.stop()
