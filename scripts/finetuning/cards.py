"""Model cards from templates: a fact that the card states and no record has is an error."""

import jinja2

from common.errors import StudyError
from common.files import read_lines


def render_card(template, filters, remedy, **facts):
    """Return a model card that ends with one line break.

    Args:
        template: path of a template in report/.
        filters: {name: function} that it uses.
        remedy: what to do where a fact is missing.
        **facts: its variables.

    Raises:
        StudyError: a record lacks a fact that the card states.
    """
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    environment.filters |= filters
    text = "\n".join(read_lines(template))
    try:
        return environment.from_string(text).render(**facts).rstrip("\n") + "\n"
    except jinja2.UndefinedError as error:
        raise StudyError(f"the model card cannot be filled ({error}): {remedy}") from error
