"""Object stores of other projects for tests: moto, and Ceph's gateway if Debian's packages are installed
(apt-get install ceph-mon ceph-osd radosgw).
"""
import socket
import subprocess
import sys
from pathlib import Path

import boto3
import ceph
from botocore.config import Config
from harness import free_ports, until


def listens(port):
    with socket.socket() as probe:
        return not probe.connect_ex(("127.0.0.1", port))


def client(url, keys):
    return boto3.client("s3", endpoint_url=url, aws_access_key_id=keys[0], aws_secret_access_key=keys[1], region_name="us-east-1",
                        config=Config(s3={"addressing_style": "path"}, retries={"max_attempts": 1}))


class Moto:
    """moto's server. Its content is gone once it is killed."""

    def __init__(self, root: Path):
        [self.port] = free_ports(1)
        self.url, self.keys, self.log = f"http://127.0.0.1:{self.port}", ("testing", "testing"), root / "moto.log"

    def start(self):
        with open(self.log, "wb") as out:
            self.process = subprocess.Popen(
                [str(Path(sys.executable).parent / "moto_server"), "-H", "127.0.0.1", "-p", str(self.port)], stdout=out, stderr=out)
        until(lambda: listens(self.port), lambda: self.log.read_text(), timeout=60, step=0.1)

    def stop(self):
        self.process.kill()
        self.process.wait()


class Ceph(ceph.Ceph):
    """A cluster with a user."""

    def __init__(self, root: Path):
        (root / "ceph").mkdir()
        monitor, gateway = free_ports(2)
        super().__init__(root / "ceph", monitor, gateway)
        self.keys = ("ferry-key", "ferry-secret")

    def start(self):
        super().start()
        until(lambda: listens(self.port), lambda: (self.root / "client.rgw.log").read_text()[-2000:], timeout=120, step=0.2)
        self.add_user(*self.keys)
