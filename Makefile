# Everything here needs Go and GNU make; "race" uses a C compiler for the race
# detector, and Java 17 with Maven and Python 3 with venv for the end-to-end
# tests, where they are present.

GO        ?= go
FUZZ      ?= 1s
SOAK      ?= 100
SOAK_FUZZ ?= 2m
SAMPLE    ?= bin/sample
# Processes of tests at once; most of them wait most of the time.
JOBS      ?= 6
# The processor core of bench-hfile.
CORE      ?= 0
# These end what hangs. They are long because most tests share the machine with others.
E2E_TIME   = 60m
UNIT_TIME  = 60m
LINT       = golangci-lint
VALE       = vale
GOTESTSUM  = $(GO) run gotest.tools/gotestsum@v1.13.0
# Runs tests and records them under a name. tally adds the records up and reports what was
# skipped; HIDE keeps each part from reporting it too.
recorded   = $(GOTESTSUM) --format standard-quiet $(HIDE) --jsonfile "$(CURDIR)/bin/test/$(1).json"
TESTS      = $(call recorded,$@)
# Flags of "go test" that make it build faster: lint vets, and stacks need no debug information.
FAST       = -vet=off -ldflags='-s -w' -timeout $(UNIT_TIME)
# Without cgo the program is one static file, whatever the C library of the machine
# it comes to. All is built so, and compiled once; only the race detector needs cgo.
export CGO_ENABLED = 0
RACE      := $(if $(shell command -v $$($(GO) env CC) 2>/dev/null),-race)
TESTED     = $(shell $(GO) list ./... | sed 's|^github.com/rowtocol/rowtocol|.|' | grep -v '^\./e2e')
# Modules of their own, so that the program depends on nothing that only they need.
MODULES    = bench bench/peers cmd/rowtocol-iceberg internal/cmd/dist
# What the linter of prose reads: pages and code, but for examples of what to avoid.
PROSE      = $(shell git ls-files '*.go' '*.md' ':!.vale' ':!*/testdata/*' ':!internal/cmd/mutants/*_test.go' ':!CONTRIBUTING.md')
# The packages that run under the race detector, kept by hand: those in which something
# is concurrent. The rest is a few times faster without it, and the tests of the program
# run it as it is built.
CONCURRENT = ./job ./job/plan ./job/publish ./mapper ./hadoop ./hadoop/pipes ./internal/budget \
  ./internal/parallel ./internal/supervise ./job/input ./job/task ./reducer ./spill ./store \
  ./store/cluster ./store/hdfs ./store/location ./store/memstore ./store/webhdfs ./telemetry/lineage
# Tests of many schedules, failures and shapes of rows, which take five times as long under
# the detector, run without it, in "make test-all".
MATRICES   = ^Test(Faults$$|Patience$$|PowerCuts$$|Crash|Pairs|Three|Protocol|FailedJob|FailedTask|ExpectedRowGroups|RowGroupsFillUp|RowGroupsWith|FindAmongMany|OverwriteOfPending|RollForward|LocalDisk$$|ProgressInABlock|LittleMemory|Random|ChangedDuring|ResumeAfter|FlippedBytes|RoundTripOfManyRows|HugeRows|LargestValues|FixedPart|MemoryForColumns|NothingIsAllocated|BatchesHaveTheRows)
# In these packages, only the tests FEW run under it.
FEW_IN     = ./avro/witness ./dataset ./parquet ./trevni
FEW        = RemoteParts|Piece|Place|Close|TablesAreReadOnce|Parallel|ManyInputs|BlocksWait
# The rest, but for the command line ("commands") and the tools, which are for "make test-all".
SEQUENTIAL = $(filter-out ./cmd/rowtocol ./internal/cmd/% $(CONCURRENT) $(FEW_IN),$(TESTED))
# End-to-end tests run in a process per area, several at once: an area's tests are those
# whose names begin with it. Those on HDFS and YARN share one cluster. e2e-others has all
# that belong to no area.
E2E        = e2e-cluster e2e-others e2e-CFile
# Those of "make test-all" have clusters of their own, fail calls, kill the program, or have
# Kudu read many columns, or Spark, or tables of Iceberg, or read in Python.
MORE_AREAS = Kerberos HungCalls Faults Failover HungNodes Killed FullDataNodes Kinds Kudu ParquetSpark Iceberg Python
MORE_E2E   = $(MORE_AREAS:%=e2e-%)
# Areas that run in soak only, or by name: "make e2e-Airflow".
SOAK_AREAS = Spark Airflow SecureYARN

# Tests create and remove many thousands of small files, which takes a third of their time on
# a disk: they do it in memory if there is enough.
define IN_SCRATCH
scratch=; \
if [ -x /dev/shm ] && awk '/^MemAvailable/ { exit $$2 < 12000000 }' /proc/meminfo && \
   [ "$$(df -Pk /dev/shm | awk 'END { print $$4 }')" -ge 6000000 ]; then \
  scratch=$$(mktemp -d /dev/shm/rowtocol-XXXXXX); \
  if cp /bin/sh "$$scratch/runs" && "$$scratch/runs" -c :; then export TMPDIR="$$scratch"; fi; \
fi; \
trap '[ -z "$$scratch" ] || rm -rf "$$scratch"' EXIT; \
trap 'exit 130' INT; trap 'exit 143' TERM;
endef

ifneq ($(filter-out required,$(ROWTOCOL_E2E)),)
$(error ROWTOCOL_E2E is "$(ROWTOCOL_E2E)": it can be "required" or empty)
endif

empty     :=
space     := $(empty) $(empty)

.PHONY: wheel build sample test test-all commands unit race matrices modules gate e2e e2e-run run-matches $(E2E) $(MORE_E2E) $(SOAK_AREAS:%=e2e-%) slowest hdfs soak clusters fuzz mutants bench bench-read bench-peers bench-hfile memory mail dist dist-check lint clean

build: bin/rowtocol

# Go knows whether there is anything to do.
.PHONY: bin/rowtocol bin/e2e.test
bin/rowtocol:
	$(GO) build -trimpath -buildvcs=true -o $@ ./cmd/rowtocol
bin/e2e.test:
	$(GO) test -c -o $@ ./e2e
	@test -e e2e/hadoop/target/built || echo 'Java, Hadoop and Kudu are set up first, which takes a minute.'

# Converts the sample mail, shows the columns that came out, and says what to try next.
sample: build
	@./bin/rowtocol convert --log-level warn --overwrite testdata/mail $(SAMPLE)
	@./bin/rowtocol inspect $(SAMPLE)
	@echo
	@echo 'Try next:'
	@echo "  bin/rowtocol head --columns from,subject,size $(SAMPLE)"
	@echo "  bin/rowtocol cat --columns from,size --where 'size > 1100' $(SAMPLE)"

# Runs the targets $(1) at once, to the end even if one fails, and then $(2) alone: the gate
# measures processor time. The last line is the result of all. TESTED is given because make
# may not notice that the program is built, and what needs it can start, while it expands
# a $(shell) in a recipe: it then waits for what else runs, which takes minutes.
define RUN_TESTS
rm -f bin/test/*.json; \
status=0; \
$(MAKE) --no-print-directory --keep-going --jobs=$(JOBS) --output-sync=target HIDE=--hide-summary=skipped TESTED='$(TESTED)' $(1) || status=1; \
$(if $(2),$(MAKE) --no-print-directory HIDE=--hide-summary=skipped $(2) || status=1;) \
$(GO) run ./internal/cmd/tally -status $$status bin/test/*.json
endef

# What a change should pass before it is committed. Tests that wait longest are started
# first, so the program is built before.
test:
	@echo 'make test takes about 7 minutes on two cores; "make test-all" has what is left out here.'
	@$(MAKE) --no-print-directory bin/rowtocol bin/e2e.test
	@$(IN_SCRATCH) $(call RUN_TESTS,$(E2E) commands race unit)

# What "make test" leaves out: clusters that are secure, hang or fail, calls that fail,
# kills, Kudu over many columns, tables of Iceberg, the Python package, MATRICES, other modules, fuzzing
# beyond the seeds, and the gate.
test-all:
	@echo 'make test-all takes about 7 minutes on two cores, besides what "make test" takes.'
	@$(GO) run ./internal/cmd/fuzz -check -time '$(FUZZ)'
	@$(MAKE) --no-print-directory bin/rowtocol bin/e2e.test
	@$(IN_SCRATCH) $(call RUN_TESTS,$(MORE_E2E) matrices modules fuzz,gate)

# The tests of the program run it as make builds it.
commands unit matrices e2e-run $(E2E) $(MORE_E2E) $(SOAK_AREAS:%=e2e-%): export ROWTOCOL_PROGRAM = $(CURDIR)/bin/rowtocol

# The race detector is for packages in which something is concurrent.
race: export CGO_ENABLED = $(if $(RACE),1,0)
race:
	@mkdir -p bin/test
	nice $(TESTS) -- $(RACE) $(FAST) -skip '$(MATRICES)' $(CONCURRENT)
	nice $(call recorded,race-few) -- $(RACE) $(FAST) -run '$(FEW)' $(FEW_IN)

# What the race detector does not run, but for "commands". The detector allocates, too, so
# the test of mapper that counts runs here as well, and must be there.
unit: bin/rowtocol
	$(if $(TESTED),,$(error go list finds no packages))
	@mkdir -p bin/test
	nice $(TESTS) -- $(FAST) -skip '$(MATRICES)' $(SEQUENTIAL)
	nice $(call recorded,unit-few) -- $(FAST) -skip '$(FEW)|$(MATRICES)' $(FEW_IN)
	nice $(GO) test $(FAST) -run Alloc ./mapper | awk '{ print } /^ok/ && !/no tests to run/ { n++ } END { exit n != 1 }'

commands: bin/rowtocol
	@mkdir -p bin/test
	$(TESTS) -- $(FAST) ./cmd/rowtocol

matrices: bin/rowtocol
	@mkdir -p bin/test
	nice $(TESTS) -- $(FAST) -run '$(MATRICES)' $(CONCURRENT) $(SEQUENTIAL) $(FEW_IN)

# The other modules, but for the gate, and the tools of the repository.
modules:
	@mkdir -p bin/test
	nice $(call recorded,tools) -- $(FAST) ./internal/cmd/...
	for m in $(MODULES); do (cd $$m && nice $(call recorded,$@-$$(basename $$m)) -- $(FAST) -skip Gate ./...) || exit; done

gate:
	@mkdir -p bin/test
	cd bench && $(TESTS) -- -count=1 -timeout 5m -run Gate .

# End-to-end tests of all areas, or with RUN those whose names it matches:
# "make e2e RUN=HDFS".
e2e:
ifdef RUN
	@$(MAKE) --no-print-directory e2e-run
else
	@$(call RUN_TESTS,$(E2E) $(MORE_E2E))
endif

e2e-run: WHICH = -test.run '$(RUN)'
# All else gives way to these and to "commands", which take longest and wait most.
NICE = nice
e2e-cluster: NICE =
e2e-cluster: WHICH = -test.run '^Test(HDFS|YARN)'
e2e-others: WHICH = -test.skip '^Test($(subst $(space),|,HDFS YARN CFile $(MORE_AREAS) $(SOAK_AREAS)))'
$(SOAK_AREAS:%=e2e-%): export ROWTOCOL_SOAK ?= $(SOAK)
e2e-CFile $(MORE_E2E) $(SOAK_AREAS:%=e2e-%): WHICH = -test.run '^Test$(@:e2e-%=%)'

e2e-run: run-matches
run-matches: bin/e2e.test
	@bin/e2e.test -test.list '$(firstword $(subst /, ,$(RUN)))' | grep -q . || { echo 'no test matches RUN=$(RUN)' >&2; exit 1; }

e2e-run $(E2E) $(MORE_E2E) $(SOAK_AREAS:%=e2e-%): bin/rowtocol bin/e2e.test
	@mkdir -p bin/test
	@cd e2e && ROWTOCOL_STARTER=$$PPID $(NICE) $(TESTS) --raw-command -- \
	  $(GO) tool test2json -t -p $@ "$(CURDIR)/bin/e2e.test" -test.v=test2json -test.paniconexit0 -test.timeout=$(E2E_TIME) $(WHICH)

# What took longest in the last "make test".
slowest:
	@cat bin/test/*.json | $(GOTESTSUM) tool slowest --num 40

# A real HDFS for trying by hand, until Ctrl-C: HDFS="-ha -httpfs -yarn" for more.
hdfs:
	@$(GO) run ./e2e/hadooptest/hdfs $(HDFS)

# What is too slow for every commit, within 90 minutes on two cores: all cases of
# what "make test" and "make test-all" thin, with SOAK kills; the tests of the clusters themselves;
# every fuzz target for minutes; every guard removed in turn; everything that users
# get, built twice. The tests on HDFS take twice as long as any others, and mostly wait.
soak:
	@echo '$(SOAK)' | grep -qxE '[1-9][0-9]*' || { echo 'SOAK=$(SOAK) is not a number of kills' >&2; exit 1; }
	@$(GO) run ./internal/cmd/fuzz -check -time '$(SOAK_FUZZ)'
	@export ROWTOCOL_SOAK=$(SOAK); $(call RUN_TESTS,E2E_TIME=0 UNIT_TIME=0 FUZZ='$(SOAK_FUZZ)' $(E2E) $(MORE_E2E) $(SOAK_AREAS:%=e2e-%) clusters commands race unit matrices modules fuzz)
	@$(MAKE) --no-print-directory mutants
	@$(MAKE) --no-print-directory dist-check

clusters:
	@mkdir -p bin/test
	@cd e2e/hadooptest && ROWTOCOL_STARTER=$$PPID $(TESTS) -- -count=1 -timeout 10m .

# Every fuzz target for FUZZ.
fuzz:
	@nice $(GO) run ./internal/cmd/fuzz -time '$(FUZZ)'

# Whether a test misses each marked guard of PACKAGES, by default of all:
# "make mutants PACKAGES=./avro/ocf".
mutants:
	@$(GO) run ./internal/cmd/mutants $(PACKAGES)

# The program against its codec floor, for every generated set; BENCH="-only ^mail/"
# for some of them, BENCH="-profile bin/profiles" for CPU profiles too.
bench: build
	@$(GO) build -C bench -o ../bin/measure/ .
	@bin/measure/bench -program bin/rowtocol $(BENCH)

# What memory the program takes of inputs that ask for much, under limits that the
# kernel holds it to; MEMORY="-only ^wide" for some of them.
memory: build
	@$(GO) build -C bench -o ../bin/measure/ ./memory
	@bin/measure/memory -program bin/rowtocol $(MEMORY)

# What commands that read outputs take with one and with two workers, and compared with
# another build; READ="-base path/to/rowtocol -runs 3".
bench-read: build
	@$(GO) build -C bench -o ../bin/measure/ .
	@bin/measure/bench -program bin/rowtocol -read trevni $(READ)

# The same files converted by other programs; bench/peers/README.md says how.
bench-peers: build
	cd bench/peers && $(GO) run . $(PEERS)

# HFiles written and scanned by package hfile and by HBase in Java, on one core;
# BENCH="-runs 15" for more passes.
bench-hfile:
	@$(GO) build -C bench -o ../bin/measure/ ./hfiles
	@taskset -c $(CORE) bin/measure/hfiles $(BENCH)

# The large mail set of the benchmarks: about 200 MB of rows, snappy.
mail: bin/mail/mail.avro

bin/mail/mail.avro:
	$(GO) run ./internal/cmd/datagen -set mail -output $@

# What is given to users who do not build, in bin/dist: see internal/cmd/dist. For some
# systems only: "make dist TARGETS=linux/amd64,linux/arm64".
dist:
	@$(GO) build -C internal/cmd/dist -o ../../../bin/tools/ .
	@bin/tools/dist -o bin/dist $(if $(TARGETS),-targets '$(TARGETS)')

# The Python package for this machine, with the program in it, in bin/wheel.
wheel:
	@$(GO) build -C internal/cmd/dist -o ../../../bin/tools/ .
	@bin/tools/dist -o bin/wheel -wheel

# Whether the last commit gives the same files in two clones of different names.
dist-check:
	@rm -rf bin/dist-check
	@for clone in one another; do \
	  git clone -q . bin/dist-check/$$clone && $(MAKE) --no-print-directory -C bin/dist-check/$$clone dist || exit 1; done
	@cd bin/dist-check/one/bin/dist && sha256sum --check --quiet SHA256SUMS
	@cmp bin/dist-check/one/bin/dist/SHA256SUMS bin/dist-check/another/bin/dist/SHA256SUMS && echo 'dist-check: the same files twice'

# In every module.
# The linter of prose must find each planted sentence, or its rules no longer work.
lint:
	for m in . $(MODULES); do (cd $$m && "$(LINT)" run --allow-parallel-runners --config "$(CURDIR)/.golangci.yml" ./...) || exit; done
	"$(VALE)" --output line $(PROSE)
	@test "$$("$(VALE)" --no-exit --output line .vale/planted.md | cut -d: -f2 | sort -u | wc -l)" -eq "$$(wc -l < .vale/planted.md)" || { echo 'the linter of prose does not find every line of .vale/planted.md' >&2; exit 1; }

clean:
	rm -rf bin e2e/java/target e2e/hadoop/target e2e/kudu/target e2e/hfile/target
