"""Check what a text asserts against the data that it rests on.

A claim is a dictionary: `id`, `sentence`, `source`, `assertion` (one of `ASSERTIONS`) and what that assertion needs.
Numbers are quoted strings, as printed, since "0.80" promises two decimals; accuracies are in per cent, as in the text,
and compared with fractions in the tables. A check answers (verdict, what the data say):

holds              the data bear the sentence out
fails              they contradict it
not settled        a test shows neither the sentence nor its contrary
transcribed        all that the data have of it was copied from the sentence itself
cannot be decided  what it rests on is not at hand

What rests on a test has one criterion, that of the study's questions: the sentence or its contrary, whichever is nearer
to the data, is shown where p is at most 0.05 after Holm's correction over all tested claims that are checked together.
"""

import yaml

from analysis.inference import holm
from analysis.verdicts import p_text
from common.errors import StudyError
from common.files import reading
from lab.claim_tables import FAILS, HOLDS, NOT_SETTLED, NUMBER, VERDICTS
from lab.exact_claims import EXACT
from lab.tested_claims import TESTED
from lab.use_claims import USE

ALPHA = 0.05
ASSERTIONS = EXACT | USE | TESTED


def validate(claim, where):
    """Raise unless a claim has all that its assertion needs.

    Raises:
        StudyError: naming the claim and the key.
    """
    if not isinstance(claim, dict) or not claim.get("id") or not isinstance(claim["id"], str):
        raise StudyError(f"{where}: every claim is a mapping with an id, which is text")
    for key in ("sentence", "source", "assertion"):
        if not claim.get(key) or not isinstance(claim[key], str):
            raise StudyError(f"{where}: claim {claim['id']} lacks {key!r}, which must be text")
    if claim["assertion"] not in ASSERTIONS:
        raise StudyError(
            f"{where}: claim {claim['id']}: unknown assertion {claim['assertion']!r} "
            f"(use one of {', '.join(ASSERTIONS)})"
        )
    for key in ASSERTIONS[claim["assertion"]][1]:
        if key not in claim:
            raise StudyError(f"{where}: claim {claim['id']} ({claim['assertion']}) lacks {key!r}")
    if claim["assertion"] == "read" and claim["verdict"] not in VERDICTS:
        raise StudyError(f"{where}: claim {claim['id']}: verdict must be one of {', '.join(VERDICTS)}")
    for key in ("mean", "sd", "value", "within", "count", "factor"):
        if key in claim and not (isinstance(claim[key], str) and NUMBER.fullmatch(claim[key])):
            raise StudyError(f'{where}: claim {claim["id"]}: quote {key} as printed, such as "0.80"')


def judged(tested, corrected):
    """Return the verdict of a tested claim: the sentence or its contrary is shown, or neither."""
    if corrected > ALPHA:
        return NOT_SETTLED
    return HOLDS if tested.right else FAILS


def asked(claim, tables):
    """Return what a claim's check answers.

    Raises:
        StudyError: a value of the claim is of a kind that its assertion cannot use.
    """
    try:
        return ASSERTIONS[claim["assertion"]][0](claim, tables)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise StudyError(
            f"claim {claim['id']} ({claim['assertion']}): one of its values cannot be used ({error!r:.120}); "
            "compare it with the claims in claims/published.yaml"
        ) from error


def check_together(claims, tables):
    """Return a row of claims.tsv for each claim: id, sentence, source, verdict, data.

    Args:
        claims: validated claims; those that are tested are one family of Holm's correction.
        tables: {name: rows}.

    Raises:
        StudyError: see `asked`.
    """
    answers = [asked(claim, tables) for claim in claims]
    family = holm([getattr(answer, "p", None) for answer, _ in answers])
    n_tested, rows = sum(p is not None for p in family), []
    for claim, (answer, says), p in zip(claims, answers, family, strict=True):
        row = {key: " ".join(str(claim[key]).split()) for key in ("id", "sentence", "source")}
        if p is not None:
            answer = judged(answer, p)
            says += f", {p_text(p).removeprefix('p = ')} corrected for {n_tested} claims" if n_tested > 1 else ""
        rows.append(row | {"verdict": answer, "data": says + (f"; {claim['note']}" if claim.get("note") else "")})
    return rows


def check(claim, tables):
    """Return the row of one claim that is checked alone; see `check_together`."""
    return check_together([claim], tables)[0]


def read_claims(path, sentences=()):
    """Return the claims of a YAML file.

    Args:
        path: the file.
        sentences: claims that lend their sentence and source to a claim of the same id, or to one that is `of` that id:
            both stand once only.

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
    lent = {claim["id"]: {key: claim[key] for key in ("sentence", "source")} for claim in sentences}
    for i, claim in enumerate(content["claims"]):
        if isinstance(claim, dict) and isinstance(claim.get("id"), str):
            claim = content["claims"][i] = lent.get(claim.get("of", claim["id"]), {}) | claim
        validate(claim, path)
    names = [claim["id"] for claim in content["claims"]]
    for name in names:
        if names.count(name) > 1:
            raise StudyError(f"{path}: two claims have the id {name}")
    return content["claims"]
