"""The house's facts about question answering, a guest: see `study.guests`."""

import os

from common.files import read_json, read_tsv
from qa.compared_arms import BASE, is_base
from qa.qa_arms import qa_arms
from qa.question_checks import check_qa
from study.finetuning_checks import check_case
from study.guests import Guest
from study.hub import hub_urls

FLOAT = 4
SECTIONS = ("seeds", "arms", "data", "prompt", "base", "lora", "rank_sweep", "variations", "training", "generation")


def qa_addresses(qa):
    """Return the addresses of the question-answering branch by what they are for.

    Args:
        qa: the `qa` section of the config.

    Returns:
        dict[str, list[str]]: `pairs`, `hub`, `corpus`; a list is empty where the study takes that part elsewhere.
    """
    base = qa["base"]
    return {
        "pairs": [qa["data"]["url"]] if qa["data"]["source"] == "url" and qa["data"]["url"] else [],
        "hub": hub_urls(base["hub"]) if base["source"] == "hub" else [],
        "corpus": list(dict.fromkeys(base["embedded"]["files"])) if base["source"] == "embedded" else [],
    }


def bloom_parameters(vocab_size, width, layers):
    """Return the parameters of a BLOOM with tied embeddings.

    V·D embeddings, two vectors of the embeddings' LayerNorm, and a layer: 4·D² + 4·D attention, 8·D² + 5·D
    feed-forward, 4·D LayerNorms; two vectors of the last LayerNorm.
    """
    return vocab_size * width + layers * (12 * width * width + 13 * width) + 4 * width


def run_folder(arm, seed):
    """Return a run's folder below results/<study>."""
    return os.path.join("qa", arm, f"seed{seed}")


class QuestionAnswering(Guest):
    """A causal language model tuned with LoRA on pairs of questions and answers."""

    alternatives = {
        "qa.enabled": {True: [f"qa.{name}" for name in SECTIONS]},
        "qa.data.source": {"file": ["qa.data.file"], "url": ["qa.data.url"]},
        "qa.base.source": {name: [f"qa.base.{name}"] for name in ("embedded", "hub", "folder")},
        "qa.training.quantization": {"nf4": ["qa.training.double_quantization"]},
    }
    scored = ("qa_scores", "qa_items")
    records = ("qa",)
    published = ("qa/runs.tsv", "qa/summary.tsv")
    figures = [("qa_loss", "qa/loss.tsv", "plot_qa_loss"), ("rank_sweep", "qa/rank_sweep.tsv", "plot_rank_sweep")]

    def asked(self, config):
        """Return whether the study asks for it."""
        return config["qa"]["enabled"]

    def _runs(self, config):
        """Return (arm, seed) of every run."""
        return [(arm, seed) for arm in qa_arms(config["qa"]) for seed in config["qa"]["seeds"]]

    def own_defaults(self, merged, config):
        """Leave out the default variations where a study has question answering of its own, in place."""
        given = config.get("qa")
        if isinstance(given, dict) and given.keys() - {"enabled"} and "variations" not in given:
            merged["qa"]["variations"]["runs"] = []

    def check(self, config):
        """Yield what contradicts itself in `qa`, and the arms that would be taken for adapters."""
        if self.asked(config):
            yield from check_qa(config["qa"], config["checkpoint"])
        yield from check_case("qa.arms", config["qa"]["arms"])
        for name in config["finetuning"]["arms"]:
            if name.startswith("qa-"):
                yield f"finetuning.arms.{name}: models/qa-… are the exported adapters; let the name start otherwise"

    def corpora(self, config):
        """Return the settings of the corpus that the base model is trained on."""
        return [("qa.base.embedded.files", config["qa"]["base"]["embedded"])]

    def arms(self, config):
        """Return the names of its arms."""
        return list(qa_arms(config["qa"]))

    def compared(self, config):
        """Return its arms and the base before tuning."""
        return [*self.arms(config), BASE] if self.asked(config) else []

    def is_fixed(self, arm):
        """Tell the base from the arms, which seeds change."""
        return is_base(arm)

    def addresses(self, config):
        """Return the addresses of pairs, base model and corpus."""
        found = qa_addresses(config["qa"])
        return {
            "qa_pairs": ("qa.data.url", found["pairs"]),
            "qa_base": ("qa.base.hub", found["hub"]),
            "qa_corpus": ("qa.base.embedded.files", found["corpus"]),
        }

    def disk(self, jobs, config):
        """Return the bytes of a base model that is made here."""
        base = config["qa"]["base"]
        if "build_qa_base_model" not in jobs or base["source"] != "embedded":
            return {}
        size, layers = base["embedded"], base["embedded"]["architecture"]["layers"]
        return {"checkpoint": FLOAT * bloom_parameters(size["vocab_size"], size["architecture"]["width"], layers)}

    def exported(self, config):
        """Return the folders of the exported adapters."""
        return [f"models/qa-{arm}-seed{seed}" for arm, seed in self._runs(config)] if self.asked(config) else []

    def recorded(self, config):
        """Return the manifest of the pairs, and each run's record and evaluation."""
        if not self.asked(config):
            return {}
        folders = [run_folder(arm, seed) for arm, seed in self._runs(config)]
        return {
            "qa_manifest": ["qa/data/manifest.json"],
            "qa_runs": [f"{folder}/run.json" for folder in folders],
            "qa_results": [f"{folder}/evaluation.json" for folder in folders],
        }

    def used(self, files):
        """Return what its runs read."""
        return dict.fromkeys(files.get("qa_manifest", []), "What the questions are: source and hashes.")

    def runs(self, files):
        """Return its runs for the provenance."""
        found = []
        for path, result in zip(files.get("qa_runs", []), files.get("qa_results", []), strict=True):
            record = read_json(path)
            label = f"qa/{record.get('arm') or 'rank' + str(record['rank'])}/seed{record['seed']}"
            words = f"Tuning of a language model by LoRA of rank {record['rank']} with seed {record['seed']}."
            made = {path: f"Record of {label}: settings, versions, time.", result: f"Evaluation of {label}."}
            found.append((label, words, record, "finetune_lora", made))
        return found

    def planned(self, config):
        """Return the folders of the runs that the settings ask for."""
        return [run_folder(arm, seed) for arm, seed in self._runs(config)] if self.asked(config) else []

    def finished(self, folder):
        """Return the folders of the runs that qa/runs.tsv holds."""
        table = os.path.join(folder, "qa", "runs.tsv")
        return [run_folder(row["arm"], row["seed"]) for row in read_tsv(table)] if os.path.exists(table) else []

    def sentences(self, folder):
        """Return the sentence on held-out loss before and after tuning, from qa/runs.tsv and qa/summary.tsv."""
        table = os.path.join(folder, "qa", "runs.tsv")
        if not os.path.exists(table):
            return []
        runs = read_tsv(table)
        means = {(row["arm"], row["metric"]): row for row in read_tsv(os.path.join(folder, "qa", "summary.tsv"))}
        parts = []
        for arm, rank in dict.fromkeys((row["arm"], row["rank"]) for row in runs):
            label = f"rank {rank}" if arm == f"rank{rank}" else f"{arm} (rank {rank})"
            before, after = (means[arm, f"heldout_loss_{when}"] for when in ("before", "after"))
            ddof = f" ± {float(after['sd_ddof1']):.2f} (ddof 1)" if after["sd_ddof1"] else ""
            parts.append(
                f"{label}, n = {after['n_seeds']}: {float(before['mean']):.2f} nats per token of held-out answers "
                f"before tuning, {float(after['mean']):.2f}{ddof} after"
            )
        size = int(runs[0]["total_params"]) - int(runs[0]["trainable_params"])
        return [f"Question answering, a base of {size / 1e6:.1f} M parameters and LoRA: {'; '.join(parts)}."]


GUEST = QuestionAnswering()
