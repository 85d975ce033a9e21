# All that is done with this project. Needs python3 (3.10 or newer) and make; everything else goes into .venv* here.
#
#   make demo         see it work
#   make test         the whole suite, on the newest mcp 2.x and the newest 1.x (one of them: make test-mcp2), on all
#                     cores (on one: WORKERS=0)
#   make test-lowest  the same on the lowest mcp of each major, with the other lower bounds
#   make lint types   what else has to be right
#   make check        all of these but test-lowest
#   make coverage     the suite on both majors, and what it does not reach
#   make doors        the frameworks' doors with every version they are for: docs/doors-before-after.md
#   make conformance  the official conformance suite, with the guard and without: docs/conformance.md (needs npm)
#   make fuzz         schemas and values against plain jsonschema, RUNS=1000 of each kind: docs/fuzzing.md
#   make fuzz-atheris the same and any bytes, guided by coverage, RUNS=1000 of each target (Linux on x86_64)
#   make hazards      docs/hazards.md: what hostile servers cost, with jsonschema-rs and without (ten minutes)
#   make faults       docs/faults.md: what each fault does to a plain session, and to a guarded one
#   make fleet        the recipes for Ray and Spark, and recordings on an S3-compatible server (needs Java 17)
#   make benchmarks   docs/performance.md: what a guarded call costs, on both majors (half an hour)
#   make memory       what checking a large result costs in memory
#   make real-servers docs/real-servers.md: `mcp-guard check` against public servers (needs npm)
#   make docs         the documentation as a site, in site/
#   make llms         docs/llms.txt, after a change of the navigation or of a page's first sentence
#   make dist         wheel and sdist in dist/, checked, and the suite against the wheel: docs/releasing.md
#   make format       let ruff put the code in order
#   make clean        remove all that was made here
#
# More words for pytest: make test-mcp2 ARGS="-k text -x"

PYTHON ?= python3
ARGS ?=
WORKERS ?= auto
RUNS ?= 1000
TARGETS ?= parse text result schema agree

MAKEFLAGS += --no-print-directory
SHELL := /bin/sh
export PIP_DISABLE_PIP_VERSION_CHECK := 1

MCP2 := .venv-mcp2/bin
MCP1 := .venv-mcp1/bin
EXAMPLES := $(wildcard examples conformance fuzz scripts)
# each seam is written against one major, and checked against no other
SEAM1 := src/mcp_guard/_sdk/v1.py
SEAM2 := src/mcp_guard/_sdk/v2.py

.PHONY: demo dist docs llms doors faults fleet hazards real-servers test test-lowest lint types check coverage format clean conformance benchmarks memory fuzz fuzz-atheris
.DELETE_ON_ERROR:

demo: .venv/made
	@.venv/bin/python examples/demo.py

test: test-mcp2 test-mcp1

test-lowest: test-mcp2-lowest test-mcp1-lowest

test-mcp%: .venv-mcp%/made
	@echo "== tests on $$($(<D)/bin/python -c 'import importlib.metadata as m, sys; print("mcp", m.version("mcp"), "python", sys.version.split()[0])')"
	@$(<D)/bin/python -m pytest --numprocesses $(WORKERS) $(ARGS)

lint: .venv-mcp2/made
	@echo "== ruff"
	@$(MCP2)/ruff check .
	@$(MCP2)/ruff format --check .

types: .venv-mcp2/made .venv-mcp1/made
	@echo "== mypy, mcp 2.x"
	@$(MCP2)/mypy --exclude $(SEAM1) src tests $(EXAMPLES)
	@echo "== mypy, mcp 1.x"
	@$(MCP2)/mypy --python-executable $(MCP1)/python --cache-dir .mypy_cache/mcp1 --exclude $(SEAM2) src tests $(EXAMPLES)
	@echo "== pyright, mcp 2.x"
	@$(MCP2)/pyright --pythonpath $(MCP2)/python $$(find src tests $(EXAMPLES) -name '*.py' ! -path $(SEAM1))
	@echo "== pyright, mcp 1.x"
	@$(MCP2)/pyright --pythonpath $(MCP1)/python $$(find src tests $(EXAMPLES) -name '*.py' ! -path $(SEAM2))

check: lint types test

coverage: .venv-mcp2/made .venv-mcp1/made
	@rm -f .coverage .coverage.*
	@COVERAGE_FILE=.coverage.2 $(MCP2)/coverage run --parallel-mode -m pytest $(ARGS)
	@COVERAGE_FILE=.coverage.1 $(MCP1)/coverage run --parallel-mode -m pytest $(ARGS)
	@$(MCP2)/coverage combine --quiet
	@$(MCP2)/coverage report
	@echo "== the core alone"
	@$(MCP2)/coverage report --fail-under=98 --include="$$(PYTHONPATH=tests $(MCP2)/python -c \
	    'from test_project import LINE; core = [*LINE[:LINE.index("contracts")], "records", "_record", "_judge"]; \
	    print(*(f"src/mcp_guard/{module}.py" for module in core), sep=",")')"

fuzz: .venv-mcp2/made
	@FUZZ_RUNS=$(RUNS) $(MCP2)/python -m pytest tests/test_fuzz.py --hypothesis-show-statistics $(ARGS)

fuzz-atheris: .venv-fuzz/made
	@for target in $(TARGETS); do \
	    echo "== $$target"; PYTHONPATH=tests .venv-fuzz/bin/python -m fuzz.run $$target -runs=$(RUNS) $(ARGS) || exit 1; \
	done

docs: .venv-docs/made
	@.venv-docs/bin/python -m scripts.docs stage .docs
	@.venv-docs/bin/zensical build --strict --clean
	@.venv-docs/bin/python -m scripts.docs publish .docs site

llms: .venv-docs/made
	@.venv-docs/bin/python -m scripts.docs llms

dist: .venv-dist/made
	@.venv-dist/bin/python scripts/dist.py $(ARGS)

format: .venv-mcp2/made
	@$(MCP2)/ruff check --fix-only .
	@$(MCP2)/ruff format .

clean:
	rm -rf .venv* .cache .coverage* .docs .fuzz .hypothesis .mypy_cache .pytest_cache .ruff_cache build dist site

# A virtual environment is made anew whenever pyproject.toml has changed.
.venv/made: GROUPS =
.venv-mcp2/made: GROUPS = --group dev --group mcp2
.venv-mcp1/made: GROUPS = --group test --group mcp1
.venv-fleet/made: GROUPS = --group fleet
.venv-fuzz/made: GROUPS = --group fuzz
.venv-docs/made: GROUPS = --group docs
.venv-dist/made: GROUPS = --group dist
.venv-mcp2-lowest/made: GROUPS = --group test --group mcp2-lowest
.venv-mcp1-lowest/made: GROUPS = --group test --group mcp1-lowest

.PRECIOUS: .venv%/made
.venv/made .venv-fleet/made .venv-mcp1/made .venv-mcp2/made .venv-mcp1-lowest/made .venv-mcp2-lowest/made .venv-fuzz/made .venv-docs/made .venv-dist/made: pyproject.toml src/mcp_guard/_version.py
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || { \
	    echo "mcp_guard needs Python 3.10 or newer, and $(PYTHON) is none; name one: make $(MAKECMDGOALS) PYTHON=python3.12" >&2; exit 1; }
	@echo "== making $(@D) (once)"
	@rm -rf $(@D)
	@$(PYTHON) -m venv $(@D)
	@$(@D)/bin/python -m pip install --quiet --upgrade "pip>=25.1"  # the first that knows --group
	@$(@D)/bin/python -m pip install --quiet --editable . $(GROUPS)
	@touch $@

fleet: .venv-fleet/made
	@$(<D)/bin/python -m pytest tests/test_fleet_page.py tests/test_fleet_s3.py $(ARGS)

benchmarks: .venv-mcp2/made .venv-mcp1/made
	@$(MCP2)/python -m benchmarks $(ARGS)

memory: .venv-mcp2/made
	@$(MCP2)/python benchmarks/memory.py

conformance: .venv-mcp2/made .venv-mcp1/made
	@$(MCP2)/python conformance/run.py

doors: .venv-mcp2/made
	@$(MCP2)/python tests/doors/run.py $(ARGS)

faults: .venv-mcp2/made .venv-mcp1/made
	@$(MCP2)/python scripts/faults.py

real-servers: .venv-mcp2/made
	@$(MCP2)/python scripts/real_servers.py

hazards: .venv-mcp2/made
	@$(MCP2)/python benchmarks/hazards.py
