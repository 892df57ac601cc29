"""Guests: rooms that a study does not need. `scripts/<room>/guest.py` has the facts that the house must know.

Nothing else imports a guest's room. Where `scripts/<room>` and `rules/<room>.smk` are deleted, every study that does
not ask for the guest is planned, run and reported as before; one that asks for it is refused. A guest's rules,
products and sections are found where they lie, like those of other rooms. See docs/development/add_a_guest.md.
"""

import functools
import glob
import importlib
import os

SCRIPTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# These settings ask for a guest, named by its room.
ASKING = {"qa.enabled": "qa", "claims": "lab"}


class Guest:
    """The interface of a guest. The defaults say that it adds nothing; `guest.py` has GUEST, of a subclass.

    Attributes:
        alternatives: {key of a setting that chooses: {choice: [keys that are read under it alone]}}.
        records: files and folders below results/<study> that `tools.restore` copies: they follow from no other file.
        published: files below results/<study> that `tools.publish` copies where they are.
        scored: keys of two products, scores and items, that hold its runs' scores by its measures (see
            `analysis.scored_tables`); None: it has no measures.
        figures: of a hand-in, over both columns: (name, table below results/<study>, script of the room); the script's
            `draw_table` draws the table.
    """

    alternatives = {}
    records = ()
    published = ()
    figures = ()
    scored = None

    def check(self, config):
        """Yield a message for each setting that contradicts another one; called also where `asked` is false."""
        return ()

    def own_defaults(self, merged, config):
        """Change defaults, in place, that hold for the embedded study only, where a study differs from it.

        Args:
            merged: the study's settings over the defaults of config.yaml.
            config: the study's own.
        """

    def missing_files(self, config, root):
        """Yield a message for each file of the clone that the settings name and that is missing."""
        return ()

    def corpora(self, config):
        """Return the settings that hold a list `files` of addresses or patterns, as [(key, settings)]."""
        return []

    def arms(self, config):
        """Return the names of its arms, which rules have as the wildcard `arm`."""
        return []

    def compared(self, config):
        """Return the names that questions may compare by its measures (`scripts/<room>/measures`)."""
        return []

    def addresses(self, config):
        """Return {name of a retrieving rule: (key of the setting, addresses)}."""
        return {}

    def asked(self, config):
        """Return whether the study asks for it."""
        return True

    def is_fixed(self, arm):
        """Return whether no seed changes one of `compared`."""
        return False

    def disk(self, jobs, config):
        """Return {kind: bytes} of what planned jobs will write; `jobs` is {rule: how many}."""
        return {}

    def exported(self, config):
        """Return the folders below results/<study> that `export_models` asks for."""
        return []

    def recorded(self, config):
        """Return {input of the records of settings and provenance: files below results/<study>}."""
        return {}

    def used(self, files):
        """Return {path: description} of what its runs read; `files` has the paths of `recorded`, found."""
        return {}

    def runs(self, files):
        """Return its runs for the provenance, from the paths of `recorded`, found.

        Returns:
            list[tuple]: label, sentence, content of run.json, rule, {path: description} of what it made.
        """
        return []

    def planned(self, config):
        """Return the folders below results/<study> of the runs that the settings ask for."""
        return []

    def finished(self, folder):
        """Return the folders of the runs that the tables of a results folder hold, relative to it."""
        return []

    def sentences(self, folder):
        """Return the sentences that the list of published studies has of a results folder."""
        return []


@functools.cache
def guests():
    """Return {room: its `Guest`}, sorted by room."""
    rooms = sorted(
        os.path.basename(os.path.dirname(path))
        for path in glob.glob(os.path.join(glob.escape(SCRIPTS), "*", "guest.py"))
    )
    return {room: importlib.import_module(f"{room}.guest").GUEST for room in rooms}


def gathered(what, *arguments):
    """Return in one list the results of a method of every guest."""
    return [found for guest in guests().values() for found in getattr(guest, what)(*arguments)]


def merged(what, *arguments):
    """Return in one dictionary the results of a method, or an attribute, of every guest."""
    found = {}
    for guest in guests().values():
        value = getattr(guest, what)
        found |= value(*arguments) if callable(value) else value
    return found


def check_guests(config):
    """Yield what guests find wrong with a study's settings, and the settings that ask for a missing guest."""
    for key, room in ASKING.items():
        value = functools.reduce(lambda settings, name: settings[name], key.split("."), config)
        if value and room not in guests():
            nothing = "false" if value is True else "[]"
            yield (
                f"{key} asks for scripts/{room}, which is not here; put it and rules/{room}.smk back, or set {key} to "
                f"{nothing}"
            )
    yield from gathered("check", config)
