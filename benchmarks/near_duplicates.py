"""How do the time and the memory of the search for near-duplicates grow with the texts?

    PYTHONPATH=scripts python benchmarks/near_duplicates.py ordinary --texts 100000
    PYTHONPATH=scripts python benchmarks/near_duplicates.py template --texts 10000

The audit's count (`data.duplicates.find_duplicates`) of so many generated texts and of half as many, each in a process
of its own, and the ratio of both. `ordinary`: 20 to 150 words, as frequent as words are (Zipf), hardly a pair alike;
`template`: one sentence with a number, every pair alike.
"""

import argparse
import itertools
import json
import random
import resource
import subprocess
import sys
import time

KINDS = ("ordinary", "template")
WORDS = 30000
TEMPLATE = (
    "I recommend this book, which I read in a single night and whose characters stay in mind long after the last page, "
    "to readers of order "
)


def texts_of(kind, n):
    """Return n different texts."""
    if kind == "template":
        return [f"{TEMPLATE}{number:06d}" for number in range(n)]
    generator = random.Random(1)
    words = ["".join(generator.choices("eeeeaaiionnssttrrlludcmp", k=generator.randint(2, 9))) for _ in range(WORDS)]
    weights = list(itertools.accumulate(1 / rank for rank in range(1, WORDS + 1)))
    return [" ".join(generator.choices(words, cum_weights=weights, k=generator.randint(20, 150))) for _ in range(n)]


def measure(kind, n):
    """Print {pairs, seconds, megabytes at most} of a count; half of the texts are train's, half test's."""
    from data.duplicates import find_duplicates

    texts = texts_of(kind, n)
    start = time.perf_counter()
    found = find_duplicates({"train": texts[: n // 2], "valid": [], "test": texts[n // 2 :], "unlabelled": []})
    seconds = time.perf_counter() - start
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"pairs": found.n, "seconds": seconds, "megabytes": megabytes}))


def main(arguments=None):
    """Print both measurements and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--texts", type=int, default=20000)
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.alone:
        return measure(options.kind, options.texts)
    found = {}
    for n in (options.texts // 2, options.texts):
        command = [sys.executable, __file__, options.kind, "--texts", str(n), "--alone"]
        found[n] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        print(f"{n} texts: {found[n]['pairs']} pairs, {found[n]['seconds']:.1f} s, {found[n]['megabytes']:.0f} MB")
    half, whole = found.values()
    ratios = (f"{whole[key] / half[key]:.2f} of the {key}" for key in ("seconds", "megabytes"))
    print(f"twice the texts need {' and '.join(ratios)}")
    return None


if __name__ == "__main__":
    main()
