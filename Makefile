# Set-up and the commands of every day; `make help-all` lists them. Works with GNU make 3.82 or later.

# Exits with 0 in a Python that the lock is for.
SUITABLE := import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))
# The first Python of this machine that runs and suits; without one, uv's where uv is (it fetches 3.11 if necessary).
ifeq ($(PYTHON),)
override PYTHON := $(shell for python in python3.11 python3.12 python3.13 python3; do "$$python" -c '$(SUITABLE)' 2> /dev/null && echo "$$python" && break; done)
endif
ifeq ($(PYTHON),)
override PYTHON := $(or $(shell command -v uv > /dev/null && echo uv),python3.11)
endif
VENV ?= .venv
CORES ?= $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)
STUDY ?=
SUITE ?=
MIRROR ?=
FIRST ?=
SECOND ?=
PAGE ?= results/comparison.html
NAME ?=
TRAIN ?=
VALID ?=
TEST ?=
TEXT ?=
LABEL ?=
MODEL ?=
TASK ?=
FROM ?=
TRACKER ?=
# A file's name is never a piece of a command, whatever signs are in it: neither make nor the shell expands these, and
# recipes take them from the environment.
OF_USER := STUDY SUITE MIRROR FIRST SECOND PAGE NAME TRAIN VALID TEST TEXT LABEL MODEL TASK FROM TRACKER
$(foreach name,$(OF_USER),$(eval override $(name) := $$(value $(name))))
export $(OF_USER)
# With 0, `make mirror` leaves the packages out.
WHEELS ?= 1
# Any value: install only files whose hashes envs/hashes/ lists, into a new environment.
HASHES ?=
# `fairseq`: leave it out, and with it the compiler; for studies with neither fairseq arms nor a checkpoint of their own.
# An environment remembers it until WITHOUT= is given.
WITHOUT ?= $(if $(wildcard $(VENV)/without-fairseq),fairseq)
# More arguments for Snakemake (`make report ARGS=--dry-run`) and for pytest (`make test TESTS=tests/unit`).
ARGS ?=
TESTS ?=
# Anything: Snakemake's own text on the terminal.
VERBOSE ?=
export VERBOSE

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.ONESHELL:
.DELETE_ON_ERROR:
.NOTPARALLEL:
.DEFAULT_GOAL := help
# Every target that `make help-all` lists, and three that it does not.
.PHONY: $(shell sed -n 's/^\([a-z-]*\):.*\#\# .*/\1/p' Makefile) study-file mirror-folder FORCE

BIN := $(if $(filter /%,$(VENV)),$(VENV),$(CURDIR)/$(VENV))/bin
LOG := $(VENV)/install.log
# The wheel of fairseq, built or found.
FAIRSEQ := $(VENV)/fairseq
export PATH := $(BIN):$(PATH)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PYTHONNOUSERSITE := 1
# Debian 12's pip (23.0) would run `setup.py install` and record no list of files; later ones build a wheel.
export PIP_USE_PEP517 := 1

# The stamps carry the lock's checksum: another lock gives another stamp, and with the same lock nothing is done.
RUN_LOCK := requirements.txt requirements-fairseq.txt
TEST_LOCK := $(RUN_LOCK) $(wildcard requirements-test.txt)
checksum = $(shell cat $(1) | cksum | cut -d' ' -f1)
RUN_STAMP := $(VENV)/installed-$(call checksum,$(RUN_LOCK))
TEST_STAMP := $(VENV)/installed-tests-$(call checksum,$(TEST_LOCK))
# An environment of verified files has these stamps as well; one without them does not count as verified.
PLAIN_RUN_STAMP := $(RUN_STAMP)
PLAIN_TEST_STAMP := $(TEST_STAMP)
ifneq ($(HASHES),)
HASHED := envs/hashes/
RUN_STAMP := $(VENV)/installed-verified-$(call checksum,$(RUN_LOCK:%=$(HASHED)%) $(HASHED)cuda.txt)
TEST_STAMP := $(VENV)/installed-tests-verified-$(call checksum,$(TEST_LOCK:%=$(HASHED)%) $(HASHED)cuda.txt)
endif
# pip installs only files in the list with hashes; packages without a wheel are built with tools from it, installed
# before. pip's cache may contain a wheel that other tools built from the same source.
VERIFIED := --require-hashes --no-deps --no-build-isolation --no-cache-dir

# pip builds packages without a wheel in separate environments, with the newest tools unless constrained. pip reads the
# first variable up to 26.1, the second from 25.3 on. The whole lock would not do: pip would report a missing package as
# a conflict with the constraint.
TOOLS := $(VENV)/build-tools.txt
WRITE_TOOLS := sed -n '/^\(Cython\|numpy\|packaging\|setuptools\|wheel\)==/p' requirements.txt > "$(TOOLS)"
$(RUN_STAMP) $(TEST_STAMP) wheels: export PIP_CONSTRAINT := $(strip $(PIP_CONSTRAINT) $(TOOLS))
$(RUN_STAMP) $(TEST_STAMP) wheels: export PIP_BUILD_CONSTRAINT := $(strip $(PIP_BUILD_CONSTRAINT) $(TOOLS))
# This is used in a shell function. pip refuses the second variable for builds without a separate environment.
RUN_PIP := env $$(case " $$* " in *" --no-build-isolation "*) echo "-u PIP_BUILD_CONSTRAINT" ;; esac) python -m pip

# A stamp counts only in an environment that works: whole, of the right Python, not moved from elsewhere.
HEALTHY := [ ! -e "$(VENV)/.unfinished" ] && grep -qF "$(BIN)/python" "$(BIN)/pip" && "$(BIN)/python" -c 'import pip; $(SUITABLE)'
ifneq ($(shell { $(HEALTHY); } 2> /dev/null && echo healthy),healthy)
$(RUN_STAMP): FORCE
endif
ifneq ($(WITHOUT),$(if $(wildcard $(VENV)/without-fairseq),fairseq))
$(RUN_STAMP): FORCE
endif
FORCE:

# In the order of use; `make help-all` has the others.
USED := report new study doctor print compare handin mirror
LIST = sed -n 's/^\([a-z-]*\):.*\#\# /\1\t/p' Makefile | while IFS=$$'\t' read -r target text; do printf '  %-16s %s\n' "$$target" "$$text"; done

help: ## list the targets of every day
	@for target in $(USED); do $(LIST) | grep "^  $$target " | sed 's/: \([[A-Z][A-Z]*=\)/\n                   \1/; s/ \(\[SECOND\)/\n                   \1/'; done
	echo "More: make help-all"

help-all: ## list all targets and variables
	@$(LIST)
	echo "Variables: CORES=$(CORES) PYTHON=$(PYTHON) VENV=$(VENV) STUDY=FILE MIRROR=FOLDER WHEELS=0 HASHES=1 WITHOUT=fairseq VERBOSE=1 ARGS=... TESTS=..."

# A run reports its page (scripts/study/closing.py), except with Snakemake's output. There may be no page after a dry
# run, or after a run that stops earlier.
tell = [ ! -e "$(1)" ] || echo "The report: $(CURDIR)/$(1)"

report: $(RUN_STAMP) ## install if necessary, run the embedded study, print the path of its report
	@snakemake --cores $(CORES) $(ARGS)
	[ "$${VERBOSE:-0}" = 0 ] || $(call tell,results/embedded/report.html)

print: $(RUN_STAMP) ## print a study's report as a PDF; needs Chromium: [STUDY=FILE]
	@snakemake --cores $(CORES) "results/$(STUDY_NAME)/report.pdf" $(OF_STUDY) $(ARGS)
	$(call tell,results/$(STUDY_NAME)/report.pdf)

study: study-file $(RUN_STAMP) ## run another study: STUDY=studies/open.yaml [MIRROR=FOLDER] [CORES=N]
	@python -m tools.check_settings "$$STUDY" "$$MIRROR"
	snakemake --cores $(CORES) $(OF_STUDY) $(ARGS)
	[ "$${VERBOSE:-0}" = 0 ] || $(call tell,results/$(STUDY_NAME)/report.html)

suite: $(RUN_STAMP) ## run studies of several data sets, then one page over all: SUITE=suites/english.yaml [MIRROR=FOLDER]
	@if [ ! -f "$$SUITE" ]; then
		echo "make suite: SUITE=$$SUITE is no file: name a suite's file, such as SUITE=suites/english-quick.yaml" >&2
		exit 2
	fi
	# Every study reports its own progress; of the suite's Snakemake only faults are shown.
	snakemake --snakefile suites/Snakefile --cores $(CORES) --quiet all --configfile "$$SUITE" $(if $(ARGS)$(MIRROR),--config $(if $(ARGS),'arguments=$(ARGS)') $(if $(MIRROR),"mirror='$${MIRROR//\'/\'\'}'"))
	name=$$(sed -n "s/^suite: *[\"']*\([A-Za-z0-9_.-]*\).*/\1/p" "$$SUITE")
	$(call tell,results/suites/$$name/report.html)

plan: study-file $(RUN_STAMP) ## plan seeds, test texts, hours and disk: STUDY=FILE [FROM=results/NAME]
	@python -m tools.plan "$$STUDY" $(if $(FROM),--from "$$FROM") $(ARGS)

new: $(RUN_STAMP) ## write a study's file for your own texts: NAME=mystudy TRAIN=FILE TEST=FILE TEXT=COLUMN LABEL=COLUMN [SECOND=COLUMN] [VALID=FILE] [MODEL=FOLDER|OWNER/NAME] [TASK=KIND]
	@python -m tools.new_study "$$NAME" --train="$$TRAIN" --valid="$$VALID" --test="$$TEST" --text="$$TEXT" --label="$$LABEL" --second="$$SECOND" --model="$$MODEL" --mirror="$$MIRROR" --task="$$TASK"

# The index is used, not the folder's wheels: those may be out of date, and this machine has a network.
mirror wheels: WHEELS_OF_MIRROR :=
mirror: mirror-folder $(if $(filter 0,$(WHEELS)),$(RUN_STAMP),wheels) ## collect all that a study needs without a network in a folder: MIRROR=FOLDER [STUDY=FILE] [WHEELS=0]
	@python -m tools.mirror "$${STUDY:-config.yaml}" "$$MIRROR"

wheels: mirror-folder $(RUN_STAMP) ## collect only the packages, in MIRROR/wheels: MIRROR=FOLDER
	@wheels="$$MIRROR/wheels"
	$(WRITE_TOOLS)
	# Checks that a folder is enough to install from: pip resolves the locks against it alone.
	alone() { PIP_CONFIG_FILE=/dev/null PIP_FIND_LINKS= python -m pip install -qq --dry-run --ignore-installed --no-index --find-links "$$@"; }
	whole() { [ -d "$$1" ] && alone "$$1" -r requirements.txt && alone "$$1" --no-deps -r requirements-fairseq.txt; }
	collect() {
		echo "== pip wheel $$*" >> "$(LOG)"
		if ! $(RUN_PIP) wheel --wheel-dir "$$wheels.part" "$$@" >> "$(LOG)" 2>&1; then
			tail -n 15 "$(LOG)" >&2
			echo "make: collecting the packages stopped; the whole log is $(LOG). Fix the cause and run make again." >&2
			exit 1
		fi
	}
	if ! whole "$$wheels" 2> /dev/null; then
		echo "Collecting the packages of the environment in $$wheels; some minutes"
		# The folder appears once it is whole, because an installation reads a folder of this name as complete.
		rm -rf "$$wheels.part"
		if [ -n "$(HASHES)" ]; then
			collect $(VERIFIED) -r $(HASHED)requirements.txt
			if $(NEEDS_CUDA); then collect $(VERIFIED) -r $(HASHED)cuda.txt; fi
		else
			collect -r requirements.txt
		fi
		# The environment's pip, where it still has one.
		collect --no-build-isolation --no-deps --find-links "$(FAIRSEQ)" -r requirements-fairseq.txt
		whole "$$wheels.part"
		rm -rf "$$wheels"
		mv "$$wheels.part" "$$wheels"
	fi
	echo "$$wheels: every package of the environment, for $$(python -c 'import sysconfig; print(sysconfig.get_platform(), "and Python", sysconfig.get_python_version())')"

mirror-folder:
	@if [ -z "$$MIRROR" ]; then
		echo "make $(firstword $(MAKECMDGOALS)): name the folder to fill: make $(firstword $(MAKECMDGOALS)) STUDY=$${STUDY:-config.yaml} MIRROR=FOLDER" >&2
		exit 2
	fi

study-file:
	@if [ ! -f "$$STUDY" ]; then
		said=$$(python3 -m tools.near_study "$$STUDY" 2> /dev/null || echo "name a study's file, such as STUDY=studies/open.yaml")
		echo "make $(firstword $(MAKECMDGOALS)): STUDY=$$STUDY is no file: $$said" >&2
		exit 2
	fi

# The study of STUDY, or the embedded one, by the name in its file.
STUDY_NAME = $$(sed -n "s/^study: *[\"']*\([A-Za-z0-9_.-]*\).*/\1/p" "$${STUDY:-config.yaml}" | grep . || echo unnamed)
# In YAML a quotation mark inside single ones is written twice.
OF_STUDY = $(if $(STUDY),--configfile "$$STUDY") $(if $(MIRROR),--config "mirror='$${MIRROR//\'/\'\'}'")

clean-report: ## remove a study's report, figures and tables; keep the records of its runs: [STUDY=FILE]
	@python3 -m tools.results clean-report "$${STUDY:-config.yaml}"

regenerate: $(RUN_STAMP) ## rebuild report, figures and tables from the records, train nothing, compare the bytes: [STUDY=FILE]
	@python -m tools.results regenerate "$${STUDY:-config.yaml}" -- --cores $(CORES) $(OF_STUDY) $(ARGS)

snakemake-report: $(RUN_STAMP) ## Snakemake's own report of a finished study, as a zip: [STUDY=FILE]
	@snakemake --report "results/$(STUDY_NAME)/snakemake-report.zip" --cores 1 $(OF_STUDY) $(ARGS)
	echo "The report: $(CURDIR)/results/$(STUDY_NAME)/snakemake-report.zip"

compare: $(RUN_STAMP) ## two studies on one page: FIRST=results/open SECOND=claims/published_runs.tsv:published [PAGE=FILE]
	@python -m tools.compare "$$FIRST" "$$SECOND" "$$PAGE"
	echo "The comparison: $$PAGE"

handin: $(RUN_STAMP) ## figures, tables, methods and a text with bound numbers for a paper: [STUDY=FILE]
	@python -m tools.handin "results/$(STUDY_NAME)"

track: $(RUN_STAMP) ## copy a finished study's runs to a tracker: [STUDY=FILE] TRACKER=mlflow|wandb
	@python -m tools.track "results/$(STUDY_NAME)" "$$TRACKER"

tensorboard: $(RUN_STAMP) ## show the curves of every training, of unfinished ones too: [STUDY=FILE]
	@tensorboard --logdir "results/$(STUDY_NAME)" $(ARGS)

benchmark: $(RUN_STAMP) ## time plain commands and the workflow in turn: [MODE=short|epoch|full] [MIRROR=FOLDER]
	@PYTHONPATH=scripts python benchmarks/benchmark.py --mode $(or $(MODE),short) $(if $(MIRROR),--mirror "$$MIRROR") $(ARGS)

equivalence: $(RUN_STAMP) ## train many seeds the plain and the fast way and test that they agree: [MIRROR=FOLDER]
	@PYTHONPATH=scripts python benchmarks/equivalence.py $(if $(MIRROR),--mirror "$$MIRROR") $(ARGS)

overhead: $(RUN_STAMP) ## time planning, a run with nothing to do, rebuilding the report
	@PYTHONPATH=scripts python benchmarks/overhead.py $(ARGS)

sizes: ## bytes that git keeps, in all and of the published pages, beside their aims
	@python3 -m tools.sizes

simulate: $(RUN_STAMP) ## simulate how often the report's words are wrong; rewrites docs/method/simulations.md, in minutes
	@OMP_NUM_THREADS=1 python -m tools.simulate --processes $(CORES) $(ARGS)

# Any Python suffices: checks of the environment are left out where there is none.
doctor: ## check whether this machine can run a study, and say what to do; changes nothing: [STUDY=FILE] [MIRROR=FOLDER]
	@for python in "$(BIN)/python" "$(PYTHON)" python3; do
		if "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2> /dev/null; then
			exec "$$python" -m tools.doctor --venv "$(VENV)" --python "$(PYTHON)" --study "$$STUDY" --mirror "$$MIRROR" $(ARGS)
		fi
	done
	echo "FAIL python: neither '$(PYTHON)' nor python3 runs - install Python 3.11, 3.12 or 3.13, or name it: make doctor PYTHON=/path/to/python3.13" >&2
	exit 1

# Tests are distributed by file, since those of one file share a study that takes minutes. The folders' order runs whole
# studies first, so that no long file is left for the end.
PYTEST := pytest -n 2 --dist loadfile --no-loadscope-reorder

test: lint ## install if necessary, lint, run all but the slow tests: [TESTS=tests/unit]
	@$(PYTEST) $(or $(TESTS),-m "not slow")

test-slow: $(TEST_STAMP) ## the slow tests: Slurm, S3, kills, browser, isolated environments, air gap: [TESTS=FILE]
	@$(PYTEST) -m "slow and not long" $(TESTS)

test-long: $(TEST_STAMP) ## what takes minutes: full disks, a killed study, every rule in its conda environment, the published protocol: [TESTS=FILE]
	@$(PYTEST) -m long $(TESTS)

fuzz: $(TEST_STAMP) ## fuzz every file parser: [MINUTES=10]
	@PYTHONPATH=tests python -m support.fuzz "$(or $(MINUTES),10)"

test-faults: $(RUN_STAMP) ## kill a study at boundaries and random moments, then each resumable job: [STUDY=FILE] [ARGS="--kills 5"]
	@PYTHONPATH=tests python -m support.fault_injection $(if $(STUDY),--study "$$STUDY") --cores $(CORES) $(ARGS)
	OMP_NUM_THREADS=1 PYTHONPATH=tests:scripts python -m support.resumable_jobs

lint: $(TEST_STAMP) ## ruff, snakefmt and Snakemake's own lint
	@ruff check --quiet .
	ruff format --check --quiet .
	snakefmt --check Snakefile rules
	snakemake --lint

format: $(TEST_STAMP) ## format the code as lint requires
	@ruff check --fix --quiet .
	ruff format --quiet .
	snakefmt Snakefile rules

env: $(RUN_STAMP) ## only install what the workflow needs

test-env: $(TEST_STAMP) ## only install what the workflow and its tests need

test-envs: $(TEST_STAMP) ## install each conda environment's packages with pip, alone, and run jobs in it; slow
	@pytest tests/integration/test_isolated_environments.py --install-environments $(ARGS)

# The site contains the pages and the files that they link to.
SITE_PARTS := README.md CHANGELOG.md CONTRIBUTING.md LICENSE CITATION.cff config.yaml Snakefile docs published profiles schemas studies claims

docs: ## build the documentation as a searchable site: site/index.html
	@lock=$$(cksum < requirements-docs.txt)
	if [ "$$(cat .venv-docs/installed 2> /dev/null)" != "$$lock" ]; then
		echo "Installing MkDocs into .venv-docs"
		rm -rf .venv-docs
		$(PYTHON) -m venv .venv-docs
		.venv-docs/bin/python -m pip install --quiet --quiet --requirement requirements-docs.txt
		echo "$$lock" > .venv-docs/installed
	fi
	pages=$$(mktemp -d)
	trap 'rm -rf "$$pages"' EXIT
	cp -r $(SITE_PARTS) "$$pages"
	NO_MKDOCS_2_WARNING=1 RESEED_PAGES="$$pages" .venv-docs/bin/mkdocs build --strict --quiet
	echo "The documentation: $(CURDIR)/site/index.html"

lock: $(TEST_STAMP) ## rewrite the lock files, envs/, hashes and list of licences, after a change to requirements.in or a pip install; needs PyPI
	@python .ci/lock.py
	python .ci/licences.py
	python .ci/hashes.py

clean: ## remove generated results and caches; downloads and environments stay, those of conda and containers too
	@if [ -d results ]; then python3 -m tools.results check; fi
	rm -rf results .pytest_cache .ruff_cache .hypothesis
	[ ! -d .snakemake ] || find .snakemake -mindepth 1 -maxdepth 1 ! -name conda ! -name singularity -exec rm -rf {} +

# Wheels in the mirror (`make mirror`) replace the package index.
WHEELS_OF_MIRROR := yes

# Checks whether PyTorch's build needs CUDA's libraries: PyPI's does, and those of PyTorch's index have a local version
# (+cpu).
NEEDS_CUDA := python -c 'import importlib.metadata, sys; sys.exit("+" in importlib.metadata.version("torch"))'

# An install leaves $(VENV)/.unfinished behind from its first step to its last. If it is still there, pip was
# interrupted and may take half a package for a whole one, so the environment is recreated (pip's
# cache keeps that short). The stamp is written last.
define BEGIN
offline=
if [ -n "$(WHEELS_OF_MIRROR)" ] && [ -n "$$MIRROR" ] && [ -d "$$MIRROR/wheels" ]; then
	offline="$$MIRROR/wheels"
fi
if [ -n "$(HASHES)" ] && [ -n "$$offline" ]; then
	echo "make: HASHES=1 verifies files of a package index, and $$offline holds packages that were built elsewhere. Leave HASHES out here, and give it to 'make wheels' instead." >&2
	exit 1
fi
# The environment's interpreter may be removed below, so another one is used.
python=$$(PATH="$${PATH#"$(BIN):"}"; command -v "$(PYTHON)" || true)
if [ "$(PYTHON)" = uv ] && [ -n "$$python" ]; then
	python=$$(uv python find --no-project '>=3.11,<3.14' 2> /dev/null || { uv python install 3.11 >&2 && uv python find --no-project 3.11; } || true)
fi
if [ -z "$$python" ] || ! "$$python" -c '$(SUITABLE)' 2> /dev/null; then
	echo "make: Python 3.11, 3.12 or 3.13 is needed, and '$(PYTHON)' is none of them. Install one, or name it: make PYTHON=/path/to/python3.13; with uv installed, make gets one itself." >&2
	exit 1
fi
python=$$("$$python" -c 'import sys; print(sys._base_executable)')
minor=$$("$$python" -c 'import sys; print("python3.%d" % sys.version_info[1])')
if ! "$$python" -c 'import ensurepip, venv' 2> /dev/null; then
	echo "make: '$$python' cannot make virtual environments: install its venv module (Debian: $$minor-venv)" >&2
	exit 1
fi
if [ -e "$(VENV)" ] && ! { $(HEALTHY); } 2> /dev/null; then
	echo "$(VENV) is unfinished or broken: recreating it"
	rm -rf "$(VENV)"
fi
# pip does not verify installed packages.
if [ -e "$(VENV)" ] && [ -n "$(HASHES)" ] && [ ! -e "$(RUN_STAMP)" ]; then
	echo "$(VENV) was installed without hashes: recreating it"
	rm -rf "$(VENV)"
fi
if [ ! -e "$(VENV)" ]; then
	mkdir -p "$(VENV)"
	touch "$(VENV)/.unfinished"
	"$$python" -m venv "$(VENV)"
fi
touch "$(VENV)/.unfinished"
$(WRITE_TOOLS)
log="$(LOG)"
# pip's command first, then its arguments.
pip_do() {
	echo "== pip $$*" >> "$$log"
	if ! $(RUN_PIP) "$$1" $${offline:+--no-index --find-links "$$offline"} "$${@:2}" >> "$$log" 2>&1; then
		tail -n 15 "$$log" >&2
		if [ -n "$$offline" ]; then
			echo "make: packages were taken from $$offline alone. Where there is network, 'make wheels MIRROR=$$MIRROR' brings it up to date." >&2
		fi
		echo "make: the installation stopped; the whole log is $$log. Fix the cause and run make again (no network: docs/guides/offline.md)." >&2
		exit 1
	fi
}
# Python compiles modules when they are imported, a fraction of all that are installed.
pip_install() { pip_do install --no-compile "$$@"; }
endef

define END
rm -f "$(VENV)"/$(1)-*[0-9]
touch "$@" "$(2)"
rm "$(VENV)/.unfinished"
endef

$(RUN_STAMP):
	@$(BEGIN)
	rm -f "$(VENV)/without-fairseq"
	leave="Without one, WITHOUT=fairseq leaves fairseq out: enough for studies of models from the hub."
	if [ "$(WITHOUT)" != fairseq ] && [ -z "$$offline" ] && ! python -c 'import fairseq' 2> /dev/null; then
		if ! command -v "$${CXX:-c++}" > /dev/null; then
			echo "make: a C++ compiler is needed to build fairseq, and there is no '$${CXX:-c++}'. Install one (Debian: g++), or name it in CXX. $$leave" >&2
			exit 1
		fi
		if ! python -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))'; then
			echo "make: '$$python' lacks the header Python.h, which building fairseq needs (Debian: $$minor-dev). $$leave" >&2
			exit 1
		fi
	fi
	echo "Installing into $(VENV), once; a minute or more. Log: $(LOG)"
	if [ -n "$(HASHES)" ]; then
		sed -n '/^\(packaging\|setuptools\|wheel\)==/,/[^\\]$$/p' $(HASHED)requirements.txt > "$(VENV)/verified-tools.txt"
		pip_install $(VERIFIED) -r "$(VENV)/verified-tools.txt"
		pip_install $(VERIFIED) -r $(HASHED)requirements.txt
		if $(NEEDS_CUDA); then pip_install $(VERIFIED) -r $(HASHED)cuda.txt; fi
	else
		# PyTorch comes first and alone, in the build of the configured index or wheel folder. With it come the requirements
		# of building fairseq, which then runs while everything else is installed.
		pip_install -c requirements.txt $$(grep -E '^(torch|numpy|Cython|setuptools|wheel)==' requirements.txt)
	fi
	build_fairseq() {
		log="$(VENV)/fairseq.log"
		rm -rf "$(FAIRSEQ)"
		# fairseq's build must see the PyTorch above and not fetch another, and its list of requirements is out of date.
		pip_do download --no-build-isolation --no-deps --dest "$(FAIRSEQ)" $(if $(HASHES),--require-hashes) -r $(HASHED)requirements-fairseq.txt
		for sdist in $$(cd "$(FAIRSEQ)" && find . -name '*.tar.gz'); do
			mkdir "$(FAIRSEQ)/source"
			tar --extract --strip-components=1 --directory="$(FAIRSEQ)/source" --file="$(FAIRSEQ)/$$sdist"
			# Only the extensions up to the third are built: the others are compiled with all of PyTorch's headers, which takes
			# four fifths of the build, and nothing here imports them (docs/method/performance.md).
			sed -i 's/ext_modules=extensions/&[:3]/' "$(FAIRSEQ)/source/setup.py"
			pip_do wheel --no-build-isolation --no-deps --wheel-dir "$(FAIRSEQ)" "$(FAIRSEQ)/source"
			rm -r "$(FAIRSEQ)/source" "$(FAIRSEQ)/$$sdist"
		done
	}
	building=
	if [ "$(WITHOUT)" != fairseq ]; then
		# A separate process group ends with an interrupted installation.
		set -m
		build_fairseq &
		set +m
		building=$$!
		trap "kill -- -$$building 2> /dev/null || true" EXIT
	fi
	[ -n "$(HASHES)" ] || pip_install -r requirements.txt
	if [ -n "$$building" ]; then
		wait $$building
		pip_install --no-deps "$(FAIRSEQ)"/*.whl
	else
		touch "$(VENV)/without-fairseq"
	fi
	python -c "import $${building:+fairseq, }snakemake, torch, transformers" >> "$(LOG)" 2>&1 || { tail -n 15 "$(LOG)" >&2; echo "make: what was installed does not work; the whole log is $(LOG)" >&2; exit 1; }
	$(call END,installed,$(PLAIN_RUN_STAMP))

$(TEST_STAMP): $(RUN_STAMP)
	@$(BEGIN)
	echo "Installing the test tools into $(VENV). Log: $(LOG)"
	if [ -n "$(HASHES)" ]; then
		pip_install --force-reinstall $(VERIFIED) -r $(HASHED)requirements-test.txt
	else
		pip_install -r requirements-test.txt
	fi
	$(call END,installed-tests,$(PLAIN_TEST_STAMP))
