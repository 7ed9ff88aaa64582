# Everything a user or a contributor runs. `make help` lists the targets.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

K8S_VERSION := v1.36.3
VERSION     ?= dev
COMMIT      ?= $(shell git rev-parse --short HEAD 2>/dev/null || true)

MODULES := . hack local bench
LDFLAGS := -s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT)
COMPONENT := -X k8s.io/component-base/version
LDFLAGS_LOCAL := $(LDFLAGS) \
  $(COMPONENT).gitVersion=$(K8S_VERSION) $(COMPONENT).gitMajor=1 $(COMPONENT).gitMinor=36 \
  $(COMPONENT).gitTreeState=clean $(COMPONENT).gitCommit=$(K8S_VERSION) $(COMPONENT).buildDate=1970-01-01T00:00:00Z

# No -trimpath here: tests and vet share what the build compiled, and Kubernetes is compiled once.

# What a binary is built from: its module's tracked and new files.
SOURCES       := $(wildcard $(shell git ls-files -co --exclude-standard -- '*.go' go.mod go.sum '*.gz' '*.yaml' internal/dashboard/assets ':!*_test.go' ':!hack' ':!local' ':!bench' 2>/dev/null))
SOURCES_LOCAL := $(wildcard $(shell git ls-files -co --exclude-standard -- local ':!*_test.go' 2>/dev/null))

CHART_VERSION ?= 0.1.0

.PHONY: help build up down charts render image check fmt vet staticcheck arch generated licences web web-current web-test bench-dashboard dashboard-shots dashboard-screenshots unit unit-rest test test-rest test-sim test-all e2e race vuln sim sim-brief soak sim-score bench bench-peers bench-seeds bench-e2e bench-backtest bench-overhead fuzz fuzz-keep gen

help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## */  make \1\t/' | expand -t 22

build: bin/karpenter bin/karpenter-local bin/cluster-api ## both binaries; the first time compiles Kubernetes, some minutes

bin/karpenter: $(SOURCES)
	@echo "building $@"
	@go build -ldflags '$(LDFLAGS)' -o $@ ./cmd/karpenter

bin/karpenter-local: $(SOURCES) $(SOURCES_LOCAL)
	@echo "building $@ (compiles Kubernetes the first time: some minutes)"
	@cd local && go build -ldflags '$(LDFLAGS_LOCAL)' -o ../$@ .

# The CRDs of Cluster API come from its Go module; they are not in the repository.
bin/cluster-api: local/go.mod
	@rm -rf $@ && mkdir -p $@
	@cp "$$(cd local && go mod download sigs.k8s.io/cluster-api && go list -m -f '{{.Dir}}' sigs.k8s.io/cluster-api)"/core/config/crd/bases/cluster.x-k8s.io_*.yaml $@/
	@chmod -R u+w $@ && touch $@

up: build ## a cluster on this machine, and nodes arriving for ten pods
	@bin/karpenter-local up
	@bin/karpenter-local demo

down: ## stop it and remove its state
	@if [ -x bin/karpenter-local ]; then bin/karpenter-local down; else echo "nothing is running: bin/karpenter-local is not built"; fi

charts: ## pack both Helm charts into dist/charts
	@cd local && go run ./chart/pack -version $(CHART_VERSION) -out $(CURDIR)/dist/charts ../charts/karpenter ../charts/karpenter-crd

VALUES ?= examples/helm/eks.yaml

render: ## what the chart makes of values: make render VALUES=my-values.yaml; no helm needed
	@cd local && go run ./chart/pack -render $(abspath $(VALUES)) ../charts/karpenter

IMAGE_ARCH ?= amd64,arm64
IMAGE_SIGNING_KEY ?=

image: ## the container image for IMAGE_ARCH with bills of materials and provenance, in dist/image; signed if IMAGE_SIGNING_KEY is set
	@cd hack && go run ./image -root '$(CURDIR)' -arch $(IMAGE_ARCH) -version $(VERSION) -commit '$(COMMIT)' -sign-key '$(IMAGE_SIGNING_KEY)' -out dist/image

check: fmt vet staticcheck arch generated web-current licences ## format, vet, staticcheck, architecture, generated files, the page of the dashboard, licences

fmt:
	@bad=$$(git ls-files -co --exclude-standard -- '*.go' | xargs -r gofmt -l); \
	  if [ -n "$$bad" ]; then echo "not formatted, run gofmt -w on:"; echo "$$bad"; exit 1; fi

vet:
	@for m in $(MODULES); do echo "vet $$m"; (cd $$m && go vet ./...); done

staticcheck:
	@go build -modfile=tools/staticcheck.mod -o bin/staticcheck honnef.co/go/tools/cmd/staticcheck
	@for m in . hack bench; do echo "staticcheck $$m"; (cd $$m && $(CURDIR)/bin/staticcheck ./...); done
	@echo "staticcheck local (all but what links Kubernetes itself, which takes minutes to analyse)"
	@cd local && $(CURDIR)/bin/staticcheck $$(go list ./... | grep -v -e '/local$$' -e '/local/parts$$' -e '/local/differential$$' -e '/local/sim')

arch:
	@go test ./internal/archtest/...

generated:
	@cd hack && go run ./proto -root '$(CURDIR)' && go run ./gen -root '$(CURDIR)' && go run ./docs -root '$(CURDIR)' && go run ./deploy -root '$(CURDIR)'
	@if [ -n "$$(git status --porcelain -- api charts cloud/proto docs deploy)" ]; then echo "generated files are stale: run make gen and commit"; git status --porcelain -- api charts cloud/proto docs deploy; exit 1; fi

# The page of the dashboard is built into ASSETS, which is committed: a build of the controller needs no Node.
ASSETS   := internal/dashboard/assets
WEB_HASH := git ls-files -co --exclude-standard -- web/index.html web/package.json web/package-lock.json web/tsconfig.json web/vite.config.ts web/public web/src | LC_ALL=C sort | while read -r f; do if [ -f "$$f" ]; then sha256sum "$$f"; fi; done | sha256sum | cut -d' ' -f1

web: web/node_modules ## build the page of the dashboard into internal/dashboard/assets; needs Node
	@cd web && npm run --silent build
	@$(WEB_HASH) > $(ASSETS)/sources.sha256

web/node_modules: web/package-lock.json
	@cd web && npm ci --no-audit --no-fund && touch node_modules

# The hash of the sources is compared, which needs no Node. The test of local/e2e/dashboard builds the page and compares it byte by byte.
web-current:
	@if [ "$$($(WEB_HASH))" != "$$(cat $(ASSETS)/sources.sha256)" ]; then echo "$(ASSETS) is older than web: run make web and commit"; exit 1; fi

web-test: web/node_modules ## tests of the page of the dashboard with generated data, in Chromium
	@cd web && npm run --silent unit && npm run --silent browser

# Set by hand: make bench-dashboard DASHBOARD_NODES=1000 DASHBOARD_PODS=20000
DASHBOARD_NODES ?= 5000
DASHBOARD_PODS  ?= 100000

bench-dashboard: web/node_modules ## first view, frames and CPU of the dashboard at DASHBOARD_NODES nodes, in Chromium
	@cd hack && go build -o ../bin/dashdemo ./dashdemo
	@cd web && node dev/bench.mjs ../bin/dashdemo $(DASHBOARD_NODES) $(DASHBOARD_PODS)

# Set by hand for a cluster that runs: make dashboard-shots DASHBOARD_URL=http://127.0.0.1:8080/
DASHBOARD_URL ?=

dashboard-shots: web/node_modules bin/karpenter bin/karpenter-local ## pictures of each view for docs/dashboard.md, of a live cluster that it starts, or of DASHBOARD_URL; seven minutes
	@cd web && node dev/screenshots.mjs '$(CURDIR)/bin/karpenter-local' ../docs/images '$(DASHBOARD_URL)'

# The earlier name of the target.
dashboard-screenshots: dashboard-shots

licences:
	@for f in LICENSE NOTICE; do test -s $$f || { echo "$$f is missing"; exit 1; }; done

# Garbage is collected less often than usual in checks and tests, which saves a quarter of the CPU time of unit tests and what builds them.
# GOMEMLIMIT bounds the memory that this takes. Benchmarks have Go's own settings.
LESS_GC := check vet staticcheck arch generated unit unit-rest test test-rest test-sim sim-brief e2e
$(LESS_GC): export GOGC := 400
$(LESS_GC): export GOMEMLIMIT := 3GiB

# Set by hand for a part of the tests: make unit TEST_FLAGS=-run=Drift, make e2e E2E_PACKAGES=./e2e/kwok,
# make test-all CHECKS=10000 RANDOM_SEEDS=20000, make fuzz FUZZTIME=10m
TEST_FLAGS    ?=
RACE_PACKAGES ?= ./engine/... ./internal/... ./provider/... ./cloud/...
# Packages whose own files start goroutines, or are written for several: a go statement, a channel, package sync or
# internal/parallel.
GOROUTINE_PACKAGES ?= $(shell git grep -lE '^\s*go (func|[a-z])|\bchan\b|"sync"|"sync/atomic"|internal/parallel"' -- '*.go' ':!*_test.go' ':!hack' ':!local' ':!bench' ':!internal/sim' ':!cmd' 2>/dev/null | xargs -n1 dirname | sort -u | sed 's|^|./|')
E2E_PACKAGES  ?= ./e2e/...
# How many packages of E2E_PACKAGES run at the same time. Each has a cluster of its own, which mostly waits.
E2E_PARALLEL  ?= 3
CHECKS        ?= 2000
RANDOM_SEEDS  ?= 2500
FUZZTIME      ?= 60s
FUZZ          ?= .
FUZZKEEP      ?= 15

# How many packages of this module are tested at the same time. Some mostly wait for processes or connections.
UNIT_PARALLEL ?= 4

unit: unit-rest ## unit, scenario, property and over-the-wire contract tests, stories and some seeds of the simulation; no cluster
	cd local && go test -count=1 $(TEST_FLAGS) ./sim

# Unit tests without those of the package that plays the simulation.
unit-rest:
	go test -p $(UNIT_PARALLEL) $(TEST_FLAGS) ./...
	cd hack && go test -count=1 $(TEST_FLAGS) ./...
	cd bench && go test $(TEST_FLAGS) ./...
	cd local && go test -count=1 $(TEST_FLAGS) $$(cd $(CURDIR)/local && go list ./... | grep -v -e /e2e -e '/local/sim$$')

# Two lines of work at the same time. Tests of the first wait for processes and connections, those of the second only compute, at low
# priority: the stories, then the seeds that they leave out.
test: ## unit tests, then end to end on a local cluster; beside both the simulation
	@cd local && go vet ./sim # compiles what both lines need, which without caches both would compile
	@$(MAKE) -j2 test-rest test-sim

test-rest: unit-rest
	@$(MAKE) e2e

test-sim:
	cd local && nice -n 19 go test -count=1 -timeout 40m $(TEST_FLAGS) ./sim
	@$(MAKE) sim-brief BRIEF_FROM=11

# All processes of these clusters have the settings of garbage collection too. A cluster takes 3 GB then.
e2e: build
	cd local && GOMEMLIMIT=2GiB go test -p $(E2E_PARALLEL) -count=1 -timeout 25m $(TEST_FLAGS) $(E2E_PACKAGES)

# Set by hand: make sim SEED=7, make sim SEED=1 SIM_SEEDS=200, make sim SIM_FLAGS='-traces /tmp -shrink 0'
SEED      ?= 1
SIM_SEEDS ?= 1
SIM_FLAGS ?=

sim: ## the whole operator on virtual time with faults: SIM_SEEDS seeds from SEED on; a failure is shrunk to a story
	cd local && go test -count=1 -timeout 24h -v -run TestSeeds ./sim -seed $(SEED) -seeds $(SIM_SEEDS) $(SIM_FLAGS)

# Set by hand: make soak SOAK_SEEDS=200 SOAK_LIST=/tmp/seeds.jsonl
SOAK_SEEDS ?= 10000
SOAK_HOURS ?= 24
SOAK_LIST  ?= $(CURDIR)/bin/sim-seeds.jsonl

# Set by hand: make sim-brief BRIEF_SEEDS=20
BRIEF_SEEDS ?= 200
BRIEF_FROM  ?= 1

sim-brief: ## seeds BRIEF_FROM to BRIEF_SEEDS of the simulation, 20 virtual minutes each
	cd local && nice -n 19 go test -count=1 -timeout 90m -run TestBriefSeeds ./sim -brief-from $(BRIEF_FROM) -brief $$(( $(BRIEF_SEEDS) - $(BRIEF_FROM) + 1 ))

soak: ## the simulation of SOAK_HOURS virtual hours, then SOAK_SEEDS seeds that are not in SOAK_LIST; delete that file after a change
	cd local && go test -count=1 -timeout 24h -v -run TestSeeds ./sim -seeds 1 -length $(SOAK_HOURS)h -shrink 0
	@mkdir -p $(dir $(SOAK_LIST))
	cd local && go test -count=1 -timeout 240h -run TestSeeds ./sim -seeds $(SOAK_SEEDS) -list $(SOAK_LIST) -shrink 0

# Set by hand: make sim-score SCORE_SEEDS=20 DEFECT=limits_not_checked_again,nomination_kept SCORE_FLAGS='-o json'
# make sim-score SCORE_FLAGS='-mutants /path/to/folder -length 20m'
SCORE_SEEDS ?= 1000
SCORE_LIST  ?= $(CURDIR)/bin/sim-score.jsonl
SCORE_FLAGS ?=
DEFECT      ?=

sim-score: ## how many planted defects the simulation finds: all stories, and SCORE_SEEDS seeds for each at most
	@mkdir -p $(dir $(SCORE_LIST))
	@cd local && go run ./sim/score -seeds $(SCORE_SEEDS) -only '$(DEFECT)' -list $(SCORE_LIST) $(SCORE_FLAGS)

race: ## the race detector on packages with goroutines
	go test -race $(TEST_FLAGS) $(GOROUTINE_PACKAGES)

# The database of vulnerabilities: a URL, or a copy of it in a directory as file:///path.
VULN_DB ?= https://vuln.go.dev

vuln: ## known vulnerabilities in what the programs call; needs the network, or a copy of the database in VULN_DB
	@go build -modfile=tools/govulncheck.mod -o bin/govulncheck golang.org/x/vuln/cmd/govulncheck
	@for m in $(MODULES); do echo "govulncheck $$m"; (cd $$m && $(CURDIR)/bin/govulncheck -db '$(VULN_DB)' ./...); done

test-all: build ## the long ones too: more seeds, race detector, the manual's builds and measurements in small
	go test -race $(TEST_FLAGS) $(RACE_PACKAGES)
	cd hack && KARPENTER_LONG=1 go test -count=1 -timeout 60m $(TEST_FLAGS) ./image
	go test $(TEST_FLAGS) $$(git grep -l '"pgregory.net/rapid"' -- 'engine/*_test.go' | xargs -n1 dirname | sort -u | sed 's|^|./|') -rapid.checks=$(CHECKS)
	go test ./engine/pack -run TestRandom -seeds $(RANDOM_SEEDS) -timeout 30m
	cd local && go test ./differential -run 'Placements|Verify' -seeds $(RANDOM_SEEDS) -timeout 60m
	cd local && go test ./differential -run Refusals -seeds $$(( $(RANDOM_SEEDS) * 2 / 5 )) -timeout 60m
	cd local && go test ./sim -run 'TestSeeds|TestBriefSeeds' -seeds 40 -brief 400 -timeout 120m
	cd local && KARPENTER_LONG=1 go test -count=1 -timeout 60m $(TEST_FLAGS) $(E2E_PACKAGES)
	cd hack && KARPENTER_LONG=1 go test -count=1 -timeout 3h $(TEST_FLAGS) ./manual/long

fuzz: ## fuzz parsers, decoders and decisions, FUZZTIME each, a minute unless set; FUZZ=Parse for some of them by name
	@all=$$(git grep -no '^func Fuzz[A-Za-z0-9_]*' -- '*_test.go' | sed -E 's|/[^/]*:[0-9]+:func | |' | grep -E '$(FUZZ)'); n=0; \
	  while read -r p f; do n=$$((n + 1)); echo "$$n of $$(wc -l <<< "$$all"): $$f in $$p"; \
	    go test ./$$p -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME); done <<< "$$all"

fuzz-keep: ## copy what fuzzing found interesting into testdata/fuzz, the FUZZKEEP smallest of each target
	@cache=$$(go env GOCACHE)/fuzz/$$(go list -m); \
	  git grep -no '^func Fuzz[A-Za-z0-9_]*' -- '*_test.go' | sed -E 's|/[^/]*:[0-9]+:func | |' | while read -r p f; do \
	    [ -d "$$cache/$$p/$$f" ] || continue; mkdir -p $$p/testdata/fuzz/$$f; \
	    (cd "$$cache/$$p/$$f" && ls -Sr | head -n $(FUZZKEEP)) | while read -r n; do cp "$$cache/$$p/$$f/$$n" $$p/testdata/fuzz/$$f/; done; done

bench: ## the project's own benchmarks, a minute or two
	cd bench && go test -run '^$$' -bench . -benchmem -benchtime 3x ./...

# Set by hand: make bench-peers ROUNDS=5 ONLY=micro, make bench-seeds SEEDS=20 SEED_TYPES=noburst SEED_PODS=500
ROUNDS     ?= 3
ONLY       ?=
SEEDS      ?= 100
SEED_TYPES ?= cmr6
SEED_PODS  ?= 200
E2E_PODS   ?= 1000,4000
E2E_MASS   ?= 100

bin/bench: $(SOURCES) $(wildcard $(shell git ls-files -co --exclude-standard -- bench ':!bench/peer' ':!*_test.go' 2>/dev/null))
	@cd bench && go build -o ../$@ ./cmd/bench

# Upstream asks for a newer Go than this project; the module proxy has it.
PEER_GO ?= go1.26.10

bin/bench-peer: $(wildcard $(shell git ls-files -co --exclude-standard -- bench/peer 2>/dev/null))
	@echo "building $@ (fetches and compiles upstream the first time: some minutes)"
	@cd bench/peer && GOTOOLCHAIN=$(PEER_GO) go build -o ../../$@ .

bench-peers: bin/bench bin/bench-peer ## our engine and upstream's on the same input, a table; fetches upstream
	@bin/bench peers -peer bin/bench-peer -n $(ROUNDS) -only '$(ONLY)'

bench-seeds: bin/bench bin/bench-peer ## prices of both over SEEDS seeds, with all at which ours is dearer
	@bin/bench seeds -peer bin/bench-peer -n $(SEEDS) -types $(SEED_TYPES) -count $(SEED_PODS)

bin/bench-peer-kwok: $(wildcard $(shell git ls-files -co --exclude-standard -- bench/peer 2>/dev/null))
	@echo "building $@ (fetches and compiles upstream the first time: some minutes)"
	@cd bench/peer && GOTOOLCHAIN=$(PEER_GO) go build -o ../../$@ sigs.k8s.io/karpenter/kwok

bench-e2e: build bin/bench bin/bench-peer-kwok ## scale-up, scale-in, mass drift and deletion on a local cluster, ours and upstream's; writes docs/bench.md
	@bin/bench e2e -pods $(E2E_PODS) -mass $(E2E_MASS) -peer bin/bench-peer-kwok -none -into docs/bench.md

# Set by hand: make bench-backtest BACKTEST_PODS=1000
BACKTEST_PODS ?= 300

bench-backtest: bin/bench bin/bench-peer ## a generated day with our decisions and with upstream's: dollars, evictions, waiting times
	@bin/bench backtest -peer bin/bench-peer -pods $(BACKTEST_PODS)

bench-overhead: build bin/bench ## share of decision log, ledger, events and metrics in the CPU time of a busy controller
	@bin/bench overhead

gen: ## write all generated files anew
	cd hack && go run ./proto -root '$(CURDIR)' && go run ./gen -root '$(CURDIR)' && go run ./docs -root '$(CURDIR)' && go run ./deploy -root '$(CURDIR)'
