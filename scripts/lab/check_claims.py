"""Check claims: the lab's published statements against their numbers, and the study's claims against its files."""

from common.arms import percent
from common.entry import run
from common.errors import StudyError
from common.files import read_tsv, write_tsv
from lab.claim_tables import FAILS, NOT_SETTLED, UNDECIDED, VERDICTS, part_of
from lab.claims import check_together, read_claims
from measures import DEFAULT, leading
from study.tables import write_table

COLUMNS = ("id", "sentence", "source", "verdict", "data")
# Columns of claims_by_report.tsv: the source of the claims, the report's first heading and words, the number of each
# verdict.
COUNTED = ("part", "heading", "opening", "claims", *(verdict.replace(" ", "_") for verdict in VERDICTS))


def own_claims(tables):
    """Return what the study's table of arms asserts, as claims to be checked against the runs.

    Args:
        tables: {name: rows}, with runs.tsv and test_accuracy.tsv.
    """
    found = []
    # Claims are about accuracy; where another measure leads, that table has its values.
    led = any(leading(row) != DEFAULT for row in tables["runs.tsv"])
    for row in () if led else tables["test_accuracy.tsv"]:
        arm, name, mean = {"arm": row["arm"]}, row["arm"], percent(row["mean"])
        common = {"source": "test_accuracy.tsv", "table": "runs.tsv", "where": arm}
        if row["sd_ddof1"]:
            spread = percent(row["sd_ddof1"])
            found.append(
                common
                | {"id": f"table {name}", "sentence": f"{name}: {mean} ± {spread} on test.", "assertion": "mean_sd"}
                | {"mean": mean, "sd": spread, "ddof": 1}
            )
        found.append(
            common | {"id": f"headline {name}", "sentence": f"{name}: {mean}.", "assertion": "headline", "value": mean}
        )
    return found


def counted(part, rows, report=None):
    """Return a row of claims_by_report.tsv.

    Args:
        part: whose claims they are.
        rows: checked claims.
        report: the report's row of reports.tsv, or None.
    """
    named = {key: (report or {}).get(key, "") for key in ("heading", "opening")}
    verdicts = [row["verdict"] for row in rows]
    numbers = {verdict.replace(" ", "_"): verdicts.count(verdict) for verdict in VERDICTS}
    return {"part": part, **named, "claims": len(rows), **numbers}


def count_by_report(published, claimed, reports):
    """Return the rows of claims_by_report.tsv: each report, all of them, other sources, the study's own.

    Where nothing published was checked, only the last.

    Args:
        published, claimed: checked claims.
        reports: rows of reports.tsv: report (its number), heading, opening.
    """
    if not published:
        return [counted("this study", claimed)]
    names = {f"report {report['report']}": report for report in reports}
    by_report = {name: [row for row in published if row["source"].startswith(f"{name},")] for name in names}
    others = [row for row in published if not any(row in rows for rows in by_report.values())]
    return [
        *(counted(name, rows, names[name]) for name, rows in by_report.items()),
        counted("all reports", [row for rows in by_report.values() for row in rows]),
        counted("other sources", others),
        counted("this study", claimed),
    ]


def concluded(asked, published, content):
    """Return the rows of conclusions.tsv: what the reports conclude, asked of this study's tables.

    Args:
        asked: claims of conclusions.yaml.
        published: {id: checked claim} of the statements that they are, with the verdict on the lab's own figures.
        content: {name: rows}.
    """
    # A branch that the study lacks, such as question answering, has no table.
    verdicts = check_together([claim for claim in asked if claim["table"] in content], content)
    rows = {row["id"]: row for row in verdicts}
    found = []
    for claim in asked:
        its = rows.get(claim["id"]) or {
            **{key: claim[key] for key in ("id", "sentence", "source")},
            **{"verdict": UNDECIDED, "data": f"this study has no {claim['table']}"},
        }
        lab = published[claim.get("of", claim["id"])]["verdict"]
        found.append(its | {"part": part_of(claim), "split": claim.get("split", ""), "lab_verdict": lab})
    return found


def main(
    published,
    reports,
    study_claims,
    tables,
    names,
    claims,
    by_report,
    asked=(),
    conclusions=None,
    listed=(),
    items_table=None,
):
    """Write claims.tsv: published claims with their verdicts, then the study's own, which must hold.

    Args:
        published: YAML of the published statements; [] for texts of one's own, which they are not about.
        reports: TSV that says which report is which.
        study_claims: list of YAML files of the study's own statements (may be empty).
        tables: paths of the TSV files that claims rest on.
        names: what claims call them, in the same order.
        claims: TSV to write: `COLUMNS`.
        by_report: TSV to write: `COUNTED`.
        asked: YAML of the reports' conclusions, to be asked of the study's tables; empty likewise.
        conclusions: TSV to write, of what the tables say of them; None where nothing is asked.
        listed: TSV of what the reports ask and show, and the file and section that answer it; empty likewise.
        items_table: TSV to write of it for the page; None likewise.

    Raises:
        StudyError: a faulty claims file, or a claim of the study's own that its data contradict or do not show.
    """
    content = {name: read_tsv(path) for name, path in zip(names, tables, strict=True)}
    statements = read_claims(published) if published else []
    rows = check_together(statements, content)
    study_claims = [claim for path in study_claims for claim in read_claims(path)] + own_claims(content)
    checked = check_together(study_claims, content)
    wrong = [row for row in checked if row["verdict"] in (FAILS, NOT_SETTLED)]
    if wrong:
        lines = [
            f"  {row['id']}: {row['sentence']} ({row['source']}): {row['verdict']}: {row['data']}" for row in wrong
        ]
        raise StudyError("\n".join(["the study's data do not support its own claims:", *lines]))
    write_tsv(claims, rows + checked, COLUMNS)
    write_tsv(by_report, count_by_report(rows, checked, read_tsv(reports)), COUNTED)
    if items_table:
        columns = {"asks": "item", "shows": "what", "answered_in": "file", "place": "section"}
        rows_of = [
            {"report": row["report"], **{k: row[name] for k, name in columns.items()}} for row in read_tsv(listed)
        ]
        write_table(items_table, "report_items", rows_of)
    if conclusions:
        by_id = {row["id"]: row for row in rows}
        write_table(conclusions, "conclusions", concluded(read_claims(asked, statements), by_id, content))


if __name__ == "__main__":
    run(main, snakemake)
