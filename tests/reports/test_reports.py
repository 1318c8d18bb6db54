"""Reports: data in, text out."""

from __future__ import annotations

import json
from dataclasses import replace

import atomsan
from atomsan import Report
from atomsan.findings.runs import merge_runs
from atomsan.reports import json as json_report
from atomsan.reports import text as text_report

BANK = """\
main|fork(A)|bank.py:3
main|fork(B)|bank.py:4
A|begin(bank:deposit)|bank.py:12
A|r(Account.balance)|bank.py:14
B|begin(bank:deposit)|bank.py:12
B|r(Account.balance)|bank.py:14
B|w(Account.balance)|bank.py:16
B|end(bank:deposit)|bank.py:17
A|w(Account.balance)|bank.py:16
A|end(bank:deposit)|bank.py:17
"""


def report(text: str = BANK) -> Report:
    return atomsan.check(atomsan.parse(text, format="std"))


def test_text_of_a_report_with_a_finding() -> None:
    (finding,) = report().findings
    assert text_report.render([report()]) == (
        "the text: violated, not serializable\n"
        "  10 events, 3 threads, 0 locks, 1 variable, 2 transactions\n"
        "  1 violation in 1 transaction, 1 finding (auto)\n"
        "  aerodrome: violated, davida: violated\n"
        "\n"
        f"1. lost update in bank:deposit (seen once, first at the text:9)  [{finding.id}]\n"
        "     A #1  read   Account.balance  bank.py:14\n"
        "     B #1  write  Account.balance  bank.py:16\n"
        "     A #1  write  Account.balance  bank.py:16\n"
        "   A reads Account.balance (bank.py:14), then B writes it (bank.py:16).\n"
        "   B writes Account.balance (bank.py:16), then A writes it again (bank.py:16).\n"
        "   A reads Account.balance and later writes it, and B writes it in between:"
        " what was read may no longer hold.\n"
        "   hint: no lock is held at any of these steps: hold one lock over lines 14 to 16 of bank.py\n"
    )


def test_text_of_a_report_without_findings() -> None:
    assert text_report.render([report("T1|begin(f)|1\nT1|r(x)|2\nT1|end(f)|3\n")]) == (
        "the text: holds, serializable\n"
        "  3 events, 1 thread, 0 locks, 1 variable, 1 transaction\n"
        "  0 violations, 0 findings (auto)\n"
        "  aerodrome: holds, davida: holds\n"
    )


def test_limit_shows_how_many_findings_are_hidden() -> None:
    found = report()
    many = replace(found, findings=[replace(found.findings[0], id=str(i), group=str(i)) for i in range(5)])
    text = text_report.render([many], limit=2)
    assert text.endswith("\n\n3 more findings (--limit shows more)\n")
    assert "\n2. " in text
    assert "\n3. " not in text
    assert "5 more findings" in text_report.render([many], limit=0)
    assert "\n5. " in text_report.render([many])


def test_control_characters_in_names_are_escaped() -> None:
    text = text_report.render([report(BANK.replace("Account", "\x1b[31mAcc\x07ount"))])
    assert "\x1b" not in text
    assert "\x07" not in text


def test_unknown_verdict_has_its_reason() -> None:
    unknown = replace(report(), serializable=None, reason="out of time", findings=[])
    assert text_report.render([unknown]).startswith("the text: unknown, out of time\n")
    assert unknown.to_dict()["reason"] == "out of time"


def test_json_of_one_report() -> None:
    content = json.loads(json_report.render([report()]))
    assert content == report().to_dict() | {"seconds": content["seconds"]}
    assert list(content) == [
        *("schema", "tool", "trace", "algorithm", "verdict", "serializable", "violations", "transactions"),
        *("findings", "suspects", "notes", "results", "warnings", "counters", "seconds"),
    ]
    assert content["schema"] == "atomsan-report/2"
    assert content["trace"] == {
        "source": "the text",
        "events": 10,
        "threads": 3,
        "locks": 0,
        "variables": 1,
        "transactions": 2,
        "complete": True,
    }
    assert content["transactions"] == [["A", 1]]
    assert set(content["results"]) == {"aerodrome", "davida"}
    assert {"total", "aerodrome", "davida"} == set(content["seconds"])
    (finding,) = content["findings"]
    assert list(finding) == [
        *("id", "group", "status", "kind", "pattern", "region", "count", "runs", "first_event"),
        *("witness", "interleaving", "explanation", "hint", "schedule", "replay", "outcome"),
    ]
    assert finding["witness"][0] == {
        "thread": "A",
        "transaction": 1,
        "region": "bank:deposit",
        "event": 3,
        "op": "read",
        "location": "Account.balance",
        "site": {"file": "bank.py", "line": 14, "column": None, "function": None, "text": None},
        "locks": [],
        "edge": {"to": 6, "kind": "read-write"},
    }


def test_json_of_several_reports() -> None:
    content = json.loads(json_report.render([report(), report(), report("T1|r(x)|1\n")]))
    assert set(content) == {"schema", "reports", "findings", "suspects"}
    assert [len(one["findings"]) for one in content["reports"]] == [1, 1, 0]
    assert [(finding["count"], finding["runs"]) for finding in content["findings"]] == [(2, 2)]
    assert content["suspects"] == []


def suspecting() -> Report:
    found = report()
    suspect = replace(found.findings[0], level="suspect", why="an idiom")
    return replace(found, findings=[], suspects=[suspect], is_recorded=True)


def test_suspects_do_not_violate_and_have_a_line_each() -> None:
    suspected = suspecting()
    assert (suspected.verdict, suspected.serializable) == ("holds", False)
    assert suspected.failing() == []
    assert suspected.failing(["suspects"]) == suspected.suspects
    text = text_report.render([suspected])
    assert text.startswith("the text: holds, though the trace is not serializable\n")
    assert "0 findings (auto), 1 suspect, 0 notes" in text
    (line,) = [line for line in text.splitlines() if "lost update" in line]
    assert "in bank:deposit at bank.py:14 and bank.py:16 (seen once): an idiom" in line
    assert "@atomsan.atomic" in text
    assert "to look further: --noise --repeat 10" in text
    assert "A #1  read" not in text
    assert "A #1  read" in text_report.render([suspected], with_notes=True)


def test_a_violation_is_a_finding_if_it_is_one_in_any_of_the_reports() -> None:
    documents = [json_report.render([one]) for one in (suspecting(), report(), suspecting())]
    content = json.loads(json_report.merge(documents))
    assert [(one["count"], one["runs"]) for one in content["findings"]] == [(3, 3)]
    assert "why" not in content["findings"][0]
    assert content["suspects"] == []


def test_reports_of_version_1_can_be_merged() -> None:
    """They have no suspects, and their findings no `runs` and no `group`."""
    old = json.loads(json_report.render([report()]))
    del old["suspects"], old["findings"][0]["runs"], old["findings"][0]["group"]
    old["schema"] = "atomsan-report/1"
    content = json.loads(json_report.merge([json.dumps(old), json_report.render([report()])]))
    assert content["schema"] == "atomsan-report/2"
    assert [(one["count"], one["runs"]) for one in content["findings"]] == [(2, 2)]


def test_a_report_can_be_printed_and_shown_in_a_notebook() -> None:
    found = report(BANK.replace("bank:deposit", "bank:<locals>"))
    assert f"{found}\n" == text_report.render([found])
    assert found._repr_html_().startswith("<pre>the text: violated, not serializable\n")
    assert "bank:&lt;locals&gt;" in found._repr_html_()


def test_reports_of_several_runs_are_merged() -> None:
    fine = report("T1|begin(f)|1\nT1|r(x)|2\nT1|end(f)|3\n")
    merged = merge_runs([[report()], [fine, suspecting()], [fine]])
    assert (merged.verdict, merged.serializable, merged.runs, merged.trace.events) == ("violated", False, 3, 26)
    (finding,) = merged.findings
    assert (finding.level, finding.why, finding.count, finding.runs) == ("finding", None, 2, 2)
    assert merged.suspects == []
    assert "(seen 2 times in 2 of 3 runs, first at the text:9)" in str(merged)
    assert "\n  3 runs, 26 events, 3 threads, " in str(merged)
    content = json.loads(json_report.render([merged]))
    assert set(content) == {"schema", "verdict", "runs", "reports", "findings", "suspects"}
    assert (content["verdict"], content["runs"], len(content["reports"])) == ("violated", 3, 4)
    assert [(one["count"], one["runs"]) for one in content["findings"]] == [(2, 2)]


def test_of_several_runs_one_that_was_stopped_leaves_it_unknown() -> None:
    fine = report("T1|r(x)|1\n")
    assert merge_runs([[fine], [fine]]).verdict == "holds"
    merged = merge_runs([[fine], [replace(fine, reason="out of time", stopped="out of time", serializable=None)]])
    assert (merged.verdict, merged.reason, merged.stopped) == ("unknown", "out of time", "out of time")
    assert merged.serializable is None
    assert str(merged).startswith("the text: unknown, out of time\n  2 runs, ")
