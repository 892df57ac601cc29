"""Wrong numbers, planted into a page or into the files that it rests on."""

import re

# A page's texts between tags, without its scripts and styles; and the numbers in them.
PARTS = re.compile(r"(<(script|style)\b.*?</\2>|<[^>]*>)", re.DOTALL)
NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[+-]\d+)?")
ALT = re.compile(r'(?<= alt=")[^"]*')


def places(html):
    """Return [(start, end)] of the numbers that a reader of a page sees, alternative texts included."""
    found, start = [], html.index("<body>")
    spans, end = [], start
    for tag in PARTS.finditer(html, start):
        spans.append((end, tag.start()))
        end = tag.end()
    spans += [match.span() for match in ALT.finditer(html, start)]
    for first, last in spans:
        # A numeric character reference is no number.
        found += [m.span() for m in NUMBER.finditer(html, first, last) if not html[: m.start()].endswith(("&#", "&#x"))]
    return found


def replaced(html, place, text):
    """Return the page with another text at a place."""
    return html[: place[0]] + text + html[place[1] :]


def nearby(text, generator):
    """Return a number within 30 % of one, as many digits shown; None where there is none but itself."""
    mantissa, mark, exponent = text.partition("e")
    decimals = len(mantissa.partition(".")[2])
    for _ in range(20):
        changed = f"{float(mantissa) * generator.uniform(0.7, 1.3):.{decimals}f}{mark}{exponent}"
        if float(changed) != float(text):
            return changed
    return None


def swapped_digits(text, generator):
    """Return a number with two neighbouring digits exchanged, or None."""
    pairs = [i for i in range(len(text) - 1) if text[i : i + 2].isdecimal() and text[i] != text[i + 1]]
    if not pairs or "e" in text:
        return None
    i = generator.choice(pairs)
    return text[:i] + text[i + 1] + text[i] + text[i + 2 :]


def without_exponent(text, generator):
    """Return a number without its exponent, or None."""
    return text.partition("e")[0] if "e" in text else None


def without_last_digit(text, generator):
    """Return a number with its last decimal cut off, or None."""
    return text[:-1].rstrip(".") if "." in text and "e" not in text else None


def plant(html, kind, generator):
    """Return a page with one wrong number (or two that changed places), or None where the kind does not fit.

    Args:
        html: the page.
        kind: of `KINDS`.
        generator: random.Random.
    """
    found = places(html)
    if kind == "without exponent":
        found = [place for place in found if "e" in html[slice(*place)]]
    if not found:
        return None
    place = generator.choice(found)
    text = html[slice(*place)]
    if kind == "sign":
        before = html[place[0] - 1]
        if before in "-+\N{MINUS SIGN}":
            other = {"-": "", "+": "\N{MINUS SIGN}", "\N{MINUS SIGN}": "+"}[before]
            return replaced(html, (place[0] - 1, place[0]), other)
        return replaced(html, place, f"-{text}") if before == ">" else None
    if kind == "swapped":
        other = generator.choice(found)
        first, second = sorted([place, other])
        if html[slice(*first)] == html[slice(*second)]:
            return None
        changed = replaced(html, second, html[slice(*first)])
        return replaced(changed, first, html[slice(*second)])
    changed = CHANGES[kind](text, generator)
    return None if changed in (None, text) else replaced(html, place, changed)


def swapped_cells(html, generator):
    """Return a page in which two cells of one table, with all that belongs to them, have changed places, or None."""
    tables = re.findall(r"<tbody>.*?</tbody>", html, re.DOTALL)
    table = generator.choice(tables)
    cells = [m.span() for m in re.finditer(r"<td\b.*?</td>", table, re.DOTALL) if "data-of=" in m[0]]
    if len(cells) < 2:
        return None
    first, second = sorted(generator.sample(cells, 2))
    texts = [re.sub(r"<[^>]*>", "", table[slice(*cell)]) for cell in (first, second)]
    if texts[0] == texts[1]:
        return None
    changed = replaced(replaced(table, second, table[slice(*first)]), first, table[slice(*second)])
    return html.replace(table, changed, 1)


CHANGES = {
    "within 30 %": nearby,
    "digits swapped": swapped_digits,
    "without exponent": without_exponent,
    "last digit cut": without_last_digit,
}
KINDS = (*CHANGES, "sign", "swapped")
