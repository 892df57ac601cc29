#!/usr/bin/env bash
# Written by `make lock` from requirements.in: do not edit.
# Not in the pip section: fairseq's build must see this environment's PyTorch; its list of needs is old.
set -euo pipefail
# pip refuses it for builds without an environment of their own (scripts/study/isolation.py sets it).
unset PIP_BUILD_CONSTRAINT
python -m pip install --no-build-isolation --no-deps fairseq-fixed==0.12.3.1
