"""Programs that a person runs (`make doctor`, `make compare` …): `python -m tools.NAME`. No rule uses them."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "scripts"))
