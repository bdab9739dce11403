# make demo      run the first scenario, on the GPU if there is one, else on the model
# make test      formatting, lint, types and tests
# make results   measure every scenario on this machine's GPU into results/
# make readme    put the tables of results/ into README.md
# make pictures  draw the pictures of README.md from results/; needs Chromium
# make compiled  compile the model's engine with mypyc, in place: half the time for the same answers
# make bench     what can be measured without a GPU
# make schema    bring scenarios/schema.json up to date
# make clean     remove the virtual environment and what the tools left behind
#
# VENV= (empty) takes PYTHON as it is, with everything installed already: a machine without network.

PYTHON ?= python3
VENV ?= .venv
WORKERS ?= 2

ifeq ($(strip $(VENV)),)
PY := $(PYTHON)
INSTALLED :=
DEV :=
else
PY := $(VENV)/bin/python
INSTALLED := $(VENV)/.installed
DEV := $(VENV)/.installed-dev
endif

PIP := $(PY) -m pip install --quiet --disable-pip-version-check
POOLBENCH := $(PY) -m poolbench

.DEFAULT_GOAL := demo
.PHONY: demo test results readme pictures compiled bench schema clean

demo: $(INSTALLED)
	$(POOLBENCH) run scenarios/hand-over.yaml

test: $(DEV)
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(PY) -m pytest -n $(WORKERS)

results: $(INSTALLED)
	$(PY) scripts/results.py

readme: $(INSTALLED)
	$(PY) scripts/readme.py

pictures: $(DEV)
	$(PY) scripts/pictures.py

compiled: $(DEV)
	$(PY) scripts/compile_model.py

bench: $(INSTALLED)
	$(PY) benchmarks/start_speed.py
	$(PY) benchmarks/load_speed.py
	$(PY) benchmarks/model_speed.py

schema: $(INSTALLED)
	$(POOLBENCH) schema > scenarios/schema.json

clean:
	rm -rf .venv .ci-venv .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist
	rm -f poolbench/backends/model/*.so *__mypyc*.so
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamps make the second run quick; the package is installed in place, so only its metadata
# and its dependencies can make them stale.
ifneq ($(strip $(VENV)),)
$(VENV)/.made: scripts/venv.sh
	sh scripts/venv.sh $(PYTHON) $(VENV)
	@touch $@

$(INSTALLED): $(VENV)/.made pyproject.toml
	$(PIP) --editable '.[plot,report]'
	@touch $@

$(DEV): $(INSTALLED)
	$(PIP) --group dev
	@touch $@
endif
