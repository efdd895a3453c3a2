"""Mails that a mailer encoded, held against what git makes of them."""

from __future__ import annotations

import base64
import quopri
from collections.abc import Callable, Iterator
from email import policy
from email.message import EmailMessage
from pathlib import Path

import pytest
from trees.repositories import git

from patchkit.core.foreign.diffs import ForeignPatch, Repair
from patchkit.core.foreign.encoded import decoded
from patchkit.core.foreign.lenient import read_foreign
from patchkit.core.foreign.mail import is_cover_letter
from patchkit.core.foreign.transfer import MOST_LINES
from patchkit.core.model import HunkLine
from patchkit.errors import PatchFormatError

SHIPPED = Path(__file__).parents[4] / "patches" / "megatron"
VARIANT = sorted(SHIPPED.glob("*/variants/*.patch"), key=lambda path: (path.stat().st_size, path))[0]

MESSAGE = f"The größe = 3 was lost, and a mailer breaks such a line in two: {'x' * 80}\n---\n m/a | 2 +-\n\n"
ODD = """\
diff --git a/m/a.py b/m/a.py
--- a/m/a.py
+++ b/m/a.py
@@ -1,4 +1,4 @@ def größe():
 a = 1
\x20
-url = "http://x?a=20"
+url = "http://x?a=3D21" + "café and very much more, so that any mailer breaks this line, as RFC 2045 has it"
 \tc = 3
"""
TEXT = f"{MESSAGE}{VARIANT.read_text()}{ODD}-- \n2.39.5\n\n"
GIT_LINE = b"From 0123456789abcdef0123456789abcdef01234567 Mon Sep 17 00:00:00 2001\n"
MAILBOX_LINE = b"From mboxrd@z Thu Jan  1 00:00:00 1970\n"
HEADS = "From: A <a@example.org>\nDate: Tue, 1 Dec 2026 07:00:00 +0000\nSubject: [PATCH] one\n"


def mail(encoding: str, charset: str = "utf-8", *, wide: bool = False) -> bytes:
    made = EmailMessage(policy=policy.SMTP if wide else policy.default)
    made["From"], made["Subject"] = "Jürgen <j@example.org>", "[PATCH] one"
    made.set_content(TEXT, cte=encoding, charset=charset)
    return made.as_bytes()


def in_parts(message: str, patch: str, *, wide: bool = False) -> bytes:
    made = EmailMessage(policy=policy.SMTP if wide else policy.default)
    made["From"], made["Subject"] = "Jürgen <j@example.org>", "[PATCH] one"
    made.set_content(MESSAGE, cte=message)
    rest = TEXT.removeprefix(MESSAGE).encode()
    made.add_attachment(rest, maintype="text", subtype="x-patch", cte=patch, filename="one.patch")
    return made.as_bytes()


def flowed(text: str, more: str = "") -> bytes:
    # A context line that is empty would be a soft break, for git as well.
    text = text.replace("@@ -1,4 +1,4", "@@ -1,3 +1,3").replace("\n \n", "\n")
    stuffed = "".join(f" {line}" if line[0] == " " else line for line in text.splitlines(keepends=True))
    return f"{HEADS}Content-Type: text/plain; charset=utf-8; format=flowed{more}\n\n{stuffed}".encode()


def mbox(line: bytes) -> bytes:
    mails = [mail("quoted-printable"), mail("8bit", "iso-8859-1"), in_parts("8bit", "base64"), mail("base64")]
    return b"".join(line + each + b"\n" for each in mails)


def after_git(encoding: str) -> bytes:
    """Return a mail of git's, and behind it one of a mail program with its encoding in a second line."""
    folded = mail(encoding).replace(b"Content-Transfer-Encoding: ", b"Content-Transfer-Encoding:\n ")
    return GIT_LINE + mail("8bit") + b"\n" + MAILBOX_LINE + folded + b"\n"


def commented(encoding: str) -> bytes:
    return mail(encoding).replace(b"Content-Transfer-Encoding: ", b"Content-Transfer-Encoding: (as it was) ")


ENCODINGS = ("quoted-printable", "base64", "8bit")
MAILS = {
    **{f"{one} {charset}": mail(one, charset) for one in ENCODINGS for charset in ("utf-8", "iso-8859-1")},
    **{f"{one} with CRLF": mail(one, wide=True) for one in ENCODINGS},
    **{f"{one} and {two}": in_parts(one, two) for one in ENCODINGS for two in ENCODINGS},
    "parts with CRLF": in_parts("base64", "quoted-printable", wide=True),
    "flowed": flowed(MESSAGE + ODD),
    "flowed and broken": flowed((MESSAGE + ODD).replace("very much", "very \nmuch")),
    "flowed, broken and blanks deleted": flowed((MESSAGE + ODD).replace("very much", "very  \nmuch"), "; delsp=yes"),
    "mbox of git": mbox(GIT_LINE),
    "mbox of a mail program": mbox(MAILBOX_LINE),
    "empty lines in front": b"\n\n" + mail("quoted-printable"),
    **{f"mbox of git and a mail program, {one}": after_git(one) for one in ENCODINGS},
    **{f"{one} behind a comment": commented(one) for one in ENCODINGS[:2]},
}


def of_git(folder: Path, text: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the message and the patch that `git am` has of each mail."""
    (folder / "mails").write_bytes(text)
    (folder / "split").mkdir()
    for number in range(1, int(git(folder, "mailsplit", "-b", "-osplit", "mails")) + 1):
        script = 'exec git mailinfo -u message patch < "$0" > info'
        git(folder, "-c", f"alias.read=!sh -c '{script}' \"$1\" && :", "read", f"split/{number:04d}")
        yield (folder / "message").read_text().replace("\r", "").strip(), (folder / "patch").read_bytes()


def bodies(foreign: ForeignPatch) -> list[tuple[str | None, tuple[HunkLine, ...]]]:
    return [
        (file.new_path, hunk.lines) for message in foreign.messages for file in message.files for hunk in file.hunks
    ]


@pytest.mark.parametrize("name", MAILS)
def test_message_and_patch_of_a_mail_are_those_that_git_am_has(tmp_path: Path, name: str) -> None:
    read = read_foreign(MAILS[name], "p")
    theirs = list(of_git(tmp_path, MAILS[name]))

    assert [message.body for message in read.messages] == [message for message, _ in theirs]
    assert bodies(read) == [each for _, patch in theirs for each in bodies(read_foreign(patch, "p"))]
    assert "größe" in read.messages[0].body


def test_every_encoding_that_was_taken_off_is_told_with_the_line_that_says_so() -> None:
    raw = in_parts("quoted-printable", "base64")
    lines = [line.lower() for line in raw.decode().splitlines()]
    told = [repair for repair in read_foreign(raw, "p").repairs if repair.rule == "decoded"]

    assert told == [
        Repair("decoded", "p", lines.index(f"content-transfer-encoding: {encoding}") + 1, message)
        for encoding, message in (
            ("quoted-printable", "the mail was in quoted-printable, and is decoded as git am does"),
            ("base64", "the mail was in base64, and is decoded as git am does"),
        )
    ]


JOINED = "the mail was in format=flowed, and is joined as RFC 3676 has it"


@pytest.mark.parametrize("encoding", ["", "quoted-printable", "base64"])
def test_that_lines_were_joined_is_told_beside_the_encoding(encoding: str) -> None:
    text = flowed(MESSAGE + ODD)
    if encoding:
        heads, body = text.split(b"\n\n", 1)
        code = base64.encodebytes(body) if encoding == "base64" else quopri.encodestring(body)
        text = heads + f"\nContent-Transfer-Encoding: {encoding}\n\n".encode() + code
    told = [repair.message for repair in read_foreign(text, "p").repairs if repair.rule == "decoded"]

    assert told == ([f"the mail was in {encoding}, and is decoded as git am does"] if encoding else []) + [JOINED]


FLOWED = "Content-Type: text/plain; charset=utf-8; format=flowed"


@pytest.mark.parametrize(
    ("body", "joined"),
    [
        ("one \ntwo\n", "one two\n"),
        (" one \n two\n", "one two\n"),
        # git writes `one -- `.
        ("one \n-- \n2\n", "one \n-- \n2\n"),
        ("one\n-- \n", "one\n-- \n"),
        ("--  \n2\n", "--  2\n"),
    ],
)
@pytest.mark.parametrize("encoding", ["8bit", "base64", "quoted-printable"])
@pytest.mark.parametrize("wide", [False, True])
def test_lines_of_a_flowed_mail_are_joined_as_its_standard_has_it(
    body: str, joined: str, encoding: str, wide: bool
) -> None:
    written = (body.replace("\n", "\r\n") if wide else body).encode()
    codes: dict[str, Callable[[bytes], bytes]] = {
        "8bit": bytes,
        "base64": base64.encodebytes,
        "quoted-printable": quopri.encodestring,
    }
    text = f"{HEADS}{FLOWED}\nContent-Transfer-Encoding: {encoding}\n\n".encode() + codes[encoding](written)
    lines = decoded(text, "p").lines
    # Those of a mail's own lines are not of its text.
    kept = joined.replace("\n", "\r\n") if wide and encoding == "base64" else joined

    assert b"\n".join(lines).partition(b"\n\n")[2].rstrip(b"\n") == kept.encode().rstrip(b"\n")


def encoded(body: str, encoding: str = "quoted-printable") -> bytes:
    return f"{HEADS}Content-Transfer-Encoding: {encoding}\n\n{body}".encode()


def test_lines_that_are_named_are_those_of_the_file() -> None:
    soft = "why=\n and=\n how\n"
    plain = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-a\n+b\n c\n"
    read = read_foreign(encoded(soft + plain), "p")
    assert [(file.line, file.hunks[0].line) for file in read.messages[0].files] == [(9, 11)]
    assert read.messages[0].body == "why and how"
    with pytest.raises(PatchFormatError) as caught:
        read_foreign(encoded(soft + plain.removesuffix(" c\n")), "p")
    assert caught.value.message == (
        "p:11: x, hunk 1: cut short: its header promises 2 old and 2 new lines, "
        "and the text ends at line 13 with 1 and 1"
    )
    with pytest.raises(PatchFormatError, match=r"\Ap:10: x is a symbolic link, and only regular files are carried\Z"):
        read_foreign(encoded(f"{soft}diff --git a/x b/x\nnew file mode 120000\n"), "p")

    packed = base64.encodebytes(b"%s%s" % (b"why\n" * 40, plain.encode())).decode()
    # 76 letters are 57 bytes: the file begins at byte 160 and its hunk at 176, in the third and fourth line.
    (file,) = read_foreign(encoded(packed, "base64"), "p").messages[0].files
    assert (file.line, file.hunks[0].line) == (8, 9)


PARTS = f"{HEADS}Content-Type: multipart/mixed; boundary=x\n\n"
DIFF = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"
REFUSED = {
    "an encoding that is not known": (
        encoded(DIFF, "x-uuencode"),
        "p:4: this mail is in the encoding 'x-uuencode'",
    ),
    "no escape": (
        encoded(DIFF.replace("+b", "+b = 3")),
        "p:10: '= 3' is no escape, and the header says that the mail is in quoted-printable",
    ),
    "no base64": (
        encoded(DIFF, "base64"),
        "p:6: this is no base64, and the header of the mail says that it is (Only base64 data is allowed)",
    ),
    "a message in a charset that is not known": (
        encoded("caf=E9\n" + DIFF).replace(b"Content", b"Content-Type: text/plain; charset=idna\nContent", 1),
        "p:7: the message of this mail is in the charset 'idna', which is not known",
    ),
    "parts without a boundary": (
        encoded(DIFF, "8bit").replace(b"Content", b"Content-Type: multipart/mixed\nContent", 1),
        "p:4: this mail has several parts, and does not say what stands between them",
    ),
    "a boundary that does not come": (
        encoded(DIFF, "8bit").replace(b"Content", b'Content-Type: multipart/mixed; boundary="x"\nContent', 1),
        "p:4: no part of this mail begins: its boundary b'x' does not come",
    ),
    "a mail within a mail": (
        f"{PARTS}--x\nContent-Type: message/rfc822\n\n{HEADS}\n{DIFF}--x--\n".encode(),
        "p:7: there is a mail within this mail (message/rfc822)",
    ),
    "a mail that was pasted into a text": (
        b"See this:\n\n" + encoded(DIFF.replace("+b", "+b =3D 3")),
        "p:6: a mail that is encoded begins in the middle of this text",
    ),
    "parts within parts without end": (
        PARTS.encode() + b"--x\nContent-Type: multipart/mixed; boundary=x\n\n" * 9,
        "p:18: this mail has parts within parts, more than 5 deep",
    ),
    "a mail behind another one that ended": (
        f"{PARTS}--x\n\n{DIFF}--x--\n{HEADS}\n{DIFF}".encode(),
        "p:19: this stands in none of the parts of the mail",
    ),
    "a mail in front of the first part": (
        f"{PARTS}{DIFF}--x\n\n{DIFF}--x--\n".encode(),
        "p:7: this stands in none of the parts of the mail",
    ),
    "an encoded mail behind the diff of another one": (
        f"{HEADS}\n{DIFF}\n".encode() + encoded(DIFF.replace("+b", "+b =3D 3")),
        "p:14: a mail that is encoded begins in the middle of this text",
    ),
    "more parts than mails have": (
        PARTS.encode() + b"--x\n\n" * 100_001,
        "p:200006: its mails have more than 100,000 parts",
    ),
    "more lines than there is memory for": (
        encoded(base64.b64encode(b"\n" * (MOST_LINES + 1)).decode(), "base64"),
        "p:6: decoded, it has more than 8,000,000 lines",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_decoded_for_sure_is_refused_with_its_line(name: str) -> None:
    text, message = REFUSED[name]
    with pytest.raises(PatchFormatError) as caught:
        read_foreign(text, "p")

    assert caught.value.message == message


def test_the_second_mail_of_an_mbox_is_refused_by_its_own_line() -> None:
    first = GIT_LINE + encoded(DIFF.replace("+b", "+b=3D3"))
    with pytest.raises(PatchFormatError, match=r"\Ap:16: this mail is in the encoding 'x-gzip'\Z"):
        read_foreign(first + GIT_LINE + encoded(DIFF, "x-gzip"), "p")


def test_a_patch_of_git_may_be_a_part_of_a_mail() -> None:
    inner = GIT_LINE.decode() + HEADS.replace("one", "two").replace("A <", "B <") + f"\n{DIFF}-- \n2.39\n"
    part = f"--x\nContent-Transfer-Encoding: base64\n\n{base64.encodebytes(inner.encode()).decode()}"
    read = read_foreign(f"{PARTS}{part}--x--\n".encode(), "p")

    assert [(each.subject, each.author) for each in read.messages if each.files] == [("two", "B <a@example.org>")]


def test_parts_within_parts_are_read_where_git_takes_their_headers_for_text() -> None:
    made = EmailMessage()
    made["From"], made["Subject"] = "A <a@example.org>", "one"
    made.set_content("why =\n", cte="quoted-printable")
    made.add_alternative("<p>why</p>", subtype="html", cte="base64")
    made.add_attachment(ODD.encode(), maintype="text", subtype="x-patch", cte="base64")
    (message,) = read_foreign(made.as_bytes(), "p").messages

    assert message.body == "why =\n\n<p>why</p>"
    assert bodies(read_foreign(made.as_bytes(), "p")) == bodies(read_foreign(ODD.encode(), "p"))


def test_a_mail_of_number_0_with_a_diff_inside_of_an_encoding_is_no_cover_letter() -> None:
    heads = HEADS.replace("[PATCH]", "[PATCH 0/2]")
    body = base64.encodebytes(DIFF.encode()).decode()

    assert not is_cover_letter(f"{heads}Content-Transfer-Encoding: base64\n\n{body}".encode(), "p")
    assert is_cover_letter(f"{heads}Content-Transfer-Encoding: base64\n\n".encode(), "p")
