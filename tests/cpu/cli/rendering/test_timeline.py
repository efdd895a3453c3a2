from __future__ import annotations

from xml.etree import ElementTree as ET

from msgspec.structs import replace

from patchkit.cli.rendering.timeline import timeline
from patchkit.cli.rendering.verdicts import LOOKS
from patchkit.core.carried import Verdict
from patchkit.core.history.spans import ALARM
from patchkit.core.history_report import BreakReport, Counts, HistoryReport, Mark, Place

from .made_up_history import BEGIN, DAY, hunk, place, report, state

SVG = "{http://www.w3.org/2000/svg}"


def drawn(made: HistoryReport) -> ET.Element:
    return ET.fromstring(timeline(made))  # noqa: S314 - our own


def cells(picture: ET.Element) -> list[tuple[str, str, float, float]]:
    """Class, first line of the tooltip, left and right of each cell."""
    found = []
    for rect in picture.iter(f"{SVG}rect"):
        title = rect.find(f"{SVG}title")
        if title is not None and title.text:
            left = float(rect.attrib["x"])
            found.append((rect.attrib["class"], title.text, left, left + float(rect.attrib["width"])))
    return found


def test_every_verdict_and_the_alarm_have_a_look_of_their_own() -> None:
    assert set(LOOKS) == {*(verdict.value for verdict in Verdict), ALARM}
    assert len({look.letter.lower() for look in LOOKS.values()}) == len(LOOKS)
    assert len({look.colour for look in LOOKS.values()}) == len(LOOKS)
    assert {name for name, look in LOOKS.items() if look.bad} == {"obsolete", "conflict", "alarm"}
    assert all(look.letter.isupper() is look.bad for look in LOOKS.values())


def test_a_span_is_one_cell_as_long_as_its_time_and_tells_where_it_comes_from() -> None:
    line = [place(0, "begin"), place(10, "ten (#7)"), place(30, "thirty")]
    made = report(line, [hunk("h", (0, 1, "exact"), (1, 3, "conflict"))], tip=place(40, "tip"))
    one, two = cells(drawn(made))

    assert (one[0], two[0]) == ("cell exact", "cell conflict")
    assert one[1] == "one: h\nexact: why exact\nfrom day 0 0000000000 begin"
    assert two[1] == ("one: h\nconflict: why conflict\nfrom day 10 000000000a ten (#7)\nto day 30 000000001e thirty")
    assert one[3] == two[2]
    # Ten days to thirty, and the least width of each of the three columns.
    assert abs((two[3] - two[2] - 10) - 3 * (one[3] - one[2] - 5)) < 1


def test_a_clock_that_goes_back_makes_no_cell_narrower_than_the_least() -> None:
    line = [place(10), place(0), place(5)]
    made = cells(drawn(report(line, [hunk("h", (0, 1, "exact"), (1, 2, "moved"), (2, 3, "exact"))], tip=place(40))))

    assert [round(right - left, 1) >= 5.0 for _, _, left, right in made] == [True] * 3


def test_a_long_history_stays_a_small_picture() -> None:
    line = [place(number) for number in range(3000)]
    hunks = [hunk(f"h{number}", (0, 1500, "exact"), (1500, 3000, "obsolete")) for number in range(30)]
    picture = drawn(report(line, hunks, tip=place(3000)))

    assert len(cells(picture)) == 60
    assert len(list(picture.iter())) < 3000
    assert float(picture.attrib["width"]) < 6000


def test_text_of_others_stays_text() -> None:
    line = [place(0, "begin"), place(1, "</title><script>alert(1)</script> \x1b[31m & \ud800")]
    evil = '<img src=x>&"'
    picture = drawn(report(line, [hunk(evil, (0, 1, "exact"), (1, 2, "moved"), path="</text>")], tip=place(2)))
    tags = {element.tag.removeprefix(SVG) for element in picture.iter()}

    assert tags <= {"svg", "title", "style", "defs", "pattern", "rect", "line", "text", "circle", "path"}
    assert "one: " + evil in cells(picture)[0][1]
    assert "</title><script>alert(1)</script> ?[31m & ?" in cells(picture)[1][1]


def test_patches_and_files_have_headings() -> None:
    hunks = [hunk("a", (0, 1, "exact"), path="setup.py"), hunk("b", (0, 1, "exact"), path="setup.py")]
    texts = [(text.attrib.get("class"), text.text) for text in drawn(report([place(0)], hunks)).iter(f"{SVG}text")]
    at = texts.index(("head", "one"))

    assert texts[at : at + 3] == [("head", "one"), ("faint", "setup.py"), (None, "a")]
    assert [text for _, text in texts].count("setup.py") == 1


def test_a_break_has_a_mark_that_names_the_change_and_a_merge_a_diamond() -> None:
    line = [place(0, "begin"), place(1, "merge", merge=True)]
    broke = BreakReport(at=line[1], state=state("conflict"), within=(place(7, "inner (#8)"),))
    picture = drawn(report(line, [hunk("h", (0, 1, "exact"), (1, 2, "conflict"), first_bad=broke)], tip=place(9)))
    titles = {path.attrib["class"]: "".join(path.itertext()) for path in picture.iter(f"{SVG}path")}

    assert titles == {
        "dot": "day 1 0000000001 merge",
        "broke": "conflict since day 1 0000000001 merge\nbrought by day 7 0000000007 inner (#8)",
    }


def test_tags_stand_at_their_time_and_say_whether_they_are_on_the_line() -> None:
    marks = (
        Mark(tag="v1", date="2026-01-02", time=BEGIN, on_line=True),
        Mark(tag="v2", date="2026-01-22", time=BEGIN + 20 * DAY, on_line=False),
    )
    line = [place(0), place(40)]
    picture = drawn(report(line, [hunk("h", (0, 2, "exact"))], tip=place(40), marks=marks))
    tags = {
        "".join(each.itertext()): float(each.attrib["x1"])
        for each in picture.iter(f"{SVG}line")
        if each.attrib["class"].startswith("tag")
    }
    (_, _, left, right), *_ = cells(picture)

    assert list(tags) == ["v1 2026-01-02: a commit of the line", "v2 2026-01-22: by its date; not on the line"]
    first, second = tags.values()
    assert first == left
    assert abs(second - (left + (right - 5 - left) / 2)) < 3


def test_the_name_of_a_tag_at_the_end_of_the_line_is_not_cut() -> None:
    marks = (Mark(tag="core_v0.19.0", date="2026-02-10", time=BEGIN + 40 * DAY, on_line=True),)
    picture = drawn(report([place(0), place(40)], [hunk("h", (0, 2, "exact"))], tip=place(40), marks=marks))
    ends = [float(each.attrib["x"]) + 7 * len(each.text or "") for each in picture.iter(f"{SVG}text")]

    assert max(ends) < float(picture.attrib["width"])


def test_the_picture_has_colours_for_light_and_dark_and_a_hatching_for_what_is_bad() -> None:
    drawn_text = timeline(report([place(0)], [hunk("h", (0, 1, "exact"))]))

    assert "@media (prefers-color-scheme:dark)" in drawn_text
    assert [name for name in LOOKS if f'<pattern id="{name}"' in drawn_text] == ["obsolete", "conflict", "alarm"]


def test_of_builds_it_is_told_how_many_were_fetched() -> None:
    line = [Place(id="1.0", name="1.0", date="2026-01-02", time=BEGIN), place(9)]
    made = replace(
        report(line, [hunk("h", (0, 2, "exact"))]), source="index", counts=Counts(commits=344, line=2, texts=6)
    )

    assert "344 builds, 2 of them fetched" in [text.text for text in drawn(made).iter(f"{SVG}text")]


def test_builds_whose_days_no_index_tells_are_drawn_side_by_side() -> None:
    line = [Place(id=name, name=name, date="") for name in ("1.0", "1.1", "1.2")]
    made = cells(drawn(report(line, [hunk("h", (0, 1, "exact"), (1, 2, "moved"), (2, 3, "conflict"))])))

    assert made[0][1].splitlines()[-1] == "from 1.0"
    assert made[0][3] - made[0][2] > 100
    assert abs((made[0][3] - made[0][2]) - (made[1][3] - made[1][2])) < 0.2
