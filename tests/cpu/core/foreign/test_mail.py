from __future__ import annotations

import datetime as dt
import tracemalloc
from encodings import aliases

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patchkit.core.foreign.fields import mbox_commit, read_fields
from patchkit.core.foreign.mail import MailHead, is_cover_letter, mail_number, read_head

COMMIT = "0123456789abcdef0123456789abcdef01234567"
MAIL = f"""\
From {COMMIT} Mon Sep 17 00:00:00 2001
From: =?UTF-8?q?J=C3=BCrgen?= <j@example.org>
Date: Tue, 3 Feb 2026 23:30:00 -0800
Subject: [PATCH 1/2] Pass the flag
 through

It was lost.

>From the config on.
---
 m/a.py | 2 +-
"""


def head(text: str) -> MailHead:
    return read_head(text.encode().split(b"\n")[:-1])


def test_a_mail_of_git_format_patch_is_read() -> None:
    assert head(MAIL) == MailHead(
        subject="Pass the flag through",
        author="Jürgen <j@example.org>",
        date="2026-02-03",
        body="It was lost.\n\nFrom the config on.",
        commit=COMMIT,
        quoted=(8,),
    )


def test_prose_and_headers_without_a_subject_are_no_mail() -> None:
    assert head("Some notes.\nFrom: somebody\n\nMore.\n") == MailHead()
    assert head("From: somebody\nDate: today\n\nMore.\n") == MailHead()
    assert head("") == MailHead()


def test_headers_that_cannot_be_decoded_stay_as_they_are() -> None:
    odd = head("From: =?nonsense?q?a?= <a@b>\nDate: never\nSubject: x\n\n")

    told = (1, "Date: 'never' is no day that git knows, and is left out")
    assert odd == MailHead(subject="x", author="=?nonsense?q?a?= <a@b>", unusable=(told,))
    # A byte that is no ASCII in the name of a charset.
    odd = head("From: =?x-\u00e9?q?a?= <a@b>\nSubject: x\n\n")
    assert odd == MailHead(subject="x", author="=?x-\u00e9?q?a?= <a@b>")


@pytest.mark.parametrize(
    "word",
    [
        f"=?idna?q?{'a' * 5000}?=",
        "=?punycode?q?a=FF?=",
        "=?undefined?q?a?=",
        "=?\0?q?a?=",
        "=?unicode_escape?q?=5Cud800?=",
        "=?utf-7?q?+2AA-?=",
        "=?zip?b?AAAA?=",
        "=?utf-8?b?A?=",
        "=?utf-8*en?q?=FF?=",
        "=?utf-8?b?G1szMW0K?=",
    ],
)
def test_a_header_in_a_charset_that_fails_in_any_way_stays_as_it_is(word: str) -> None:
    assert head(f"From: {word} <a@b>\nSubject: [PATCH] {word}\n\n") == MailHead(subject=word, author=f"{word} <a@b>")


@pytest.mark.parametrize(
    ("date", "day"),
    [
        ("Tue, 31 Feb 2026 99:99:99 +99999999999999999999", ""),
        ("Tue, 1 Dec 2026 00:00:00 +99999999999999999999", ""),
        ("Tue, 1 Dec 99999 00:00:00 +0000", ""),
        (f"Tue, {'9' * 5000} Dec 2026 00:00:00", ""),
        ("Tue, 1 Dec 0999 00:00:00 +0000", ""),
    ],
)
def test_a_date_is_a_day_of_ten_characters_or_none(date: str, day: str) -> None:
    assert head(f"From: A <a@b>\nSubject: x\nDate: {date}\n\n").date == day


_CODECS = sorted({*aliases.aliases, *aliases.aliases.values(), "idna", "punycode", "undefined", "unicode_escape", "\0"})
_TEXTS = st.text(max_size=30) | st.from_regex(r"([0-9A-Za-z+/=_-]|=[0-9A-F]{2}|\\u[0-9a-f]{4})*", fullmatch=True)
_WORDS = st.builds(
    "=?{}{}?{}?{}?=".format, st.sampled_from(_CODECS), st.sampled_from(["", "*en"]), st.sampled_from("qb"), _TEXTS
)
_DATES = st.from_regex(
    r"((Mon|Tue), )?\d{1,22} (Feb|Dec) \d{1,22} \d{1,22}:\d\d(:\d{1,22})?( [+-]\d{1,22}| GMT)?", fullmatch=True
)
_HEADERS = st.binary(max_size=60) | st.lists(_WORDS | _TEXTS | _DATES, max_size=3).map(
    lambda parts: " ".join(parts).encode("utf-8", "surrogatepass")
)


@settings(deadline=None)
@given(_HEADERS, _HEADERS, _HEADERS)
def test_whatever_the_headers_are_they_are_read_as_text_and_a_day(sender: bytes, subject: bytes, date: bytes) -> None:
    found = read_head([b"From: " + sender, b"Subject: " + subject, b"Date: " + date, b""])

    assert f"{found.subject}{found.author}".encode("utf-8", "replace").decode() == found.subject + found.author
    assert not found.date or dt.date.fromisoformat(found.date).isoformat() == found.date


@pytest.mark.parametrize("subject", ["y" + "\n y" * 100_000, "=?utf-8?b?" * 50_000, "[" * 500_000])
def test_of_a_header_without_end_the_beginning_is_read(subject: str) -> None:
    found = head(f"From: A <a@b>\nSubject: {subject}\n\n")

    assert found == MailHead(subject=subject.replace("\n", "")[:10_000].strip(), author="A <a@b>")


def test_only_git_s_separator_begins_a_mail() -> None:
    assert mbox_commit(f"From {COMMIT} Mon Sep 17 00:00:00 2001".encode()) == COMMIT
    assert mbox_commit(b"From here on") is None


@pytest.mark.parametrize(
    ("subject", "expected"),
    [
        ("[PATCH 1/2] Do it", (1, 2)),
        ("[PATCH v3 00/12] Do it", (0, 12)),
        ("[RFC PATCH core 3/4]Do it", (3, 4)),
        ("[PATCH] Do 1/2 of it", None),
        (f"[PATCH {'9' * 5000}/2] Do it", None),
        ("Do it [1/2]", None),
    ],
)
def test_the_number_of_a_mail_in_its_series_is_read_from_its_subject(
    subject: str, expected: tuple[int, int] | None
) -> None:
    text = f"From: a <a@example.org>\nSubject: {subject}\n\nSubject: [PATCH 8/9] quoted\n"

    assert mail_number(text.encode()) == expected
    assert mail_number(text.replace("\n", "\r\n").encode()) == expected


def test_a_cover_letter_is_number_0_and_has_no_diff() -> None:
    letter = MAIL.replace("1/2", "0/2").encode()

    assert is_cover_letter(letter, "p")
    assert not is_cover_letter(MAIL.encode(), "p")
    assert not is_cover_letter(letter + b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", "p")
    assert not is_cover_letter(letter + b"diff --git a/x b/x\n", "p")


@pytest.mark.parametrize("fold", [b"", b"\n "], ids=["one line", "folded"])
def test_a_subject_of_megabytes_takes_no_more_memory_than_what_is_read_of_it(fold: bytes) -> None:
    lines = (b"From: A <a@b>\nSubject: " + (b"s" * 70 + fold) * (8 << 20 >> 6)).split(b"\n")
    tracemalloc.start()
    try:
        found = read_head(lines)
        taken = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert (len(found.subject), found.author) == (10_000, "A <a@b>")
    assert taken < 1 << 20


@pytest.mark.parametrize("length", [9_998, 9_999, 10_000, 10_001, 30_000])
def test_of_a_header_the_first_characters_are_read_however_it_is_folded(length: int) -> None:
    text = "\U0001f600" * length
    folded = [f" {text[at : at + 777]}".encode() for at in range(0, length, 777)]
    found = read_fields([b"Subject:", *folded, b"From: A <a@b>", b"", b"To: x"], 0)

    assert found.values == {
        "subject": f" {' '.join(text[at : at + 777] for at in range(0, length, 777))}"[:10_000],
        "from": "A <a@b>",
    }
    assert (found.lines, found.end) == ({"subject": 0, "from": len(folded) + 1}, len(folded) + 2)
    assert read_fields([f"Subject: {text}".encode()], 0).values == {"subject": text[:10_000]}
