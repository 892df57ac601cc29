"""The start of a study: its records are checked before anything is planned, then its folder is locked."""

import atexit
import errno
import itertools
import os
import sys
from collections import Counter
from glob import escape, glob

from snakemake.settings.enums import RerunTrigger

import measures
from common.arms import run_label
from common.errors import StudyError
from common.faults import explain, has_full_disk
from common.lock import hold, hold_shared
from finetuning.protocol import arm_settings
from finetuning.seals import check_folder, run_of
from study.addresses import record_path
from study.baselines import linear_arms
from study.configuration import check_recorded, read_settings
from study.disk import check_disk, corpus_bytes, disk_need, model_bytes
from study.freshness import check_downloads, check_fresh, hides_changes, visible_files
from study.ownership import claim
from study.pins import expected, mirror_path
from study.pretrainings import noted
from study.questions import asked_by, register
from study.remains import remove_remains
from study.rule_completion import script_name
from study.seed_plans import plan_of
from study.settings import unused_keys
from study.spread import source_runs, with_source_arms


class Start:
    """The start of a study, in the main process only: a job's Snakemake is part of the same workflow.

    Attributes:
        workflow: Snakemake's.
        config: all settings, grids written out and checked.
        root: folder of the workflow.
        results, resources: folders of the study's results and of what studies share.
        pins: the study's pinned files (`study.pins.read_checksums`).
        digests: `study.freshness.Digests` of the results folder.
    """

    def __init__(self, workflow, config, root, folders, pins, digests):
        """Store the rules' objects.

        Args:
            workflow, config, root, pins, digests: as the attributes.
            folders: (results, resources).
        """
        self.workflow, self.config, self.root = workflow, config, root
        self.results, self.resources = folders
        self.pins, self.digests = pins, digests

    def clear(self, keeps_checkpoints):
        """Remove leftover checkpoints that a killed study would have removed, before anything is planned.

        Args:
            keeps_checkpoints: True where the study keeps those of every epoch.
        """
        finetuning = self.config["finetuning"]
        runs = [
            os.path.join(self.results, "finetuning", arm, f"seed{seed}")
            for arm, seed in [
                *itertools.product(finetuning["arms"], finetuning["seeds"]),
                *source_runs(self.config),
            ]
        ]
        if not keeps_checkpoints:
            remove_remains(self.results, runs)

    def check_records(self, tables, retrievals):
        """Check existing results against the present settings and files.

        `onstart` is no place for this: it does not run where nothing is to be done.

        Args:
            tables: {file: SHA-256} of the study's local tables.
            retrievals: what `study.addresses.retrievals` returns.

        Raises:
            StudyError: a record of other settings or files, which Snakemake would not notice.
        """
        finetuning = with_source_arms(self.config)["finetuning"]
        places = [([mirror_path(url) for url in one["urls"]], record_path(one["urls"])) for one in retrievals.values()]
        folders = {name: model.get("folder") for name, model in finetuning["models"].items()}
        taken = {name: self.digests.of_all(visible_files(folder)) for name, folder in folders.items() if folder}
        study = finetuning | {"measure": measures.leading(self.config)}
        trained = {name: arm_settings(study, name) for name in finetuning["arms"]}
        check_fresh(self.results, self.config, tables, hides_changes(sys.argv), taken, trained)
        check_downloads(self.resources, places, self.digests.digest)
        check_folder(self.results, self.digests.digest, planned=True)

    def begin(self, logger):
        """Lock the folder, record its study and questions, and report the plan.

        Args:
            logger: Snakemake's.

        Raises:
            StudyError, OSError: the folder is another study's or in use, a setting differs and nothing is rerun, the
                disk is too small.
        """
        # The path is absolute because Snakemake has left its working directory by then.
        atexit.register(self.report_full_disk, os.path.abspath(self.results))
        files = self.workflow.overwrite_configfiles
        hold(self.results, self.planned_retrievals())
        hold_shared(self.resources)
        claim(self.results, files)
        register(self.results, asked_by(self.config), self.finished_runs, self.planned_seeds)
        self.digests.save()
        if notice := self.changed_settings():
            logger.warning(notice)
        for file in files:
            for key, reason in unused_keys(read_settings(file), self.config).items():
                logger.warning(f"{file}: {key} is not read, because {reason}")
        logger.info(check_disk(self.planned_need(), self.results))

    def report_full_disk(self, folder):
        """Report that Snakemake itself could not write its records: its message mentions permissions."""
        if has_full_disk(folder):
            print(explain(OSError(errno.ENOSPC, ""), "all", self.results), file=sys.stderr)

    def changed_settings(self):
        """Return a notice where the settings differ from those of the results, else ''."""
        choices, record = self.workflow.dag_settings, os.path.join(self.results, "settings.json")
        if not os.path.isfile(record):
            return ""
        reruns = RerunTrigger.PARAMS in choices.rerun_triggers and not choices.allowed_rules
        return check_recorded(self.config, record, reruns)

    def planned_retrievals(self):
        """Return the shared files that planned jobs will make."""
        outputs = [str(path) for job in self.workflow.dag.needrun_jobs() for path in job.output]
        return [path for path in outputs if path.startswith(f"{self.resources}/")]

    def finished_runs(self, measure):
        """Return the names of the finished runs that a measure scores, wherever their records are."""
        dag, room = self.workflow.dag, measures.of_guests().get(measure, "finetuning")
        jobs = [job for job in dag.jobs if "run" in job.output.keys() and not dag.needrun(job)]
        # With results in a bucket, only the jobs show this.
        records = [str(job.output.run) for job in jobs] + glob(f"{escape(self.results)}/{room}/*/seed*/run.json")
        found = {run_of(path) for path in records if f"/{room}/" in path}
        # Simple models are fitted in seconds, and their answers say little about the arms'.
        simple = linear_arms(self.config["finetuning"])
        return {run_label(*run) for run in found if run[0] not in simple}

    def planned_seeds(self, measure):
        """Return the seeds of the runs that a measure scores, as `study.seed_plans.plan_of` does; None without any."""
        name = measures.of_guests().get(measure, "finetuning")
        section, further = self.config.get(name) or {}, noted(self.config) if name == "finetuning" else {}
        return plan_of(section) | further if section.get("seeds") else None

    def planned_need(self):
        """Return what the planned jobs will write, by kind, in bytes."""
        # Another workflow that uses this one as a module may have further rules.
        rules = os.path.join(self.root, "rules", "")
        jobs = [job for job in self.workflow.dag.needrun_jobs() if str(job.rule.snakefile).startswith(rules)]
        retrievals = [job for job in jobs if "sizes" in job.params.keys()]

        def size_of(url):
            return expected(self.pins, url)[1]

        return disk_need(
            Counter(script_name(job.rule) for job in jobs if job.rule.script),
            self.config,
            downloads=sum(size or 0 for job in retrievals for size in job.params.sizes),
            corpus=corpus_bytes(self.config["checkpoint"]["corpus"], size_of),
            at_once=self.workflow.resource_settings.cores or self.workflow.resource_settings.nodes or 1,
            models=model_bytes(self.config, size_of),
        )


def refusing(function, *arguments):
    """Return a function's result; turn a user's fault into the one message of a WorkflowError.

    Raises:
        WorkflowError: the function raises a StudyError.
    """
    from snakemake.exceptions import WorkflowError

    try:
        return function(*arguments)
    except StudyError as error:
        raise WorkflowError(f"configuration: {error}") from None
