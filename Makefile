# make help lists what there is to do.

VERSION := 0.1.0
GOFLAGS_BOARD := -trimpath -ldflags "-s -w -X main.version=$(VERSION)"
SHELL := bash
export CGO_ENABLED ?= 0

.PHONY: help build small demo test race lint bench bench-peers bench-peers-check bench-http bench-http-check soak-http bench-arm bench-link bench-link-check soak soak-short pgo board test-clients test-schema conformance test-boards test-arm fuzz clean

help: ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 20

build: ## the program for this machine with all there is, ./boardhand
	go build $(GOFLAGS_BOARD) -o boardhand .

small: ## the same as a board has it, without the HTTP front, dist/boardhand
	@mkdir -p dist
	go build -tags board $(GOFLAGS_BOARD) -o dist/boardhand .

demo: build ## a session on the simulated board, each message shown
	go run ./bench/demo -exe ./boardhand

test: ## every test that needs nothing installed
	go vet ./...
	go test ./...

race: ## the same under the race detector, but for those of whole programs, which are built without it
	CGO_ENABLED=1 go test -race $$(go list ./... | grep -v 'tools/command\|boardhand/bench$$')

lint: ## gofmt, vet and staticcheck
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo "run gofmt -w on these"; exit 1; }
	go vet ./...
	go run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...

bench: ## benchmarks of this machine, with the memory they allocate
	go test -run '^$$' -bench . -benchmem ./...

bench-peers: small ## whole processes against a C program and two Go SDKs, as ratios
	cd bench/peers && go run . -boardhand ../../dist/boardhand

bench-peers-check: small ## the same, shorter; fails when a budget is exceeded
	cd bench/peers && go run . -boardhand ../../dist/boardhand -quick -attempts 4 -check ../budgets.txt

bench-http: build ## calls and memory over HTTP beside the HTTP server of the Go SDK
	cd bench/peers && go run ./overhttp -boardhand ../../boardhand

bench-http-check: build ## the same, shorter; fails when a budget is exceeded
	cd bench/peers && go run ./overhttp -boardhand ../../boardhand -span 1s -check ../budgets.txt

soak-http: build ## a million calls over HTTP in each era: the memory must not grow
	cd bench/peers && go run ./overhttp -boardhand ../../boardhand -soak 1000000

bench-arm: ## instructions of a call on ARMv6, counted in an emulator (needs qemu-user and gcc)
	go run ./bench/arm -check $(ARM)

bench-link: build ## calls and goodput over a serial line at three speeds, beside plain JSON
	go run ./bench/cable/speed -exe ./boardhand

bench-link-check: build ## the same, shorter; fails when a budget is exceeded
	go run ./bench/cable/speed -exe ./boardhand -bauds 9600,115200 -check

soak: build ## 100,000 calls over a cable with every fault (ten minutes and more)
	go run ./bench/cable/soak -exe ./boardhand

soak-short: build ## the same, 1,500 calls
	go run ./bench/cable/soak -exe ./boardhand -calls 1500 -phase 500ms

pgo: ## default.pgo anew, the profile that go build optimises by
	@mkdir -p dist
	go test -trimpath -run '^$$' -bench Call -benchtime 300ms -cpuprofile default.pgo -o dist/bench.test ./bench

# CLIENTS= lets a client be skipped whose packages cannot be had.
CLIENTS ?= -require
test-clients: build ## real clients against the program (needs npm)
	cd bench/peers && go test ./clients -boardhand ../../../boardhand -count=1 -parallel 6 $(CLIENTS)

test-schema: build ## every message against the official schemas of MCP
	cd bench/peers && go test ./schema -boardhand ../../../boardhand -count=1

conformance: ## the official conformance suite: HTTP, stdio and a serial cable (needs npm)
	go run ./bench/conformance $(CONFORMANCE)

test-boards: ## real kernels in an emulator (needs qemu-system-arm and device-tree-compiler)
	go run ./bench/boards $(BOARDS)

# Left out is what no board's program has, and what starts processes, in which the
# emulator may hang between fork and exec.
test-arm: ## the tests as an ARMv6 processor runs them (needs qemu-user-static)
	GOARCH=arm GOARM=6 go test -exec "qemu-arm-static -cpu arm1176" $$(go list ./device/... ./frame/... ./rpc/... ./tools/... | grep -v 'tools/command\|tools/own\|policy/journal\|device/program\|rpc/http')

FUZZTIME ?= 60s
fuzz: ## every fuzz target, FUZZTIME each
	@for pkg in $$(go list ./...); do \
	  for f in $$(go test -list '^Fuzz' $$pkg | grep ^Fuzz); do \
	    echo "$$pkg $$f"; go test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) $$pkg || exit 1; \
	  done; \
	done

board: ## small static binaries for boards, without the HTTP front, into dist/
	@mkdir -p dist
	@for t in linux/arm/6 linux/arm64 linux/riscv64 linux/mipsle linux/amd64; do \
	  IFS=/ read -r os arch arm <<< "$$t"; \
	  out=dist/boardhand-$$os-$$arch$${arm:+v$$arm}; \
	  GOOS=$$os GOARCH=$$arch GOARM=$$arm GOMIPS=softfloat go build -tags board $(GOFLAGS_BOARD) -o $$out . || exit 1; \
	  printf '%-32s %9d bytes  %5.2f MB\n' $$out $$(stat -c %s $$out) $$(stat -c %s $$out | awk '{print $$1/1e6}'); \
	done

clean: ## remove what was built
	rm -rf boardhand dist
