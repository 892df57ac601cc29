"""The page where its files are not beside it."""

import re

# The address of a drawing inside the page begins with this; its content follows in base64.
DATA_ADDRESS = "data:image/svg+xml;base64,"


def unlink_files(html):
    """Return the page with links to its own parts only; the files' names stay in the text."""
    return re.sub(r'<a href="(?!#)', '<a data-file="', html)


def standing_alone(html):
    """Return the page as the only file of a place, such as Snakemake's report: mere links are left out."""
    return unlink_files(re.sub(r'<span class="other">.*?</span>', "", html, flags=re.DOTALL))
