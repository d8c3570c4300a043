# Short ways to the usual commands. `make` alone lists them.

SECONDS_EACH ?= 60

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' Makefile | expand -t 20

run: ## build, then the quickstart: what TLS costs the built-in origin (half a minute)
	@test -x target/quick/bakeoff || echo "The first build takes some 5 minutes on two cores, once, and longer beside other work."
	cargo build --profile quick -p bakeoff-cli
	target/quick/bakeoff run quickstart

test: ## everything CI runs: formatting, lints, all tests
	tests/prepare
	cargo fmt --all --check
	cargo clippy --profile ci --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings -A rustdoc::private-intra-doc-links" cargo doc --profile ci --workspace --no-deps --quiet
	tests/run

bench: ## the engine's CPU per request beside wrk's, h2load's, ab's and nginx'; writes docs/engine.md (15 minutes)
	cargo build --release
	benches/compare-generators

instructions: ## instructions per operation of inner loops, held against benches/instructions.toml (needs valgrind)
	benches/instructions

soak: ## full speed for 10 minutes a protocol: nothing leaks, all counts agree; then scale (40 minutes)
	cargo build --release -p bakeoff-cli
	benches/soak
	benches/scale

honest: ## a million requests through a pass-through and a right cache: no fault (2 to 10 minutes)
	cargo build --release -p bakeoff-cli
	benches/honest/run

calibrate: ## how often the verdicts are right: simulated, then with real servers; what needs a quiet machine (long)
	cargo test --release -p bakeoff-stats --test calibration --test knee -- --ignored --nocapture --test-threads=1
	cargo test --release -p bakeoff-cli --test cli -- --ignored --test-threads 1 batching:: peak:: populations::
	cargo test --release -p bakeoff-robots --test broken -- --ignored known::
	cargo build --release
	benches/calibrate

reach: ## load from other hosts by ssh, Slurm and others, and its faults, in namespaces, as root (needs openssh-server, Slurm; 10 minutes)
	cargo build --release -p bakeoff-cli
	benches/reach

torture: ## file system suites, and faults, against mounts of remotefs, as root (needs libacl1-dev; 20 minutes)
	cargo build --release -p bakeoff-layers
	tests/torture/run

bpf: ## the kernel programs of the layer police, compiled (needs clang 14 and llvm)
	crates/layers/police/bpf/compile

fuzz: ## fuzz every parser, SECONDS_EACH=60 (needs cargo-fuzz)
	RUSTC_BOOTSTRAP=1 fuzz/run $(SECONDS_EACH)

clean: ## remove what was built
	cargo clean
	rm -rf fuzz/target fuzz/corpus fuzz/artifacts

.PHONY: help run test bench instructions soak honest calibrate reach torture bpf fuzz clean
