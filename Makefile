# The front door. Each target is a thin line over tools/, CMake and ctest; `make help` lists them.
JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
export JOBS

.DEFAULT_GOAL := help
.PHONY: help demo build image test soak bench lint format install clean

help: ## Show this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

demo: ## Install what is needed, build, and show a few real decisions
	tools/setup
	cmake --preset release
	cmake --build build/release -j $(JOBS) --target assay
	tools/demo

build: ## Build the program
	tools/setup
	cmake --preset release
	cmake --build build/release -j $(JOBS) --target assay

image: ## Build the container, with docker or buildah; IMAGE_FLAGS="--tag NAME:TAG" and the like
	deploy/container/make_image $(IMAGE_FLAGS)

test: ## Lint, build and run every test, the sanitizers' and the fuzzers' too
	tools/setup --dev
	tools/run_tests

soak: build ## Look for changed bits under load, kill the stores of decisions and lessons, and fuzz for ten minutes a target
	tests/soak/soak.py
	cmake --build build/release -j $(JOBS) --target assay_feedback_kill_tool assay_lesson_writer_tool
	tests/soak/feedback_kill.py --rounds 1000
	tests/soak/lesson_writers.py
	tools/setup --dev
	ASSAY_TEST_PARTS=fuzz ASSAY_FUZZ_SECONDS=600 tools/run_tests

bench: build ## Run every benchmark
	cmake --build build/release -j $(JOBS) --target overhead_server routes_bench
	bench/run all

lint: ## Check the form of the code
	tools/setup --dev
	cmake --preset release
	tools/lint

format: ## Apply clang-format
	tools/lint --fix

install: ## Install what `make build` built into PREFIX (/usr/local); DESTDIR is honoured
	cmake --install build/release --prefix $(PREFIX)

clean: ## Delete what was built (downloads stay in third_party and models)
	rm -rf build
