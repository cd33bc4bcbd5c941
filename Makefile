# What a newcomer, a developer and CI run. `make` alone lists it.

.DEFAULT_GOAL := help
.PHONY: help demo view test test-kills test-ceph fuzz build bench viewer packages fmt lint clean-demo

help: ## This list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 14

demo: packages ## Record a scripted desktop and serve the recording on 127.0.0.1:8900 (first run: about 10 minutes)
	@bash samples/demo.sh

view: packages ## Serve the recording in samples/recording (first run: about 4 minutes, then seconds)
	@bash samples/view.sh

test: ## Every check that .ci/run runs (about 45 minutes cold)
	@bash .ci/run

test-kills: packages viewer ## Kill the recorder PLAYHEAD_KILLS times (default: 200, about 20 minutes) at random moments
	cargo build --profile ci --locked --workspace --bins
	PLAYHEAD_KILLS=$${PLAYHEAD_KILLS:-200} cargo test --profile ci --locked -p pipeline-tests --test peer_kills -- --test-threads=1 --nocapture

test-ceph: ## Try the S3 store on a Ceph cluster of three OSDs, one of them killed (as root; installs Ceph)
	@bash index/store/tests/ceph.sh

fuzz: ## Fuzz every parser of a peer's bytes, each for FUZZ_SECONDS (default: an hour)
	FUZZ_SEED=0 FUZZ_SECONDS=$${FUZZ_SECONDS:-3600} tests/fuzz/run.sh

build: packages viewer ## Release binaries with the viewer embedded, in target/release
	cargo build --release --locked --bins

bench: packages viewer ## The figures of this product, measured here
	cargo build --release --locked --bins
	cargo bench --locked -p pipeline-tests

viewer: web-viewer/dist/index.html ## The web viewer alone, in web-viewer/dist
	@:

web-viewer/dist/index.html: web-viewer/node_modules/.package-lock.json $(shell find web-viewer/src web-viewer/scripts -type f)
	npm --prefix web-viewer run --silent build

web-viewer/node_modules/.package-lock.json: web-viewer/package-lock.json
	npm --prefix web-viewer ci --no-audit --no-fund --silent
	@touch $@

packages: ## System packages that packages.txt lists
	@bash .ci/packages

fmt: ## Format everything
	cargo fmt --all

lint: ## Formatting, clippy and the viewer's types
	cargo fmt --all --check
	cargo clippy --profile ci --locked --workspace --all-targets -- -D warnings
	npm --prefix web-viewer run --silent check

clean-demo: ## Remove what demo and view have recorded and cached
	rm -rf .demo
