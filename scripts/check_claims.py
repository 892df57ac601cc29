"""Check claims: the lab's published statements against their own numbers, and the study's own against its files."""

import yaml

from common import claims
from common.errors import StudyError
from common.files import read_json, read_tsv, reading, write_tsv
from common.rule import running

COLUMNS = ("id", "sentence", "source", "verdict", "data")


def read_claims(path):
    """Return the claims of a YAML file.

    Raises:
        StudyError: not YAML, no list `claims`, a faulty claim, or two of the same id.
    """
    with reading(path), open(path, encoding="utf-8") as handle:
        text = handle.read()
    try:
        content = yaml.safe_load(text)
    # ValueError: a date or number that YAML's form promises and that does not exist, such as 2026-02-30.
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise StudyError(f"{path} is not valid YAML: {' '.join(str(error).split())}") from error
    if not isinstance(content, dict) or not isinstance(content.get("claims"), list):
        raise StudyError(f"{path}: the file needs one key, claims, holding a list")
    for claim in content["claims"]:
        claims.validate(claim, path)
    names = [claim["id"] for claim in content["claims"]]
    for name in names:
        if names.count(name) > 1:
            raise StudyError(f"{path}: two claims have the id {name}")
    return content["claims"]


def own_claims(tables, method):
    """Return what the study's tables and verdicts assert, as claims to be checked against the runs.

    Args:
        tables: {name: rows}, with test_accuracy.tsv and pairs.tsv.
        method: content of statistics/method.json: its level and the number of pairs stand in the verdicts.
    """
    found = []
    for row in tables["test_accuracy.tsv"]:
        arm = {"framework": row["framework"], "init": row["init"]}
        name, mean = " ".join(arm.values()), f"{100 * float(row['mean']):.2f}"
        common = {"source": "test_accuracy.tsv", "table": "runs.tsv", "where": arm}
        if row["sd_ddof1"]:
            spread = f"{100 * float(row['sd_ddof1']):.2f}"
            found.append(
                common
                | {"id": f"table {name}", "sentence": f"{name}: {mean} ± {spread} on test.", "assertion": "mean_sd"}
                | {"mean": mean, "sd": spread, "ddof": 1}
            )
        found.append(
            common | {"id": f"headline {name}", "sentence": f"{name}: {mean}.", "assertion": "headline", "value": mean}
        )
    for row in tables["pairs.tsv"]:
        where = {key: row[key] for key in ("framework_a", "init_a", "framework_b", "init_b")}
        numbers = [method["level"], len(tables["pairs.tsv"])]
        for learned in tables["learned.tsv"]:
            arms = [(row["framework_a"], row["init_a"]), (row["framework_b"], row["init_b"])]
            if learned["learned"] == "false" and (learned["framework"], learned["init"]) in arms:
                # The k-th run that did not learn brings k into the verdict.
                numbers.append(len(numbers) - 1)
        for test in tables["mcnemar.tsv"]:
            if all(test[key] == value for key, value in where.items()):
                numbers.append(float(test["p_value"]))
        found.append(
            {"id": f"verdict {' '.join(where.values())}", "sentence": row["verdict"], "source": "statistics/pairs.tsv"}
            | {"assertion": "produced", "table": "pairs.tsv", "where": where, "numbers": numbers}
        )
    return found


def main(published, own, tables, method, report):
    """Write claims.tsv: published claims with their verdicts, then the study's own, which must not fail.

    Args:
        published: YAML of the published statements.
        own: list of YAML files of the study's own statements (may be empty).
        tables: {name in the claims: path of the TSV}.
        method: statistics/method.json.
        report: TSV to write: id, sentence, source, verdict, data.

    Raises:
        StudyError: a faulty claims file, or a claim of the study's own that its data contradict.
    """
    content = {name: read_tsv(path) for name, path in tables.items()}
    rows = [claims.check(claim, content) for claim in read_claims(published)]
    own = [claim for path in own for claim in read_claims(path)] + own_claims(content, read_json(method))
    checked = [claims.check(claim, content) for claim in own]
    wrong = [row for row in checked if row["verdict"] == claims.FAILS]
    if wrong:
        raise StudyError(
            "the study's own text is not what its data say:\n"
            + "\n".join(f"  {row['id']}: {row['sentence']} ({row['source']}): {row['data']}" for row in wrong)
        )
    write_tsv(report, rows + checked, COLUMNS)


if __name__ == "__main__":
    with running(snakemake):  # noqa: F821
        main(
            snakemake.input.published,  # noqa: F821
            list(snakemake.input.own),  # noqa: F821
            dict(zip(snakemake.params.names, snakemake.input.tables, strict=True)),  # noqa: F821
            snakemake.input.method,  # noqa: F821
            snakemake.output.claims,  # noqa: F821
        )
