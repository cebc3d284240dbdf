"""kill -9 at random points of an upload and of a download: at most the chunks in flight are sent again, and the file is the same.

FERRY_KILLS is the number of points, FERRY_SEED the seed of their choice.
"""
import os
import random

from harness import Machine, Server, until
from proxy import CountingProxy

SIZE = 48 << 20
# Ten chunks are in flight at once, most of them at most 1.3 MiB long; headers, manifests and queries add little.
IN_FLIGHT = 10 * (1300 << 10) + (1 << 20)


def state(machine, task):
    entries = machine.json("attachments", task)["attachments"]
    return entries[0]["state"] if entries else None


def test_a_killed_transfer_resumes(root):
    count, seed = int(os.environ.get("FERRY_KILLS", "3")), int(os.environ.get("FERRY_SEED", "1"))
    draw = random.Random(seed)
    server = Server(root)
    server.start()
    proxy = CountingProxy(server.url.split("//", 1)[1])
    server.url = f"http://{proxy.address}"
    laptop, desk = Machine(root, "laptop"), Machine(root, "desk")
    again = {"up": [], "down": []}
    try:
        for index, machine in enumerate((laptop, desk)):
            machine.start()
            machine.login(server, create=index == 0)
        desk.stop()
        for number in range(count):
            content = draw.randbytes(SIZE)
            task = f"Film {number}"
            laptop.write(f"{task}.md", "x\n")
            laptop.sync()
            (root / task).mkdir()
            (root / task / "film.bin").write_bytes(content)

            start, point = proxy.up, draw.randrange(SIZE)
            (root / task).rename(laptop.tasks / f"{task}.files")
            until(lambda: proxy.up - start >= point, "a part of the upload", step=0.0005)
            laptop.daemon.kill()
            laptop.start()
            until(lambda: state(laptop, task) == "here", lambda: laptop.status(), timeout=60, step=0.05)
            laptop.sync()
            sent = proxy.up - start
            assert SIZE <= sent <= SIZE + IN_FLIGHT, f"killed at {point}, {sent - SIZE} bytes more than the file were sent, seed {seed}"
            again["up"].append(sent - SIZE)

            start, point = proxy.down, draw.randrange(SIZE)
            target = desk.tasks / f"{task}.files" / "film.bin"
            desk.start()
            until(lambda: proxy.down - start >= point, lambda: desk.status(), step=0.0005)
            desk.daemon.kill()
            desk.start()
            until(target.exists, lambda: desk.status(), timeout=60, step=0.01)
            received = proxy.down - start
            assert target.read_bytes() == content, f"another file, seed {seed}"
            assert received <= SIZE + IN_FLIGHT, f"killed at {point}, {received - SIZE} bytes more than the file came, seed {seed}"
            again["down"].append(received - SIZE)
            desk.sync()
            desk.stop()
            for machine in (laptop, desk):
                for file in (machine.tasks / f"{task}.files").iterdir():
                    file.unlink()
        for way, bytes in again.items():
            print(f"{count} kills, {way}: {sorted(bytes)[len(bytes) // 2] / (1 << 20):.2f} MiB again at the median, "
                  f"{max(bytes) / (1 << 20):.2f} at most")
    finally:
        for machine in (laptop, desk):
            machine.daemon.kill()
        server.stop()
        proxy.close()
