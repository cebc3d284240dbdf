"""The mails with the tasks of the day, through a mail server that is not Ferry's own (aiosmtpd)."""
import datetime
import re
import urllib.parse
import urllib.request
from email import message_from_bytes, policy

import pytest
from aiosmtpd.controller import Controller

from harness import Clock, Server, built_library, free_ports, until

HOUR = 3600


class Mailbox:
    def __init__(self):
        self.mails = []

    async def handle_DATA(self, server, session, envelope):
        self.mails.append(message_from_bytes(envelope.content, policy=policy.default))
        return "250 OK"


@pytest.fixture
def mailbox():
    mailbox, [port] = Mailbox(), free_ports(1)
    controller = Controller(mailbox, hostname="127.0.0.1", port=port)
    controller.start()
    mailbox.port = port
    yield mailbox
    controller.stop()


def opened(url, data=None):
    with urllib.request.urlopen(urllib.request.Request(url, data=data), timeout=20) as answer:
        return answer.read().decode()


def test_a_server_without_mail_says_so(server, laptop):
    laptop.start()
    laptop.login(server, create=True)
    refused = laptop.ferry("mail", "07:30", "--zone", "Europe/Berlin", check=False)
    assert refused.returncode != 0 and "sends no mail" in refused.stderr, refused.stderr
    assert "sends no mails with tasks" in laptop.ferry("mail")


def test_tasks_come_by_mail_until_the_link_ends_that(root, mailbox, laptop):
    clock = Clock(built_library(root, "wrong-clock"), root / "clock")
    server = Server(root, "--smtp", f"smtp://127.0.0.1:{mailbox.port}", "--smtp-from", "ferry@example.org", "--accept-clock")
    server.environment = clock.environment
    server.start()
    try:
        laptop.start()
        laptop.login(server, create=True)
        for word in ("24:00", "7", "07:5", "+7:30", "noon"):
            assert laptop.ferry("mail", word, check=False).returncode == 2
        unknown = laptop.ferry("mail", "07:30", "--zone", "Mars/Base", check=False)
        assert unknown.returncode != 0 and "time zone" in unknown.stderr, unknown.stderr
        soon = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)
        shown = laptop.ferry("mail", soon.strftime("%H:%M"), "--zone", "Etc/UTC", check=False)
        assert "Etc/UTC" in shown.stdout and "once the address is confirmed" in shown.stderr
        # The address is confirmed by the link of a mail, once.
        link = re.search(r"http\S+oobCode=\S+", until(lambda: mailbox.mails, "a mail")[0].get_content())[0]
        code = urllib.parse.parse_qs(urllib.parse.urlparse(link).query)["oobCode"][0]
        opened(link, urllib.parse.urlencode({"mode": "verifyEmail", "oobCode": code}).encode())
        assert "confirmed" not in laptop.ferry("mail", check=False).stderr
        laptop.ferry("add", "Größe <b>messen</b>", f"due:{soon:%Y-%m-%d}")
        laptop.ferry("add", "Taxes", f"due:{soon - datetime.timedelta(days=2):%Y-%m-%d}")
        laptop.ferry("add", "Some day")
        laptop.ferry("sync", "--wait")
        mailbox.mails.clear()
        clock.set(HOUR + 60)
        server.stop()
        server.start()
        mail = until(lambda: mailbox.mails, "the mail with tasks", timeout=60)[0]
        assert mail["Subject"] == "Tasks: 1 due today, 1 overdue" and mail["To"] == "me@example.org"
        assert mail.get_content_type() == "text/plain" and not mail.is_multipart()
        assert "- Größe <b>messen</b>\r\n" in mail.get_content() and "Some day" not in mail.get_content()
        assert mail["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
        end = mail["List-Unsubscribe"].strip("<>")
        # A server that was killed sends no second mail of the day.
        server.kill()
        server.start()
        # Opening the link changes nothing, its button does.
        assert "<form" in opened(end) and "Etc/UTC" in laptop.ferry("mail")
        opened(end.partition("token=")[0] + "token=wrong", b"List-Unsubscribe=One-Click")
        assert "Etc/UTC" in laptop.ferry("mail")
        assert "no more mails" in opened(end, b"List-Unsubscribe=One-Click")
        assert "sends no mails with tasks" in laptop.ferry("mail")
        laptop.ferry("mail", "07:30", "--zone", "Europe/Berlin")
        assert laptop.ferry("mail", "off").startswith("The server sends no mails")
        assert len(mailbox.mails) == 1
    finally:
        server.stop()
