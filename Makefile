# Everything here needs Go; "test" uses a C compiler for the race detector, and
# Java 17 with Maven and Python 3 with venv for the end-to-end tests, where they
# are present.

GO      ?= go
FUZZ    ?= 10s
SOAK    ?= 100
SAMPLE  ?= bin/sample
# The race detector needs cgo.
RACE    := $(if $(shell command -v $$($(GO) env CC) 2>/dev/null),-race)
LINT    ?= golangci-lint
UNIT     = $$($(GO) list ./... | grep -v '/e2e')

.PHONY: build sample test unit e2e hdfs soak fuzz bench bench-peers mail lint clean

build:
	$(GO) build -trimpath -o bin/rowtocol ./cmd/rowtocol

# Converts the sample mail and shows the columns that came out.
sample: build
	./bin/rowtocol convert --overwrite testdata/mail $(SAMPLE)
	./bin/rowtocol inspect $(SAMPLE)

test: unit e2e

unit:
	$(GO) vet ./...
	$(GO) test $(RACE) -timeout 20m $(UNIT)
	$(if $(RACE),$(GO) test -run Alloc ./trevni ./shred ./mapper)
	$(if $(RACE),$(GO) test -count=1 -timeout 5m ./bench)

# Run inside the directory, because only so does go test show what was skipped.
e2e:
	cd e2e && $(GO) test -count=1 -timeout 60m
	cd e2e/hadooptest && $(GO) test -count=1 -timeout 10m

# A real HDFS for trying by hand, until Ctrl-C: HDFS="-ha -httpfs" for more.
hdfs:
	@$(GO) run ./e2e/hadooptest/hdfs $(HDFS)

# What is too slow for every commit: many kills, and every fuzz target for
# FUZZ each (the long run is "make soak FUZZ=5m").
soak: fuzz
	cd e2e && ROWTOCOL_SOAK=$(SOAK) $(GO) test -count=1 -timeout 6h

fuzz:
	@set -e; for package in $(UNIT); do \
	  for target in $$($(GO) test -list '^Fuzz' $$package | grep '^Fuzz' || true); do \
	    echo "$$package $$target $(FUZZ)"; \
	    $(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZ) -fuzzminimizetime 10x $$package; \
	  done; \
	done

# The program against its codec floor, for every generated set; BENCH="-only ^mail/"
# for some of them, BENCH="-profile bin/profiles" for CPU profiles too.
bench: build
	@$(GO) run ./bench -program bin/rowtocol $(BENCH)

# The same files converted by other programs; bench/peers/README.md says how.
bench-peers: build
	cd bench/peers && $(GO) run . $(PEERS)

# The large mail set of the benchmarks: about 200 MB of rows, snappy.
mail: bin/mail/mail.avro

bin/mail/mail.avro:
	$(GO) run ./internal/cmd/datagen -set mail -output $@

lint:
	$(LINT) run ./...

clean:
	rm -rf bin e2e/java/target e2e/hadoop/target
