"""A Ceph cluster of one monitor and one OSD in memory, with the object gateway: Debian's ceph-mon, ceph-osd, radosgw."""
import shutil
import subprocess
import uuid
from pathlib import Path

PROGRAMS = ("ceph", "ceph-authtool", "ceph-mon", "ceph-osd", "monmaptool", "radosgw", "radosgw-admin")

CONFIGURATION = """\
[global]
fsid = {id}
mon host = [v2:127.0.0.1:{monitor}]
public addr = 127.0.0.1
cluster addr = 127.0.0.1
run dir = {root}/run
admin socket = {root}/run/$name.$pid.asok
log file = {root}/$name.log
log to stderr = false
err to stderr = false
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 1
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
mon allow pool size one = true
mon max pg per osd = 1000
mon data = {root}/mon
mon data avail crit = 1
osd objectstore = memstore
osd data = {root}/osd
rgw data = {root}/rgw
rgw frontends = beast endpoint=127.0.0.1:{gateway}
[client.admin]
keyring = {root}/keyring
[osd.0]
keyring = {root}/osd/keyring
[client.rgw]
keyring = {root}/rgw/keyring
"""


def is_installed():
    return all(shutil.which(program) for program in PROGRAMS)


class Ceph:
    def __init__(self, root: Path, monitor: int, gateway: int):
        self.root, self.url, self.running = root, f"http://127.0.0.1:{gateway}", []
        self.port = gateway
        self.id = str(uuid.uuid4())
        for name in ("mon", "osd", "run", "rgw"):
            (root / name).mkdir()
        self.configuration = root / "ceph.conf"
        self.configuration.write_text(CONFIGURATION.format(id=self.id, root=root, monitor=monitor, gateway=gateway))
        self.monitor = monitor

    def run(self, *words):
        return subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True, timeout=60).stdout

    def ceph(self, *words):
        return self.run("ceph", "-c", self.configuration, "--connect-timeout", "30", *words)

    def spawn(self, program, *words):
        self.running.append(subprocess.Popen([program, "-c", str(self.configuration), *words, "-f"]))

    def start(self):
        keyring, monitors, osd = self.root / "keyring", self.root / "monitors", str(uuid.uuid4())
        self.run("ceph-authtool", "--create-keyring", keyring, "--gen-key", "-n", "mon.", "--cap", "mon", "allow *")
        self.run("ceph-authtool", keyring, "--gen-key", "-n", "client.admin", "--cap", "mon", "allow *", "--cap", "osd", "allow *")
        self.run("monmaptool", "--create", "--fsid", self.id, "--addv", "a", f"[v2:127.0.0.1:{self.monitor}]", monitors)
        self.run("ceph-mon", "-c", self.configuration, "--mkfs", "-i", "a", "--monmap", monitors, "--keyring", keyring)
        self.spawn("ceph-mon", "-i", "a")
        self.ceph("osd", "new", osd)
        for who, place in (("osd.0", "osd"), ("client.rgw", "rgw")):
            self.ceph("auth", "get-or-create", who, "mon", "allow *", "osd", "allow *", "-o", self.root / place / "keyring")
        self.run("ceph-osd", "-c", self.configuration, "-i", "0", "--mkfs", "--no-mon-config", "--osd-uuid", osd)
        self.spawn("ceph-osd", "-i", "0")
        self.ceph("osd", "crush", "add", "osd.0", "1", "root=default")
        self.spawn("radosgw", "-n", "client.rgw")

    def add_user(self, key, secret):
        self.run("radosgw-admin", "-c", self.configuration, "-n", "client.rgw", "user", "create", "--uid", "ferry",
                 "--display-name", "Ferry", "--access-key", key, "--secret-key", secret)

    def stop(self):
        for process in reversed(self.running):
            process.kill()
            process.wait()
