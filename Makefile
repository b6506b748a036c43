# Everything that the CI does is a target here, and it calls nothing else.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := build

export CGO_ENABLED := 0

# Properties are tested with the same seeds each time, so that a failure is due to the change; `make soak` draws others.
export RAPID_SEED ?= 1

LINT_VERSION := v2.15.0
VULN_VERSION := v1.1.4
LINT := bin/golangci-lint-$(LINT_VERSION)
FUZZTIME ?= 5s
SOAK ?= 20
RUN_FLAGS ?= --impl gbn --bench sim --rate 10G --rtt 40ms --loss 1e-4 --msg 1MiB --duration 10s --seed 1

.PHONY: build images peers peers-lab reproducible release check static fmt vet tidy cross lint lint-if-built quick test sweep less quality race netns lab lab-all slurm shards remote golden fuzz bench bench-ns3 cost pgo soak report goodput vuln deps ci clean

build: ## the program, as one static binary (PGO=out/default.pgo: with the profile that make pgo wrote)
	go build -trimpath $(PGO:%=-pgo=%) -ldflags='-s -w' -o bin/gauntlet ./cmd/gauntlet

# The context of an image is a folder with its program alone, whose time and rights are fixed: the same commit makes the same layer.
OUT ?= out/images
IMAGES ?= gauntlet
IMAGE_ARGS = --build-arg VERSION=$$(sed -n 's/^var release = "\(.*\)"/\1/p' cmd/internal/build/build.go) \
	--build-arg COMMIT=$$(git rev-parse HEAD)$$(git diff --quiet HEAD || echo +changes)

images: ## the container images of images/, with the Docker Engine of this machine
	@mkdir -p $(OUT)/endpoint $(OUT)/example-c $(OUT)/softroce
	go build -trimpath -ldflags='-s -w' -o $(OUT)/endpoint/gauntlet-endpoint ./cmd/gauntlet-endpoint
	$(MAKE) -C images/example-c OUT=$(abspath $(OUT))/example-c/gbn
	@chmod 755 $(OUT)/endpoint/gauntlet-endpoint $(OUT)/example-c/gbn
	@touch -d @0 $(OUT)/endpoint/gauntlet-endpoint $(OUT)/example-c/gbn
	docker build -q -t $(IMAGES)/endpoint $(IMAGE_ARGS) -f images/endpoint/Dockerfile $(OUT)/endpoint
	docker build -q -t $(IMAGES)/example-c -f images/example-c/Dockerfile $(OUT)/example-c
	@if images/softroce/pack >$(OUT)/softroce/root.tar; then set -x; \
		docker build -q -t $(IMAGES)/softroce $(IMAGE_ARGS) -f images/softroce/Dockerfile $(OUT)/softroce; \
	else echo "images: SKIPPED $(IMAGES)/softroce, see above"; fi

# doctor reports the needs of a run in containers besides root; where they are missing the same rows run as processes.
PEERS = bin/gauntlet matrix --peers --quiet --links clean,random --with 'link rate=20M' --with 'load write msg=64KiB count=20'

peers: build ## a matrix of peers: go-back-N, IRN and the example in C, in containers if there is an engine, as a table and in out/ (root)
	@rm -rf out/peers
	@if bin/gauntlet doctor | grep '^ok .*bench container' >/dev/null; then $(MAKE) images && \
		printf 'FROM $(IMAGES)/example-c\nCMD ["--repaired"]\n' | docker build -q -t $(IMAGES)/example-c:repaired - && \
		$(PEERS) --bench container --impl gbn,irn,image:$(IMAGES)/example-c:repaired --out out/peers --html out/peers.html; \
	else echo "peers: SKIPPED containers: $$(bin/gauntlet doctor | grep 'bench container')"; $(MAKE) -C images/example-c && \
		$(PEERS) --bench netns --impl gbn,irn,exec:images/example-c/gbn-repaired --out out/peers --html out/peers.html; fi

peers-lab: build ## the same with the kernel's soft-RoCE, in a guest (needs gcc)
	@rm -rf out/peers-lab
	bin/gauntlet lab fetch
	$(MAKE) -C images/example-c
	$(PEERS) --bench lab --deterministic --guest-limit 2h --waivers rxe --guest-with images/example-c/gbn \
		--impl gbn,irn,rxe,exec:images/example-c/gbn-repaired --out out/peers-lab --html out/peers-lab.html

reproducible: ## the program of gauntlet/endpoint again (ALL=all: that of a release too), in another folder and with nothing cached: the same bytes
	.ci/reproducible $(ALL)

release: ## static programs for six systems, checksums, bills of materials and an image, of the last commit, in out/release
	.ci/release

check: static cross lint-if-built race fuzz ## everything a change must pass; no root
	@echo "check: passed"

static: fmt vet tidy ## checks that run nothing

fmt:
	@files=$$(gofmt -l $$(git ls-files '*.go' --cached --others --exclude-standard)); \
	if [[ -n $$files ]]; then echo "not formatted (gofmt -w):"; echo "$$files"; exit 1; fi

vet: # with and without each build tag
	go vet -tags netns,lab,sweep,less ./...
	go vet $$(git grep -lE '^//go:build !' -- '*.go' | xargs -n1 dirname | sort -u | sed 's|^|./|')

tidy:
	go mod tidy -diff

cross: ## compile for the other systems, which have the simulator
	GOOS=darwin GOARCH=arm64 go build ./...
	GOOS=windows GOARCH=amd64 go build ./...
	GOOS=linux GOARCH=arm64 go vet ./...

lint: $(LINT) ## golangci-lint; builds it the first time
	$(LINT) run ./...

lint-if-built:
	@if [[ -x $(LINT) ]]; then $(LINT) run ./...; else echo "lint: not built here, left to the CI; make lint builds it"; fi

$(LINT):
	GOBIN=$(CURDIR)/bin go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT_VERSION)
	mv bin/golangci-lint $(LINT)

quick: ## for use during work: a sample of the tests, without real time; GOGC trades memory for time
	GOGC=400 go test -short -vet=off ./...

test: ## the tests, as README.md says
	go test -vet=off ./...

sweep: ## every broken engine from three PSNs, and all cases of tests that otherwise take a sample
	.ci/tagged sweep
	go test -tags sweep -timeout=30m ./impls/broken/...

# The seeds of the random Specs; LESS_WAYS of each. LESS_SHARD=i/n or auto: those of one of several machines.
LESS_FROM ?= 1
LESS_SPECS ?= 20000
LESS_WAYS ?= 3
LESS_SHARD ?= 1/1

less: ## less evidence neither adds a FAIL nor turns one into a PASS: fixtures in every way, scenarios, broken engines and random Specs in some; hours
	go test -tags less -count=1 -timeout=6h -run 'Less|Unproven' ./conformance/meta ./impls/broken/all
	go test -tags less -count=1 -timeout=6h -run LessOf ./impls/all -args -from=$(LESS_FROM) -specs=$(LESS_SPECS) -ways=$(LESS_WAYS) -shard=$(LESS_SHARD)

QUALITY_YEARS ?= 10000

quality: ## false alarms and delays of the detector of changes, simulated over QUALITY_YEARS series-years of each noise, into perf/change/QUALITY.md (five minutes)
	go test -count=1 -timeout=2h -run TestQuality ./perf/change -args -years=$(QUALITY_YEARS) -table=QUALITY.md

race: ## unit and golden tests, in random order, under the race detector (which needs a C compiler)
	CGO_ENABLED=1 go test -timeout=60m -race -shuffle=on ./...

netns: ## the tests in real time: namespaces, programs and containers; they need the machine for themselves, and root
	@if [[ $$(id -u) != 0 ]]; then echo "make netns needs root: sudo make netns"; exit 2; fi
	.ci/tagged netns -v -parallel=4 2>&1 | .ci/summary

lab: ## the tests that boot guests; skipped, with the reason, where guests cannot boot
	.ci/tagged lab -v -parallel=3 2>&1 | .ci/summary

slurm: ## the shards of an atlas as a job array of a Slurm of its own, with a machine that is lost (root; slurm-wlm and munge; a minute)
	.ci/tagged slurm -v

shards: build ## the default atlas and perf on 1, 2 and 8 shards, merged, have the bytes of the whole; CPU time of each (half an hour; SHARDS="--seeds 1")
	.ci/shards $(SHARDS)

remote: build ## devices over ssh: two guests with soft-RoCE and a real sshd stand in for hosts with RNICs (root; some minutes)
	.ci/remote

golden: ## rewrite golden files; read the diff
	@dirs=$$({ grep -rlE --include='*_test.go' 'cockroachdb/datadriven|scenariotest|"rewrite"' . || true; } | xargs -rn1 dirname | sort -u); \
	if [[ -z $$dirs ]]; then echo "golden: no test here has golden files"; exit 1; fi; \
	go test -count=1 $$dirs -args -rewrite

# Above 20 Mb/s a guest is too slow for the middlebox of pseudoack, which handles every packet of both ends.
WITHOUT_BOX := gbn,gobackone,irn,fasr,srnic,lowar,lowar-gb1,openapn,writerecord,rciwarp

lab-all: build ## the matrix and the conformance suite over the kernel's netem, and soft-RoCE, in a guest; an hour, results in out/
	@mkdir -p out
	bin/gauntlet lab fetch
	bin/gauntlet matrix --impl $(WITHOUT_BOX) --bench lab --deterministic --link netem --guest-limit 3h --out out/matrix --html out/matrix.html
	bin/gauntlet matrix --impl pseudoack --with 'link rate=20M' --bench lab --deterministic --link netem --guest-limit 3h --out out/box --html out/box.html
	bin/gauntlet conform --impl gbn --bench lab --deterministic --link netem --guest-limit 3h --junit out/netem.xml --json out/netem.json
	bin/gauntlet conform --bench lab --deterministic --link netem --guest-limit 3h --label-filter random --junit out/random.xml
	bin/gauntlet conform --dut rxe --waivers rxe --bench lab --deterministic --guest-limit 3h --junit out/rxe.xml | tee out/rxe.txt

fuzz: ## each fuzz target for FUZZTIME
	@{ grep -rHoE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' . || echo "fuzz: no targets" >&2; } | sed 's|/[^/]*:func | |' | sort | \
	while read -r dir name; do \
		echo "fuzz $$dir $$name"; \
		go test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) "$$dir" </dev/null; \
	done

bench: ## benchmarks, with allocations; kept in out/ for benchstat
	@mkdir -p out
	go test -run '^$$' -bench . -benchmem ./... | tee out/bench.txt

cost: ## measure the cost of judging and simulating, into perf/COST.md; minutes, on a quiet machine
	.ci/cost

# The load of a profile: runs of gbn and irn with their judge, captures judged, simulators alone, and the suite.
pgo: ## a profile of runs, captures and the suite, out/default.pgo, for make build PGO=out/default.pgo; some minutes
	@rm -rf out/pgo && mkdir -p out/pgo
	go test -run '^$$' -bench 'BenchmarkRun/|JudgeOneFlow|JudgeFlows/40000' -benchtime 4x \
		-cpuprofile out/pgo/run.prof -o out/pgo/run.test ./cmd/internal/run
	go test -run '^$$' -bench 'Scale/(gbn|irn)/100G/qps=1$$' -benchtime 1x \
		-cpuprofile out/pgo/sim.prof -o out/pgo/sim.test ./harness/bench/sim
	go test -short -cpuprofile out/pgo/suite.prof -o out/pgo/suite.test ./conformance/enginetest
	go tool pprof -proto -output out/default.pgo out/pgo/*.prof
	@rm out/pgo/*.test; ls -l out/default.pgo

NS3_MODULES := core network internet traffic-control point-to-point applications

bench-ns3: ## compare the simulator with ns-3 over one link; needs a C++ compiler and libns3-dev (Debian), which CI does without
	@[[ -e /usr/include/ns3/core-module.h ]] || { echo "bench-ns3: no ns-3 here: apt-get install --no-install-recommends g++ libns3-dev"; exit 2; }
	@mkdir -p out
	g++ -O2 -std=c++17 -Wall -Wextra -o out/ns3-flow perf/ns3/flow.cc $(NS3_MODULES:%=-lns3-%)
	GOMAXPROCS=1 GAUNTLET_NS3=$(CURDIR)/out/ns3-flow go test -run '^$$' -bench BesideNS3 -benchtime 1x ./harness/bench/sim | tee out/ns3.txt

soak: build ## properties and random loss under SOAK fresh seeds, each printed with its command
	RAPID_SEED=0 RAPID_CHECKS=$$((100 * $(SOAK))) go test -count=1 -timeout=30m \
		$$(grep -rl --include='*_test.go' 'pgregory.net/rapid' . | xargs -n1 dirname | sort -u)
	@for ((n = 0; n < $(SOAK); n++)); do \
		seed=$$((RANDOM * 32768 + RANDOM)); \
		run="bin/gauntlet run --impl gbn --bench sim --rate 1G --rtt 20ms --loss 1e-3 --msg 256KiB --count 400 --seed $$seed"; \
		echo "$$run"; $$run; \
	done

report: build ## one run, with its results as JSON in out/
	@mkdir -p out
	bin/gauntlet run $(RUN_FLAGS) --json > out/run.json
	@echo "report: out/run.json"

goodput: build ## compare soft-RoCE with go-back-N in a guest, as a table and as a page in out/; long
	@mkdir -p out
	bin/gauntlet lab fetch
	bin/gauntlet lab goodput --deterministic --html out/goodput.html | tee out/goodput.txt

vuln: ## known vulnerabilities in the linked packages; needs the network
	go run golang.org/x/vuln/cmd/govulncheck@$(VULN_VERSION) ./...

deps: ## install the packages that tests can use (Debian, Ubuntu; root)
	.ci/deps

ci: ## the checks of .github/workflows and of a bare machine
	.ci/run

clean:
	rm -rf bin/gauntlet out
	go clean -testcache
