# The verbs of this repository; `make help` lists them with examples.

PYTHON ?= python3
SHELL := /bin/bash
.NOTPARALLEL:
.SUFFIXES:
.DEFAULT_GOAL := help

# Bytecode is kept even where the shell says otherwise: without it, torch, verl and vLLM take 35 s to import, not 13.
export PYTHONDONTWRITEBYTECODE :=

SERVICES := .venv/services/bin
TRAINER := .venv/trainer/bin
TASKS := $(patsubst services/%/pyproject.toml,%,$(wildcard services/*/pyproject.toml))

# Settings of a service (TURNGYM_… in the environment), and what training, evaluating and collecting take.
SETTINGS := HOST PORT MAX_SESSIONS QUEUE QUEUE_TIMEOUT_S SESSION_TTL_S STEP_TIMEOUT_S REBUILD_TIMEOUT_S WORKERS \
  MAX_BODY_BYTES JOURNAL JOURNAL_KEEP_S JOURNAL_MAX_MB EXPERTS TOKEN LOG_LEVEL LOG_FORMAT DATA_DIR REPLICA_NAMES \
  MODEL_URL MODEL_KEY \
  $(addprefix SEARCH_,RETRIEVER CORPUS INDEX INDEX_KIND ENCODER PREFIXES QUESTIONS REMOTE_URL REMOTE_TIMEOUT_S REMOTE_TRIES \
  TOPK WINDOW_MS MAX_BATCH QUEUE CACHE THREADS MAX_QUERY_CHARS) \
  JAVA JVMS JVM_SESSIONS JVM_HEAP_MB JVM_CALL_TIMEOUT_S JVM_START_TIMEOUT_S \
  CHROMIUM PROFILE JUDGE_URL JUDGE_MODEL JUDGE_KEY SITES_PORT SETTLE_S CALL_S ACTIVE_PAGES RECYCLE_CONTEXTS \
  RECYCLE_MB MAX_NODES
TRAINING := ENV_ADDR ALGO HW MODEL ROUNDS EVERY STEPS SEED RUN DRY_RUN SMOKE ARGS
PLAYING := ENV_ADDR POLICY RATE MODEL BASE_URL SPLIT N SEED OUT ARGS
VIEWING := RUNS
TOOLS := TASK PYTHON PYTEST_ARGS SHELL WORDNET EPISODES REPLICAS TORCH_WHEELS

# A misspelt NAME=value on the command line is an error, not a silent default.
GIVEN := $(foreach name,$(.VARIABLES),$(if $(filter command,$(firstword $(origin $(name)))),$(name)))
UNKNOWN := $(filter-out $(SETTINGS) $(TRAINING) $(PLAYING) $(VIEWING) $(TOOLS) MAKEFLAGS MAKEOVERRIDES,$(GIVEN))
ifneq ($(UNKNOWN),)
$(error unknown variable $(UNKNOWN); `make help` lists those that each verb takes)
endif

quote = '$(subst ','\'',$(1))'
comma := ,
# --env-addr 'http://…' for ENV_ADDR=http://…, and nothing where it is empty; --smoke for SMOKE=1
option = $(if $($(1)),--$(call dashed,$(1)) $(call quote,$($(1))))
flag = $(if $(filter-out 0 no false,$($(1))),--$(call dashed,$(1)))
dashed = $(shell echo $(1) | tr 'A-Z_' 'a-z-')
options = $(foreach name,$(1),$(call option,$(name)))

# PORT=8010 on the command line is TURNGYM_PORT for the service; a PORT that merely lies in the environment is not.
given = $(filter command,$(firstword $(origin $(1))))
settings = $(foreach name,$(SETTINGS),$(if $(call given,$(name)),TURNGYM_$(name)=$(call quote,$($(name)))))

define no_task
$(if $(TASK),echo $(call quote,no task $(TASK); there are: $(TASKS)),echo 'say which task, as in TASK=$(firstword $(TASKS)); there are: $(TASKS)') >&2; exit 2
endef
# A browser for the task that needs one; it is there already on most machines.
browser = @case $(call quote,$(comma)$(1)$(comma)) in (*,webarena,*) $(settings) $(SERVICES)/python scripts/browser.py;; esac
check_task = @$(if $(and $(TASK),$(if $(filter-out $(TASKS),$(subst $(comma), ,$(TASK))),,known)),:,$(no_task))

.PHONY: help
help:  ## this text
	@echo 'Verbs (any of them installs what it needs first):'
	@grep -hE '^[a-z-]+:.*## ' $(firstword $(MAKEFILE_LIST)) | sed -E 's/^([a-z-]+):[^#]*## (.*)/  make \1|\2/' | column -t -s '|'
	@sed -n 's/^#: \{0,1\}//p' $(firstword $(MAKEFILE_LIST)) | sed 's/TASKS_HERE/$(TASKS)/'

#:
#: Tasks: TASKS_HERE
#:
#: Train an agent: starts the service if none answers, prepares a small starter model, trains, evaluates, draws.
#:   make train TASK=textcraft
#:   make train TASK=textcraft SMOKE=1                          the same in miniature, a few minutes
#:   make train TASK=textcraft DRY_RUN=1                        resolve and check the configuration, and print it
#:   make train TASK=textcraft ROUNDS=4,6,8 EVERY=16 STEPS=48 SEED=1 RUN=runs/mine
#:   make train ENV_ADDR=http://host:8003                       on anyone's environment; several replicas: url,url
#:   make train TASK=textcraft ARGS="actor_rollout_ref.actor.optim.lr=1e-4"
#:   ALGO is grpo_turn or grpo; HW is cpu (found out and printed); MODEL is a model folder or name (default: the starter)
#:
#: Serve one environment in the foreground. Any setting as NAME=value:
#:   make serve TASK=textcraft
#:   make serve TASK=textcraft PORT=9003 HOST=0.0.0.0 MAX_SESSIONS=256 EXPERTS=1 JOURNAL=off
#:   HOST PORT MAX_SESSIONS QUEUE QUEUE_TIMEOUT_S SESSION_TTL_S STEP_TIMEOUT_S REBUILD_TIMEOUT_S WORKERS
#:   MAX_BODY_BYTES JOURNAL JOURNAL_KEEP_S JOURNAL_MAX_MB EXPERTS TOKEN LOG_LEVEL LOG_FORMAT DATA_DIR
#:   make serve TASK=search SEARCH_RETRIEVER=hybrid             the search service's own settings: see its README
#:   sciworld also takes JAVA JVMS JVM_SESSIONS JVM_HEAP_MB JVM_CALL_TIMEOUT_S JVM_START_TIMEOUT_S
#:   MODEL MODEL_URL MODEL_KEY (a language model that may play in the playground)
#: It has a playground: open http://localhost:8003/ui in a browser (EXPERTS=1 lets you ask the expert there).
#:
#: Look at runs and at single episodes, while they train or later:
#:   make view                                                  http://localhost:8010; RUNS=folder PORT=8010 TOKEN=…
#:
#: Evaluate a policy over HTTP (starts the service for it unless ENV_ADDR names one):
#:   make eval TASK=textcraft                                   POLICY=expert SPLIT=test N=200 SEED=0
#:   make eval TASK=textcraft POLICY=random OUT=random.json
#:   make eval TASK=textcraft MODEL=runs/textcraft-1            a run's last checkpoint, or any model folder, by vLLM
#:   make eval TASK=textcraft MODEL=name BASE_URL=http://host:8000/v1     any OpenAI-compatible endpoint
#:
#: Collect episodes for supervised learning, inside the service's own process:
#:   make collect TASK=textcraft                                POLICY=expert RATE=0.6 SPLIT=train N=1000 SEED=0
#:   make collect TASK=textcraft POLICY=novice N=5000 OUT=novice.jsonl    OUT is runs/data/TASK-POLICY.jsonl by default
#:
#: Figures of a service that take minutes to hours (ARGS=--help says more):
#:   make prove TASK=babyai                                     the expert on every level
#:   make prove TASK=search                                     the expert on every question
#:   make prove TASK=sciworld                                   the gold path of every variation
#:   make prove TASK=webarena                                   every task's proofs in the browser (ARGS=--make: the tasks anew)
#:   make bench TASK=babyai                                     CPU per step
#:   make bench TASK=search                                     its retriever beside plain FAISS
#:   make bench TASK=sciworld                                   its steps beside the official wrapper
#:   make bench TASK=viewer                                     the viewer over a large run; ARGS="--trajectories 200000 --pages" for 2 GB
#:   make bench TASK=webarena                                   observations, sessions, steps and resets
#:   make soak TASK=webarena                                    500 episodes in one process, and what they leave behind
#:
#: Webarena has settings of its own: CHROMIUM (the browser's program), PROFILE=webarena (evaluators as published),
#: JUDGE_URL JUDGE_MODEL JUDGE_KEY (a model judges free answers), SITES_PORT, SETTLE_S, CALL_S, ACTIVE_PAGES, RECYCLE_CONTEXTS,
#: RECYCLE_MB, MAX_NODES.
#:
#: Containers: make up, then http://127.0.0.1:8000/TASK/ or the task's own port; deploy/README.md says more.
#:   docker compose up -d --scale textcraft=4
#:   docker compose --profile train run --rm train TASK=textcraft SMOKE=1
#:
#: PYTHON=python3.12 (any from 3.11 on) makes the environments. PYTEST_ARGS goes to every pytest.

.PHONY: services-env trainer-env
services-env:
	@command -v $(PYTHON) >/dev/null || { echo 'no $(PYTHON) on this machine; install Python 3.11 or later, or name it: make PYTHON=…' >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "$(PYTHON) is Python %d.%d, and 3.11 or later is needed; with another one at hand: make PYTHON=python3.11" % sys.version_info[:2] or 0)'
	@$(PYTHON) scripts/install.py services

trainer-env: services-env
	@$(PYTHON) scripts/install.py trainer

.PHONY: serve train eval collect
serve:  ## one environment in the foreground: TASK=textcraft [PORT=8003 …]
	$(check_task)
	@$(MAKE) --no-print-directory -s services-env
	$(call browser,$(TASK))
	@$(settings) $(if $(call given,MODEL),TURNGYM_MODEL=$(call quote,$(MODEL))) exec $(SERVICES)/turngym serve $(call quote,$(TASK))

train:  ## train an agent: TASK=textcraft, or ENV_ADDR=url [SMOKE=1 …]
	$(if $(ENV_ADDR),,$(check_task))
	@$(MAKE) --no-print-directory -s trainer-env
	$(call browser,$(TASK))
	@$(settings) TURNGYM_COMMAND=$(SERVICES)/turngym exec $(TRAINER)/python -m turngym_trainer.train $(call options,TASK ENV_ADDR ALGO HW MODEL ROUNDS EVERY STEPS SEED RUN) \
	  $(call flag,DRY_RUN) $(call flag,SMOKE) $(if $(ARGS),-- $(ARGS))

EVAL_OPTIONS = --policy $(call quote,$(or $(POLICY),$(if $(MODEL),openai,expert))) $(call options,MODEL BASE_URL SEED OUT) \
  --split $(call quote,$(or $(SPLIT),test)) --n $(call quote,$(or $(N),200)) $(ARGS)
# A MODEL that is a folder is played by vLLM, as in training.
FOLDER = $(if $(POLICY)$(BASE_URL),,$(if $(MODEL),$(wildcard $(MODEL)/.)))
eval:  ## success of a policy or model on held-out tasks: TASK=textcraft [POLICY=expert …]
	$(if $(ENV_ADDR),,$(check_task))
	@$(MAKE) --no-print-directory -s $(if $(FOLDER),trainer-env,services-env)
	$(if $(ENV_ADDR),,$(call browser,$(TASK)))
	@$(if $(FOLDER),$(settings) TURNGYM_COMMAND=$(SERVICES)/turngym exec $(TRAINER)/python -m turngym_trainer.evaluate \
	  $(call options,TASK ENV_ADDR MODEL SPLIT N SEED OUT) $(if $(ARGS),-- $(ARGS)),$(policy_eval))

policy_eval = $(if $(ENV_ADDR),exec $(SERVICES)/turngym eval $(call quote,$(ENV_ADDR)),$(settings) exec $(SERVICES)/python scripts/with_service.py \
  $(call quote,$(TASK)) $(SERVICES)/turngym eval URL) $(EVAL_OPTIONS)

collect:  ## episodes as JSON lines: TASK=textcraft [POLICY=novice N=5000 …]
	$(check_task)
	@$(MAKE) --no-print-directory -s services-env
	$(call browser,$(TASK))
	@mkdir -p runs/data
	@$(settings) exec $(SERVICES)/turngym collect $(call quote,$(TASK)) --policy $(call quote,$(or $(POLICY),expert)) \
	  --rate $(call quote,$(or $(RATE),0.6)) --split $(call quote,$(or $(SPLIT),train)) --n $(call quote,$(or $(N),1000)) \
	  $(call options,SEED) --out $(call quote,$(or $(OUT),runs/data/$(TASK)-$(or $(POLICY),expert).jsonl)) $(ARGS)

.PHONY: lint test test-train test-train-container test-compose test-deploy test-faults prove bench soak bench-gateway images
lint: services-env  ## ruff and mypy
	@$(SERVICES)/ruff check --quiet .
	@$(SERVICES)/ruff format --check --quiet . || { echo 'to format: $(SERVICES)/ruff format .' >&2; exit 1; }
	@$(SERVICES)/mypy core/turngym corpus/turngym_corpus trainer/turngym_trainer viewer/turngym_viewer $(foreach task,$(TASKS),services/$(task)/turngym_$(task))

test: lint trainer-env  ## lint, the tests of core, services, viewer and trainer, and a whole training run in miniature
	$(call browser,webarena)
	@$(settings) $(SERVICES)/pytest core corpus services viewer tests/pages $(PYTEST_ARGS)
	@$(TRAINER)/pytest trainer/tests/test_smoke.py $(PYTEST_ARGS)
	@$(TRAINER)/pytest trainer -m 'not slow' $(PYTEST_ARGS)

test-train: trainer-env  ## single training steps in depth: exact tokens, a service killed in the middle
	@$(TRAINER)/pytest trainer/tests/test_step.py $(PYTEST_ARGS)

test-compose: services-env docker  ## build and start everything with Docker Compose: episodes, routing, kills, a short storm
	@$(SERVICES)/pytest tests/compose -m 'not training' $(PYTEST_ARGS)

test-train-container: services-env docker  ## train in a container, in miniature (TORCH_WHEELS=folder where PyTorch's index is out of reach)
	@$(if $(TORCH_WHEELS),TORCH_WHEELS=$(call quote,$(abspath $(TORCH_WHEELS)))) $(SERVICES)/pytest tests/compose -m training $(PYTEST_ARGS)

test-deploy: services-env  ## manifests, gateway, alerts and board, by promtool, haproxy and kubectl where they are installed
	@$(SERVICES)/pytest tests/deploy $(PYTEST_ARGS)

test-faults: services-env docker  ## 10,000 episodes while network and containers break: what was tried and lost [EPISODES=300]
	@$(SERVICES)/python tests/faults/storm.py $(if $(EPISODES),--episodes $(EPISODES)) $(if $(REPLICAS),--replicas $(REPLICAS)) \
	  $(if $(SEED),--seed $(SEED))

prove: services-env  ## play the expert on every task, with the figures of a README, minutes to hours: TASK=search
	$(check_task)
	$(call browser,$(TASK))
	@$(settings) exec $(SERVICES)/python -m turngym_$(TASK).prove $(ARGS)

bench: services-env  ## CPU per step beside a bare route in the same run; a task or the viewer: its own figures: TASK=search
	$(call browser,$(if $(findstring --pages,$(ARGS)),webarena,$(TASK)))
	@$(settings) exec $(SERVICES)/python bench/$(or $(TASK),step).py $(ARGS)

soak: services-env  ## hundreds of episodes in one process, and what they leave behind: TASK=webarena
	$(check_task)
	$(call browser,$(TASK))
	@$(settings) exec $(SERVICES)/python -m turngym_$(TASK).soak $(ARGS)

bench-gateway: services-env docker  ## 2,000 sessions at four replicas through the gateway, one killed; beside direct calls
	@$(SERVICES)/python bench/gateway.py $(ARGS)

images: services-env docker  ## build every image; a table of sizes and of the time from nothing to ready
	@$(SERVICES)/python bench/images.py $(ARGS)

.PHONY: corpus-check
corpus-check:  ## make the corpus's texts anew from its sources and compare: [WORDNET=dir]
	@[ -x .venv/corpus/bin/python ] || $(PYTHON) -m venv .venv/corpus
	@.venv/corpus/bin/python -m pip install --quiet --disable-pip-version-check -e 'corpus[sources]' pytest pytest-asyncio hypothesis
	@.venv/corpus/bin/python -m pytest -q corpus/tests/test_build.py $(PYTEST_ARGS)
	@.venv/corpus/bin/python -m turngym_corpus.build --check $(if $(WORDNET),--wordnet $(call quote,$(WORDNET)))

.PHONY: view screenshots axe
FOLDER_OF_RUNS = $(or $(RUNS),$(TURNGYM_RUNS),runs)
view: services-env  ## the pages over a folder of runs: [RUNS=runs PORT=8010 HOST=127.0.0.1 TOKEN=…]
	@mkdir -p $(call quote,$(FOLDER_OF_RUNS))
	@$(settings) exec $(SERVICES)/turngym-viewer serve $(call quote,$(FOLDER_OF_RUNS))

screenshots: services-env  ## pictures of every page, to look at: [RUNS=runs TASK=textcraft OUT=screenshots]
	$(call browser,webarena)
	@$(settings) $(SERVICES)/python scripts/screenshots.py $(call options,TASK OUT RUNS)

axe: .cache/axe/node_modules/axe-core/axe.min.js  ## fetch axe-core from npm, for the pages' accessibility tests
.cache/axe/node_modules/axe-core/axe.min.js:
	@command -v npm >/dev/null || { echo 'no npm here; without axe-core the accessibility tests are skipped' >&2; exit 1; }
	@mkdir -p .cache/axe && npm install --silent --no-audit --no-fund --ignore-scripts --prefix .cache/axe axe-core@4.10.3

.PHONY: up down docker
docker:
	@docker compose version >/dev/null 2>&1 || { echo 'Docker with Compose v2 is needed: https://docs.docker.com/engine/install/' >&2; exit 1; }
	@docker info >/dev/null 2>&1 || { echo 'no Docker engine answers: is it running, and may this user talk to it?' >&2; exit 1; }

up: docker  ## build and start the environments and the viewer with Docker Compose
	@mkdir -p $${RUNS:-runs}
	@docker compose up --build --detach --wait
	@docker compose ps

down: docker  ## stop them; the journals stay (docker compose down -v drops them)
	@docker compose down

.PHONY: clean
clean:  ## remove environments, caches and build output; runs/ stays
	@rm -rf .venv .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
	@find . -name __pycache__ -o -name '*.egg-info' | grep -v '^./runs/' | xargs -r rm -rf
