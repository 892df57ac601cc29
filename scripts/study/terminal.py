"""The terminal's view of a run: a line per stage, a bar with the time left, faults in a sentence, and the answers.

Snakemake's own text goes to its log, and so does what jobs print. A handler of Python's logging takes the place of the
one that Snakemake puts on its logger, so that any Snakemake shows this, without an installed plug-in. Snakemake's own
text comes back with `VERBOSE=1`, or when its options ask for it (`--verbose`, `--quiet`, `--logger`). A dry run, a
summary or a report never loses it.

Source: `snakemake.logging` and `snakemake_interface_logger_plugins.common.LogEvent` (Snakemake 9.27).
"""

import contextlib
import itertools
import logging
import os
import re
import sys
import textwrap
import threading
import time

from study.closing import closing
from study.configuration import in_file
from study.expected_times import Expected, in_words, share_of_time
from study.training_progress import standing, tail

# Snakemake's name of its handler for the terminal, and of the one for its log.
STREAM, FILE = "DefaultStreamHandler", "DefaultLogFileHandler"
STAGES = {
    "data": "Data",
    "checkpoint": "Checkpoint",
    "finetuning": "Fine-tuning",
    "analysis": "Analysis",
    "qa": "Question answering",
    "lab": "Claims and counts",
    "report": "Report",
}
WRAP = {"break_long_words": False, "break_on_hyphens": False, "replace_whitespace": False}
# Where a terminal has no UTF-8.
ASCII = str.maketrans({"█": "#", "░": ".", "−": "-", "±": "+/-", "·": "-"})
# The first line of an error that a rule file raised, which a user need not know.
RAISED = re.compile(r"\AWorkflowError in file .*, line \d+:\n|^  File \".*, in .*\Z|\s+\Z", re.MULTILINE)
JOB_FAULT = re.compile(r"^(?:error in rule .*|rule \S+ (?:failed|stopped) .*)$", re.MULTILINE)
AGAIN = "run the same command again to go on: finished jobs are kept, training resumes from its last saved state"
MEMORY = "if nobody stopped it, the machine may lack memory: run fewer jobs at once (--cores 1)"
# Seconds that such a fault waits for word of the user's stop.
PATIENCE = 3
# Snakemake's own words about what is said here already.
KNOWN = ("At least one job did not complete", "Exiting because a job execution failed")


class Screen:
    """A terminal, or a file: printed lines, and below them live lines that are overwritten; none in a file.

    Attributes:
        live: whether it has live lines.
        colour: whether it takes colours.
    """

    def __init__(self, stream, nocolor=False):
        """Keep the stream's file, which stays this one when standard error goes to the log."""
        self._file = os.dup(stream.fileno())
        dumb = os.environ.get("TERM", "dumb") == "dumb"
        self.live = os.isatty(self._file) and not dumb
        self.colour = self.live and not nocolor and not os.environ.get("NO_COLOR")
        encoding = (getattr(stream, "encoding", None) or "ascii").lower().replace("-", "")
        self._plain = encoding != "utf8" or os.environ.get("LC_ALL") in ("C", "POSIX")
        self._below = 0

    @property
    def width(self):
        """Columns."""
        try:
            return max(20, os.get_terminal_size(self._file).columns or 80)
        except OSError:
            return 80

    def _write(self, text):
        if self._plain:
            text = text.translate(ASCII).encode("ascii", "replace").decode()
        with contextlib.suppress(OSError):
            os.write(self._file, text.encode("utf-8", "replace"))

    def _clear(self):
        """Return what removes the live lines; the cursor is at the end of the last."""
        up = "\x1b[1A\x1b[2K" * (self._below - 1)
        gone, self._below = f"\r\x1b[2K{up}" if self._below else "", 0
        return gone

    def line(self, text="", colour=None):
        """Print a line above the live ones, wrapped on a terminal."""
        if self.live and len(text) >= self.width:
            indent = " " * (len(text) - len(text.lstrip()))
            lines = [textwrap.wrap(part, self.width - 1, **WRAP, subsequent_indent=indent) for part in text.split("\n")]
            text = "\n".join(itertools.chain(*lines))
        if colour and self.colour:
            text = f"\x1b[{colour}m{text}\x1b[0m"
        self._write(f"{self._clear()}{text}\n")

    def below(self, *lines):
        """Replace the live lines, each cut to the width."""
        if self.live:
            gone = self._clear()
            self._below = len(lines)
            self._write(gone + "\n".join(text[: self.width - 1] for text in lines))

    def close(self):
        """Remove the live lines."""
        self._write(self._clear())
        os.close(self._file)


class Terminal(logging.Handler):
    """The handler: Snakemake's handler reports until a run starts; then this one reports the run.

    Attributes:
        own: Snakemake's handler.
        workflow, results, study_file: Snakemake's workflow; the study's folder, known once its settings are read; the
            file that faults name.
    """

    def __init__(self, handler, log, workflow, study_file):
        """Take Snakemake's handler, the path of its log, its workflow and the study's file."""
        super().__init__()
        self.own, self.log, self.workflow, self.study_file = handler, log, workflow, study_file
        self.results, self.config = None, {}
        self.screen = Screen(handler.stream, handler.nocolor)
        self.started = self.expected = None
        self.running, self.faults, self.pending, self.ended, self.said = {}, [], [], "", set()
        # When the rest was last played, what it gave, and how long that took.
        self._played = 0.0, 0.0, 0.0
        self.tenth, self._stderr, self._stop = 0, None, threading.Event()

    def emit(self, record):
        """Take one record; a fault in this class leaves the word to Snakemake's own handler."""
        try:
            self._take(record)
        except Exception:  # noqa: BLE001 - a display must not end a study
            self.own.handle(record)

    def _take(self, record):
        event = str(getattr(record, "event", None) or "")
        handler = getattr(self, f"_on_{event}", None)
        if event == "error":
            self._on_error(record)
        elif event == "workflow_started":
            self.started = time.monotonic()
            self.screen.below("Planning")
        elif self.started is None:
            if not str(record.msg).startswith("Assuming unrestricted shared filesystem"):
                self.own.handle(record)
        elif handler:
            handler(record)
        elif not event:
            self._on_message(record, str(record.msg))

    def _on_message(self, record, text):
        text = text.replace(os.path.join(os.environ.get("PWD") or os.getcwd(), ""), "")
        if text.startswith("Nothing to be done"):
            self.ended = "nothing"
        elif text.startswith("Terminating processes"):
            self.ended, self.pending = "stopped", []
            self.screen.line("Stopping the jobs")
        elif text.startswith("Will exit after finishing") and self.ended != "stopped" and not self.faults:
            self.ended = "stopped"
            self.screen.line("Told to stop: waiting for the jobs that are running")
        elif text.startswith("Trying to restart job"):
            self.screen.line("  trying again")
        elif record.levelno >= logging.WARNING and not text.startswith(KNOWN):
            self.screen.line(f"{'error' if record.levelno >= logging.ERROR else 'note'}: {text}")

    def _on_run_info(self, record):
        self.expected = Expected(self.workflow, self.config, self.results)
        jobs = len(self.expected.jobs)
        study = f"{self.config['study']} ({self.study_file})" if self.config else self.study_file
        self.screen.line(
            f"Study {study}: {jobs} job{'s' if jobs != 1 else ''}, about {in_words(self.expected.left({}))}"
        )
        self.screen.line(f"Log: {short(self.log)}")
        self.began = time.monotonic()
        threading.Thread(target=self._tick, daemon=True).start()

    def _on_job_info(self, record):
        if self._stderr is None:
            # Jobs inherit it. What Python and libraries print goes to the log as well.
            self._stderr = os.dup(2)
            with open(self.log, "ab") as handle:
                os.dup2(handle.fileno(), 2)
        self.expected.know(record.jobid)
        self.running[record.jobid] = time.monotonic()
        self._show()

    def _on_job_finished(self, record):
        begun = self.running.pop(record.job_id, None)
        self.expected.finish(record.job_id, time.monotonic() - begun if begun else None)
        for stage, jobs, seconds in self.expected.finished_stages():
            name = STAGES.get(stage, stage.capitalize())
            self.screen.line(f"  {name:<20}{jobs:>5} job{'s' if jobs != 1 else ' '}  {clock(seconds):>8}")
        self._show()

    def _on_progress(self, record):
        self.expected.refresh(record.total)

    def _on_job_error(self, record):
        self.running.pop(record.jobid, None)
        if self.ended == "stopped":
            return
        found = job_fault(record.log)
        said = found or f"error in rule {record.rule_name}: the job was killed, or ended without a word; {MEMORY}"
        self.pending.append((time.monotonic() + (0 if found else PATIENCE), said, record.log[:1]))
        self._tell_faults()

    def _tell_faults(self, late=False):
        """Print faults; one without words waits for word that the user stopped the run, which ends jobs so."""
        now = time.monotonic()
        due = [one for one in self.pending if late or one[0] <= now]
        self.pending = [one for one in self.pending if one not in due]
        for _, said, logs in due:
            self.faults.append(said)
            if said not in self.said:
                self.said.add(said)
                self.screen.line(f"{self.study_file}: {said}", "31")
                for log in logs:
                    self.screen.line(f"  Log of the job: {short(log)}")

    def _on_group_error(self, record):
        self.faults.append(str(record.msg))
        self.screen.line(f"{self.study_file}: a group of jobs failed", "31")

    def _on_error(self, record):
        text = str(record.getMessage())
        # A failed command is an error of its job as well, with a log that says more.
        if any(words in text for words in (*KNOWN, "CalledProcessError", "SystemExit")):
            return
        self.faults.append(text)
        said = RAISED.sub("", text).rstrip()
        self.screen.line(in_file(self.study_file, said) if said != text else f"{self.study_file}: {said}", "31")

    def _tick(self):
        while not self._stop.wait(0.5 if self.screen.live else 5):
            self.acquire()
            try:
                if not self._stop.is_set():
                    self._show()
            except Exception:  # noqa: BLE001 - the next tick tries again
                pass
            finally:
                self.release()

    def _show(self):
        """Show the bar and what a running job is at; in a file a line at every tenth."""
        self._tell_faults()
        now = time.monotonic()
        at = {job: (now - since, *standing(self.expected.jobs.get(job))) for job, since in self.running.items()}
        fractions = {job: (seconds, fraction) for job, (seconds, _, fraction) in at.items()}
        left = self._left(now, fractions)
        done = share_of_time(now - self.began, left)
        words = next((text for _, text, _ in at.values() if text), "")
        words = words or next((self.expected.name(job) for job in self.running), "")
        if self.screen.live:
            room = max(0, min(40, self.screen.width - 36))
            filled = round(done * room)
            bar = f"{'█' * filled}{'░' * (room - filled)} " if room else ""
            self.screen.below(f"  {bar}{100 * done:3.0f} %, about {in_words(left)} left", f"  {words}")
        elif self.tenth < int(10 * done) < 10:
            self.tenth = int(10 * done)
            self.screen.line(f"  {10 * self.tenth} %, about {in_words(left)} left{words and ': '}{words}")

    def _left(self, now, fractions):
        """Return the seconds left; a large plan, which takes a while to play, is played less often."""
        last, left, cost = self._played
        if now - last < 20 * cost:
            return max(0.0, left - (now - last))
        left = self.expected.left(fractions)
        self._played = now, left, time.monotonic() - now
        return left

    def close(self):
        """Say how it ended, with the answers; standard error is the terminal's again."""
        if self._stop.is_set():
            return
        self._stop.set()
        if self._stderr is not None:
            sys.stderr.flush()
            os.dup2(self._stderr, 2)
        with contextlib.suppress(Exception):
            self._end()
        self.screen.close()
        super().close()

    def _end(self):
        if self.started is None:
            return
        self._tell_faults(late=True)
        if self.ended == "stopped" and not self.faults:
            self.screen.line(f"Stopped: {AGAIN}")
        elif self.faults:
            self.screen.line(f"Not finished. Correct what is said above, then {AGAIN}")
            self.screen.line(f"Everything that Snakemake and the jobs printed: {short(self.log)}")
        elif self.ended == "nothing" or (self.expected and not self.expected.unfinished()):
            said = "Nothing to be done: all files are there" if self.ended == "nothing" else ""
            self.screen.line(said or f"Finished in {clock(time.monotonic() - self.started)}")
            for text in closing(self.results, self.screen.width):
                self.screen.line(text)
        else:
            # Interrupted while it planned, or by a signal that Snakemake does not report.
            self.screen.line(f"Stopped: {AGAIN}")


def clock(seconds):
    """Return a duration as `0:07` or `1:02:03`."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}" if minutes >= 60 else f"{minutes}:{rest:02}"


def short(path):
    """Return a path as the user would type it where the command was given, which Snakemake may have left."""
    place = os.path.abspath(os.environ.get("PWD", os.curdir))
    path = os.path.abspath(path)
    return os.path.relpath(path, place) if path.startswith(os.path.join(place, "")) else path


def job_fault(logs):
    """Return the sentence of a failed job, which its script said last in its log; '' for one that said nothing.

    Args:
        logs: paths.
    """
    found = [said for log in logs for said in JOB_FAULT.findall(tail(log)) if "KeyboardInterrupt" not in said]
    return found[-1] if found else ""


def install(workflow):
    """Replace Snakemake's handler by a `Terminal`, where a person watches Snakemake's defaults; return it, or None.

    Args:
        workflow: Snakemake's; not that of a job, and not one that has this workflow as a module.
    """
    logger = logging.getLogger("snakemake.logging")
    handlers = {handler.name: handler for handler in logger.handlers}
    settings = workflow.output_settings
    asked = settings.dryrun or settings.quiet or settings.verbose or settings.debug_dag or settings.printshellcmds
    if asked or os.environ.get("VERBOSE", "0") not in ("", "0") or not {STREAM, FILE} <= handlers.keys():
        return None
    if not workflow.is_main_process or not workflow.modifier.is_main_snakefile():
        return None
    files = workflow.overwrite_configfiles or ["config.yaml"]
    try:
        terminal = Terminal(handlers[STREAM], handlers[FILE].baseFilename, workflow, short(str(files[-1])))
    except (OSError, ValueError, AttributeError):
        # Standard error is closed, or no file.
        return None
    hook = sys.excepthook
    # The handler says what an interrupted run needs; Snakemake leaves an interrupted plan to Python.
    sys.excepthook = lambda kind, *rest: None if issubclass(kind, KeyboardInterrupt) else hook(kind, *rest)
    logger.removeHandler(handlers[STREAM])
    logger.addHandler(terminal)
    return terminal
