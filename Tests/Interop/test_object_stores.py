"""Ferry's S3 client with real servers, by the contract that all its stores fulfill: `ferry-server`, moto, and Ceph's gateway.
The last one runs if Debian's packages are installed: apt-get install ceph-mon ceph-osd radosgw
"""
import os
import subprocess
from pathlib import Path

import ceph
import pytest
import stores
from conftest import working_keys

TESTS = Path(__file__).parent.parent.parent / ".build/debug/ferryPackageTests.xctest"


def keep_the_contract(url, keys):
    """Runs the contract of object stores, which is written in Swift, on the bucket `ferry-test`."""
    if not TESTS.exists():
        pytest.skip("the unit tests are not built")
    stores.client(url, keys).create_bucket(Bucket="ferry-test")
    environment = {**os.environ, "FERRY_TEST_S3": url, "AWS_ACCESS_KEY_ID": keys[0], "AWS_SECRET_ACCESS_KEY": keys[1]}
    done = subprocess.run([str(TESTS), "--testing-library", "swift-testing", "--filter", "S3StoreTests"], env=environment,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
    lines = [line for line in done.stdout.splitlines() if '"S3 store"' in line or "recorded an issue" in line]
    assert done.returncode == 0, "\n".join(lines)
    assert any("passed" in line for line in lines), done.stdout


def test_ferry_server(server):
    keep_the_contract(server.url, working_keys(server, "contract"))


def test_moto(tmp_path):
    store = stores.Moto(tmp_path)
    try:
        store.start()
        keep_the_contract(store.url, store.keys)
    finally:
        store.stop()


@pytest.mark.skipif(not ceph.is_installed(), reason="Ceph is not installed: apt-get install ceph-mon ceph-osd radosgw")
def test_ceph(tmp_path):
    store = stores.Ceph(tmp_path)
    try:
        store.start()
        keep_the_contract(store.url, store.keys)
    finally:
        store.stop()
