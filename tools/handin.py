"""Put what a paper or a course's report needs into one folder: figures, tables, methods, a text with its numbers.

Run by hand: `make handin [STUDY=FILE]`, or `python -m tools.handin RESULTS`. In RESULTS/handin: figures as PDF and PNG
at a column's width, tables as LaTeX (booktabs) and Markdown, methods.md, and report.md, which is report.template.md
with its numbers filled in. Edit the words of report.template.md and run it again: it is never overwritten, and every
number of it is a name in braces, looked up in the study's files. numbers.tsv lists the names.
"""

import difflib
import html
import importlib
import os
import re
import sys

import pandas

from analysis import error_figures, plot_arms, plot_arms_by_epoch, plot_learning_curves, plot_recipes
from analysis.epoch_curves import by_epochs, leading_points
from analysis.tabulate_test_accuracy import as_latex, as_markdown
from analysis.verdicts import without_names
from checkpoint import plot_pretraining
from common.arms import arm_label
from common.errors import StudyError
from common.files import atomic_path, read_json, read_tsv, write_text, write_tsv
from common.frames import read_frame
from data.reviews import noun_of
from measures import Lead
from report.arm_colours import label_of
from report.formats import FILTERS
from report.leading import Shown
from report.sections.answer.facts import side
from study.figures import majority_shares, mark_synthetic, set_style
from study.guests import guests
from study.products import product
from tools.checked import check_results
from tools.published_answers import answer
from tools.typed_numbers import typed_number

# The widths in inches of a column of a two-column article and of its page, and the size of its smallest text in points.
COLUMN, PAGE_WIDTH, SMALLEST = 3.35, 6.9, 6.0
# Every hand-in reads these; the crate names a study's further files.
READ = (
    "runs.tsv",
    "history.tsv",
    "figures/arms.tsv",
    "statistics/pairs.tsv",
    "baselines.tsv",
)


def table_of_arms(lead, ending="tsv"):
    """Return the name of the table of arms by the measure that leads."""
    return product("test_accuracy").file({"measure": lead.name}).replace(".tsv", f".{ending}")


def lead_of(folder):
    """Return the measure that leads a finished study, as its pages print it."""
    return Shown(read_tsv(os.path.join(folder, "runs.tsv"))[0])


# A name in braces, such as {arms.fairseq-random.mean}.
NAME = re.compile(r"{([\w.-]+)}")


def figures(folder, colours):
    """Yield (name, figure, whether it needs both columns) of what a study has.

    Args:
        folder: results folder.
        colours: configured colours by arm, or None.
    """
    manifest = read_json(os.path.join(folder, "data", "manifest.json"))
    runs, history = (read_frame(os.path.join(folder, name)) for name in ("runs.tsv", "history.tsv"))
    shares = majority_shares(manifest, manifest["splits"])
    yield "arms", plot_arms.draw(runs, plot_arms.intervals(runs, shares["test"]), colours), False
    lead = Lead(runs.iloc[0])
    points = leading_points(history, runs, lead)
    if len(points):
        yield "training", plot_arms_by_epoch.draw(points, shares, lead.name, colours, lead), True
    names = ("confusion", "agreement", "calibration", "by_length", "counts")
    tables = {name: path for name in names if os.path.exists(path := os.path.join(folder, "errors", f"{name}.tsv"))}
    if len(tables) == len(names):
        frames = {name: read_frame(path) for name, path in tables.items()}
        frames = {name: frame.apply(as_numbers) for name, frame in frames.items()}
        for name, figure, _ in error_figures.figures(frames, manifest, colours):
            yield name, figure, name in ("confusion", "agreement")
    recipes = [os.path.join(folder, name) for name in ("recipes.tsv", "recipes/differences.tsv", "recipes/runs.tsv")]
    if all(map(os.path.exists, recipes)):
        yield "recipes", plot_recipes.draw(*map(read_frame, recipes)), True
    curves = [os.path.join(folder, "learning_curves", f"{name}.tsv") for name in ("means", "runs", "baselines")]
    if all(map(os.path.exists, curves[:2])):
        sources = [*curves[:2], os.path.join(folder, "baselines.tsv"), *filter(os.path.exists, curves[2:])]
        yield "learning_curves", plot_learning_curves.draw(*map(read_frame, sources)), True
    path = os.path.join(folder, "checkpoint", "pretraining.tsv")
    if os.path.exists(path):
        yield "pretraining", plot_pretraining.draw(read_frame(path)), False
    for room, guest in guests().items():
        for name, table, script in guest.figures:
            if os.path.exists(path := os.path.join(folder, table)):
                yield name, importlib.import_module(f"{room}.{script}").draw_table(path), True


def as_numbers(column):
    """Return a column of text as numbers where all of it is."""
    try:
        return pandas.to_numeric(column) if column.name not in ("label", "prediction") else column
    except ValueError:
        return column


def save_for_print(figure, place, wide, synthetic):
    """Write a figure as PDF and PNG (300 dots an inch) at a column's width, its text no smaller than `SMALLEST`.

    Args:
        figure: matplotlib figure.
        place: path without its ending.
        wide: whether it takes both columns.
        synthetic: whether the data are, which the figure then says.
    """
    from matplotlib import lines, pyplot, text

    mark_synthetic(figure.axes[0], {"synthetic": synthetic})
    width, height = figure.get_size_inches()
    factor = (PAGE_WIDTH if wide else COLUMN) / width
    figure.set_size_inches(width * factor, height * factor)
    for part in figure.findobj(text.Text):
        part.set_fontsize(max(SMALLEST, part.get_fontsize() * factor))
    for part in figure.findobj(lines.Line2D):
        part.set_linewidth(part.get_linewidth() * factor)
        part.set_markersize(part.get_markersize() * factor)
    with atomic_path(f"{place}.pdf") as temporary:
        figure.savefig(temporary, metadata={"CreationDate": None, "Creator": None, "Producer": None})
    with atomic_path(f"{place}.png") as temporary:
        figure.savefig(temporary, dpi=300, metadata={"Software": None})
    pyplot.close(figure)


def numbers(folder):
    """Return {name: (text as printed, file, line)} of every number that a text may have.

    Args:
        folder: results folder.
    """
    found = {}

    def add(name, text, file, line):
        if text != "":
            found[name] = (str(text), file, line)

    runs, lead = read_tsv(os.path.join(folder, "runs.tsv")), lead_of(folder)
    names = ("n_train", "n_valid", "n_test")
    if len({row["n_train"] for row in runs}) > 1:
        # Where arms have an `n_train`, the study has no single size.
        names = names[1:]
        for line, row in enumerate(runs, start=2):
            add(f"arms.{row['arm']}.n_train", FILTERS["integer"](row["n_train"]), "runs.tsv", line)
    for name in names:
        add(f"study.{name}", FILTERS["integer"](runs[0][name]), "runs.tsv", 2)
    for file, names in (
        (table_of_arms(lead), ("mean", "sd_ddof1", "min", "max", "n_seeds")),
        ("figures/arms.tsv", ("t_low", "t_high", "majority_share")),
    ):
        for line, row in enumerate(read_tsv(os.path.join(folder, file)), start=2):
            for name in names:
                text = FILTERS["integer"](row[name]) if name == "n_seeds" else lead.show(row[name])
                add(f"arms.{row['arm']}.{name}", text, file, line)
    for line, row in enumerate(read_tsv(os.path.join(folder, "statistics/pairs.tsv")), start=2):
        pair = f"pairs.{row['arm_a']}.{row['arm_b']}"
        for name in ("difference", "low", "high", "welch_p_holm", "seeds_p_holm"):
            if row[name]:
                text = FILTERS["p_value"](row[name]) if name.endswith("holm") else lead.gap(row[name])
                add(f"{pair}.{name}", text, "statistics/pairs.tsv", line)
    questions = os.path.join(folder, "questions.tsv")
    for line, row in enumerate(read_tsv(questions) if os.path.exists(questions) else [], start=2):
        add(f"questions.{line - 1}.answer", answer(row).removeprefix("- "), "questions.tsv", line)
    for line, row in enumerate(read_tsv(os.path.join(folder, "baselines.tsv")), start=2):
        add(f"baselines.{row['baseline']}.{lead.test}", lead.show(row[lead.test]), "baselines.tsv", line)
    return found


def filled(template, known):
    """Return a text with every `{name}` replaced by its number.

    Raises:
        StudyError: a name that the study does not have, or a number that was typed.
    """
    arms = {arm_label(name.split(".", 1)[1].rpartition(".")[0]) for name in known if name.startswith("arms.")}
    lines = []
    texts = template.splitlines()
    for place, (before, line) in enumerate(zip(["", *texts], texts, strict=False), start=1):
        for name in NAME.findall(line):
            if name not in known:
                near = difflib.get_close_matches(name, known, 1)
                raise StudyError(
                    f"report.template.md, line {place}: there is no number {{{name}}}"
                    + (f"; did you mean {{{near[0]}}}?" if near else "")
                    + " (numbers.tsv lists the names)"
                )
        typed = typed_number(without_names(NAME.sub(" ", line), arms), before)
        if typed and "<!-- own number -->" not in line:
            raise StudyError(
                f"report.template.md, line {place}: {typed} was typed; write its name in braces (numbers.tsv), or "
                "end the line with <!-- own number --> if no file of the study has it"
            )
        lines.append(NAME.sub(lambda found: known[found[1]][0], line).replace(" <!-- own number -->", ""))
    return "\n".join(lines) + "\n"


def pairs_table(folder):
    """Return the pairs of arms as a frame of text."""
    show, lead = FILTERS, lead_of(folder)
    return pandas.DataFrame(
        {
            "Pair": f"{label_of(side(row, 'a'))} minus {label_of(side(row, 'b'))}",
            f"Difference{lead.apart}": lead.gap(row["difference"]),
            "Interval": f"{lead.gap(row['low'])} to {lead.gap(row['high'])}" if row["low"] else "one seed",
            "Welch p (Holm)": show["p_value"](row["welch_p_holm"]),
            "Permutation p (Holm)": show["p_value"](row["seeds_p_holm"]),
        }
        for row in read_tsv(os.path.join(folder, "statistics", "pairs.tsv"))
    )


def methods(folder):
    """Return the methods of the study's report as plain text, paragraphs apart.

    Raises:
        StudyError: the report has none: it was built by an earlier version.
    """
    with open(os.path.join(folder, "report.html"), encoding="utf-8") as handle:
        found = re.search(r'<blockquote class="methods">(.*?)</blockquote>', handle.read(), re.DOTALL)
    if not found:
        raise StudyError(f"{folder}/report.html has no methods: build it again (make regenerate)")
    paragraphs = re.findall(r"<p>(.*?)</p>", found[1], re.DOTALL)
    # Non-breaking spaces stay.
    texts = (re.sub(r"[ \n]+", " ", html.unescape(re.sub("<[^>]+>", "", part))).strip(" ") for part in paragraphs)
    return "\n\n".join(texts)


def first_template(folder, known, texts):
    """Return a text to begin with: one sentence an arm and the answer to each question, all its numbers named.

    Args:
        folder: results folder.
        known: `numbers`.
        texts: what the study's texts are called, as in "reviews".
    """
    lead = lead_of(folder)
    unit = " %" if lead.percent else f" {lead.unit}" if lead.unit else ""
    arms = [(row["arm"], label_of(row)) for row in read_tsv(os.path.join(folder, table_of_arms(lead)))]
    sentences = []
    for key, label in arms:
        spread = ""
        if f"arms.{key}.t_low" in known:
            spread = f", {{arms.{key}.t_low}} to {{arms.{key}.t_high}}{unit} by the t-interval over seeds"
        seeds = "one seed" if known[f"arms.{key}.n_seeds"][0] == "1" else f"mean of {{arms.{key}.n_seeds}} seeds"
        size = f" from {{arms.{key}.n_train}} {texts}" if f"arms.{key}.n_train" in known else ""
        sentences.append(f"{label} reaches {{arms.{key}.mean}}{unit} test {lead.label}{size} ({seeds}{spread}).")
    trained = f"trained on {{study.n_train}} {texts} and " if "study.n_train" in known else ""
    on = "" if trained else f" {texts}"
    answers = [f"{{{name}}}" for name in known if name.startswith("questions.")]
    shown = [
        ("arms", f"Test {lead.label} of every seed, the mean and its interval."),
        *([("training", f"{lead.title} over training.")] if by_epochs(read_frame(f"{folder}/runs.tsv")).any() else []),
    ]
    drawn = [f"![{words}](figures/{name}.png)" for name, words in shown]
    parts = [
        "# Results", f"The study {trained}tested on {{study.n_test}}{on}.", " ".join(sentences),
        *answers, *drawn, "# Methods", "The methods are those of `methods.md`.",
    ]  # fmt: skip
    return "\n\n".join(parts) + "\n"


def main(folder):
    """Write the folder of a finished study.

    Args:
        folder: its results folder.

    Raises:
        StudyError: the study is not finished, or report.template.md names what it does not have.
    """
    for name in ("report.html", "runs.tsv", "statistics/pairs.tsv", "settings.json", "ro-crate-metadata.json"):
        if not os.path.exists(os.path.join(folder, name)):
            raise StudyError(f"{folder} has no {name}: finish the study first (make, or make study STUDY=FILE)")
    lead = lead_of(folder)
    check_results(folder, (*READ, table_of_arms(lead)))
    place = os.path.join(folder, "handin")
    known = numbers(folder)
    rows = [{"name": name, "number": text, "file": file, "row": line} for name, (text, file, line) in known.items()]
    write_tsv(os.path.join(place, "numbers.tsv"), rows, ("name", "number", "file", "row"))
    manifest = read_json(os.path.join(folder, "data", "manifest.json"))
    texts = noun_of(manifest)["many"]
    template = os.path.join(place, "report.template.md")
    if not os.path.exists(template):
        write_text(template, first_template(folder, known, texts))
    with open(template, encoding="utf-8") as handle:
        write_text(os.path.join(place, "report.md"), filled(handle.read(), known))
    write_text(os.path.join(place, "methods.md"), methods(folder) + "\n")
    pairs, note = (
        pairs_table(folder),
        f"Differences in {'percentage points' if lead.percent else lead.label}, intervals over seeds and {texts}.",
    )
    if len(pairs):
        write_text(os.path.join(place, "tables", "pairs.md"), as_markdown(pairs, note))
        write_text(os.path.join(place, "tables", "pairs.tex"), as_latex(pairs.set_index("Pair"), note))
    for ending in ("md", "tex"):
        name = table_of_arms(lead, ending)
        with open(os.path.join(folder, name), encoding="utf-8") as handle:
            write_text(os.path.join(place, "tables", name), handle.read())
    settings = read_json(os.path.join(folder, "settings.json"))
    synthetic = bool(manifest["synthetic"])
    set_style()
    os.makedirs(os.path.join(place, "figures"), exist_ok=True)
    drawn = 0
    for name, figure, wide in figures(folder, (settings.get("report") or {}).get("colours")):
        save_for_print(figure, os.path.join(place, "figures", name), wide, synthetic)
        drawn += 1
    tables = "2 tables" if len(pairs) else "1 table"
    print(f"{drawn} figures, {tables} and {len(known)} numbers to name: {os.path.abspath(place)}")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:2])
    except (TypeError, StudyError) as error:
        sys.exit(f"handin: {error if isinstance(error, StudyError) else 'name the results folder of a finished study'}")
