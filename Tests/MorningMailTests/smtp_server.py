"""A mail server (aiosmtpd) for the tests: smtp_server.py DIRECTORY. Prints its port, writes each mail into the
directory, and ends with its standard input. While DIRECTORY/refuse exists it refuses mails."""
import asyncio
import sys
from pathlib import Path

from aiosmtpd.smtp import SMTP

directory = Path(sys.argv[1])


class Mailbox:
    count = 0

    async def handle_DATA(self, server, session, envelope):
        if (directory / "refuse").exists():
            return "451 later"
        self.count += 1
        part = directory / f"{self.count}.part"
        part.write_bytes(f"{' '.join(envelope.rcpt_tos)}\n".encode() + envelope.content)
        part.rename(directory / f"{self.count}.mail")
        return "250 OK"


async def main():
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: SMTP(mailbox), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


mailbox = Mailbox()
asyncio.run(main())
