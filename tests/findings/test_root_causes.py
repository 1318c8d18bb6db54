"""Root causes: violations that one missing lock makes are one group, shown once."""

from __future__ import annotations

from dataclasses import replace

import atomsan
from atomsan.findings.finding import Finding, Hold, InSet, SiteShown
from atomsan.findings.root_causes import root_causes, with_groups
from atomsan.reports.text import MOST_WAYS, render
from findings.test_triage import finding

LOST = "T read A#1.x > U write A#1.x > T write A#1.x"
TORN = "T read A#1.x > U write A#1.x > U write A#1.y > T read A#1.y"
OF_THREE = "T read A#1.x > U write A#1.x > V write A#1.x > T write A#1.x"
OTHER_OBJECT = "T read A#2.x > U write A#2.x > T write A#2.x"
OTHER_CLASS = "T read B#1.x > U write B#1.x > T write B#1.x"


def at(given: Finding, *lines: int) -> Finding:
    """The finding, with its steps in these lines."""
    steps = [
        replace(step, site=SiteShown("m.py", line, 0, None, None))
        for step, line in zip(given.witness, lines, strict=True)
    ]
    return replace(given, witness=tuple(steps))


def groups(*judged: Finding) -> list[list[Finding]]:
    grouped = with_groups(judged)
    assert [replace(one, group="") for one in grouped] == list(judged), "the order is kept"
    return [
        [judged[i] for i, one in enumerate(grouped) if one.group == group]
        for group in dict.fromkeys(one.group for one in grouped)
    ]


def test_one_region_on_one_class_is_one_group() -> None:
    lost, torn, other = at(finding(LOST), 1, 2, 3), at(finding(TORN), 1, 4, 5, 6), at(finding(OTHER_OBJECT), 7, 8, 9)
    assert groups(lost, torn, other) == [[lost, torn, other]]


def test_other_classes_and_regions_are_other_groups() -> None:
    lost = at(finding(LOST), 1, 2, 3)
    of_class, of_region = at(finding(OTHER_CLASS), 4, 5, 6), at(finding(LOST, "m:g"), 7, 8, 9)
    assert groups(lost, of_class, of_region) == [[lost], [of_class], [of_region]]


def test_globals_of_one_module_are_one_group() -> None:
    one, other = (
        at(finding(LOST.replace("A#1.x", name)), *lines) for name, lines in (("m.x", (1, 2, 3)), ("m.y", (4, 5, 6)))
    )
    assert groups(one, other) == [[one, other]]


def test_set_that_spans_classes_is_one_group() -> None:
    in_set = InSet("A #1 (set)", frozenset({"A"}))
    across = at(finding("T write A#1.x > U read A#1.x > U read B#4.y > T write B#4.y"), 1, 2, 3, 4)
    across = replace(across, witness=tuple(replace(step, sets=(in_set,)) for step in across.witness))
    inside = at(finding(LOST), 5, 6, 7)
    assert groups(across, inside) == [[across, inside]]


def test_violation_through_the_sites_of_another_goes_below_it() -> None:
    lost, of_caller = at(finding(LOST), 1, 2, 3), at(finding(OF_THREE, "m:caller"), 1, 2, 2, 3)
    assert groups(of_caller, lost) == [[of_caller, lost]]
    (cause,) = root_causes(with_groups([of_caller, lost]))
    assert (cause.shown.region, [way.region for way in cause.ways]) == ("m:f", ["m:caller"])
    elsewhere = at(finding(OF_THREE, "m:caller"), 1, 2, 9, 3)
    assert groups(elsewhere, lost) == [[elsewhere], [lost]]


def test_suspect_through_the_sites_of_a_finding_goes_below_it() -> None:
    suspect = replace(at(finding(LOST, "m:g"), 1, 2, 3), level="suspect", why="an idiom")
    found = at(finding(OF_THREE), 1, 2, 2, 3)
    (cause,) = root_causes(*([one] for one in with_groups([found, suspect])))
    assert (cause.shown.level, [way.level for way in cause.ways]) == ("finding", ["suspect"])


def test_the_witness_with_the_fewest_threads_and_steps_is_shown() -> None:
    three, torn, lost = at(finding(OF_THREE), 1, 2, 2, 3), at(finding(TORN), 1, 4, 5, 6), at(finding(LOST), 1, 2, 3)
    for judged in ([three, torn, lost], [lost, torn, three]):
        (cause,) = root_causes(with_groups(judged))
        assert len(cause.shown.witness) == 3
    (cause,) = root_causes(with_groups([three, torn]))
    assert {step.thread for step in cause.shown.witness} == {"T", "U"}


def test_group_does_not_depend_on_the_run() -> None:
    """Neither on object numbers, nor on what else was found."""
    one, other = at(finding(LOST), 1, 2, 3), at(finding(OTHER_OBJECT), 1, 2, 3)
    assert with_groups([one])[0].group == with_groups([other, one])[1].group


def test_text_has_one_block_for_one_root_cause() -> None:
    report = atomsan.check(atomsan.parse("T1:begin(f) T1:r(x) T2:w(x) T1:w(x) T1:end"))
    ways = [replace(at(finding(LOST), line, 2, 3), id=str(line), pattern="lost update") for line in range(10, 18)]
    text = render([replace(report, findings=with_groups([*ways, *report.findings]))])
    assert "9 findings of 2 root causes (auto)" in text
    assert text.count("\n1. ") == text.count("\n2. ") == 1
    assert "\n3. " not in text
    assert text.count("\n   also lost update at m.py:") == MOST_WAYS
    assert "\n   also lost update at m.py:11 and m.py:3, with others at m.py:2 (seen once)  [11]\n" in text
    assert f"\n   and {len(ways) - 1 - MOST_WAYS} more ways (--all shows them)\n" in text
    everything = render([replace(report, findings=with_groups(ways))], with_notes=True)
    assert everything.count("\n   also lost update at m.py:") == len(ways) - 1


def test_suspects_of_one_root_cause_have_one_line() -> None:
    report = atomsan.check(atomsan.parse("T1:r(x)"))
    ways = [replace(at(finding(LOST), line, 2, 3), level="suspect", why="an idiom") for line in (10, 11, 12)]
    text = render([replace(report, suspects=with_groups(ways))])
    assert "\n3 suspects: may be a bug" in text
    assert text.count("an idiom") == 1
    assert "(seen once, and 2 more ways): an idiom" in text


def holding(given: Finding, *places: int, since: tuple[int, ...] = ()) -> Finding:
    """The finding, with the lock held at these steps, from the first of them on or from these events."""
    starts = dict(zip(places, since or [places[0]] * len(places), strict=True))
    steps = [
        replace(step, holds=(Hold("A.lock", starts[number]),) if number in starts else ())
        for number, step in enumerate(given.witness)
    ]
    return replace(given, witness=tuple(steps), span=(0, len(steps) - 1))


MIRRORED = "T write A#1.x > U read A#1.x > U read A#1.y > T write A#1.y"


def test_violation_of_a_unit_that_holds_the_lock_goes_where_it_is_missing() -> None:
    """A writer that holds the lock is torn by two readers that do not."""
    one = holding(at(finding(TORN, "m:one"), 1, 8, 9, 2), 1, 2)
    other = holding(at(finding(TORN, "m:other"), 3, 8, 9, 4), 1, 2)
    by_one = holding(at(finding(MIRRORED, "m:writer"), 8, 1, 2, 9), 0, 3)
    by_other = holding(at(finding(MIRRORED, "m:writer"), 8, 3, 4, 9), 0, 3)
    assert groups(by_one, by_other, one, other) == [[by_one, one], [by_other, other]]
    assert [cause.shown.region for cause in root_causes(with_groups([by_one, by_other, one, other]))] == [
        "m:one",
        "m:other",
    ]
    also_elsewhere = holding(at(finding(MIRRORED, "m:writer"), 11, 1, 2, 12), 0, 3)
    assert groups(also_elsewhere, one) == [[also_elsewhere, one]]
    shorter = holding(at(finding(LOST, "m:writer"), 8, 1, 9), 0, 2)
    assert groups(shorter, one) == [[shorter, one]]
    (cause,) = root_causes(with_groups([shorter, one]))
    assert cause.shown.region == "m:one", "there the lock is missing, though the other is shorter"


def test_violation_of_a_unit_without_the_lock_stays_where_it_is() -> None:
    one = holding(at(finding(TORN, "m:one"), 1, 8, 9, 2), 1, 2)
    two_holds = holding(at(finding(LOST, "m:writer"), 8, 1, 9), 0, 2, since=(0, 2))
    assert groups(two_holds, one) == [[two_holds], [one]], "it lets the lock go in between"
    bare = holding(at(finding(LOST, "m:writer"), 8, 1, 9), 1)
    assert groups(bare, one) == [[bare], [one]]
    unknown = at(finding(LOST, "m:writer"), 8, 1, 9)
    assert groups(unknown, one) == [[unknown], [one]]


def test_violation_of_a_unit_with_the_lock_and_sites_of_its_own_stays_where_it_is() -> None:
    one = holding(at(finding(TORN, "m:one"), 1, 8, 9, 2), 1, 2)
    elsewhere = holding(at(finding(LOST, "m:writer"), 8, 5, 9), 0, 2)
    assert groups(one, elsewhere) == [[one], [elsewhere]]
    other = holding(at(finding(TORN, "m:other"), 3, 8, 9, 4), 1, 2)
    of_both = holding(at(finding(MIRRORED, "m:writer"), 8, 1, 4, 9), 0, 3)
    assert groups(one, other, of_both) == [[one], [other], [of_both]], "of neither of the two alone"


def test_finding_does_not_go_below_a_suspect() -> None:
    suspect = replace(holding(at(finding(TORN, "m:one"), 1, 8, 9, 2), 1, 2), level="suspect", why="an idiom")
    found = holding(at(finding(LOST, "m:writer"), 8, 1, 9), 0, 2)
    assert groups(found, suspect) == [[found], [suspect]]
