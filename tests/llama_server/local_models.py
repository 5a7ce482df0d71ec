"""A pytest plugin (pytest -p local_models): llama-server's own tests with models that lie here instead of downloads.

The tests say which model they want by its repository; MODELS says what stands in for it. It also keeps what they write
out of llama.cpp's tree. Where the tests lie is the working folder; LLAMA_SUITE_WORK names the folder for files,
LLAMA_SUITE_RESULT the file that gets one JSON object: the tests collected, and how each that ran ended.
"""

import contextlib
import json
import os
import sys
import types

import pytest

WORK = os.environ["LLAMA_SUITE_WORK"]
# What an upstream test asks for: the environment variable with the path of what it gets.
MODELS = {
    ("ggml-org/models", "tinyllamas/stories260K.gguf"): "LLAMA_SUITE_CHAT_MODEL",
    ("ggml-org/test-model-stories260K", None): "LLAMA_SUITE_CHAT_MODEL",
    ("ggml-org/test-model-stories260K-infill", None): "LLAMA_SUITE_INFILL_MODEL",
    ("ggml-org/stories15M_MOE", "stories15M_MOE-F16.gguf"): "LLAMA_SUITE_CHAT_MODEL",
    ("ggml-org/models", "bert-bge-small/ggml-model-f16.gguf"): "LLAMA_SUITE_CHAT_MODEL",
    ("ggml-org/models", "jina-reranker-v1-tiny-en/ggml-model-f16.gguf"): "LLAMA_SUITE_RERANK_MODEL",
}


# What lies in the download cache, as if it had been fetched: the router finds its models there. {repository: (file, the
# environment variable with the path of what it is)}
CACHED = {
    "ggml-org/tinygemma3-GGUF": ("tinygemma3-Q8_0.gguf", "LLAMA_SUITE_CHAT_MODEL"),
    "ggml-org/test-model-stories260K": ("stories260K-F32.gguf", "LLAMA_SUITE_CHAT_MODEL"),
    "ggml-org/test-model-stories260K-infill": ("stories260K-infill-F32.gguf", "LLAMA_SUITE_INFILL_MODEL"),
}
COMMIT = "0" * 40
# The same for files that are fetched by their address.
FILES = {"stories15M-q4_0.gguf": "LLAMA_SUITE_CHAT_MODEL"}
# Where no model is named it is a router that is tested. The other tests start one because it needs no model to load;
# they get one model.
ROUTER_FILES = ("test_router.py", "test_stream.py")
current_file = None
# These are about what happens meanwhile, so a router's models must take the time that llama.cpp's helpers ask for.
WITH_TIME = ("test_router_queue_", "test_stream_")
needs_time = False


def names_no_model(server):
    return not any((server.model_file, server.model_hf_repo, server.model_url, server.models_dir, server.models_preset))


def no_download(url, *_arguments, **_more):
    raise RuntimeError(f"{url} would have to be downloaded")


def local_file(url, *_arguments):
    variable = FILES.get(os.path.basename(url))
    return os.environ[variable] if variable else no_download(url)


def fill_cache(folder):
    for repository, (name, variable) in CACHED.items():
        place = os.path.join(folder, "models--" + repository.replace("/", "--"))
        os.makedirs(os.path.join(place, "refs"), exist_ok=True)
        os.makedirs(os.path.join(place, "snapshots", COMMIT), exist_ok=True)
        with open(os.path.join(place, "refs", "main"), "w", encoding="utf-8") as file:
            file.write(COMMIT)
        path = os.path.join(place, "snapshots", COMMIT, name)
        if not os.path.lexists(path):
            os.symlink(os.environ[variable], path)


# The suite's helpers import these two; here nothing is downloaded, and one process runs all tests.
sys.modules["wget"] = types.SimpleNamespace(download=no_download)
sys.modules["filelock"] = types.SimpleNamespace(FileLock=contextlib.nullcontext)

import utils  # noqa: E402 (of llama.cpp's tests, in the working folder)

start_upstream = utils.ServerProcess.start


def start(server, *arguments, **more):
    os.environ["LLAMA_SUITE_QUICK"] = "" if needs_time else "1"
    if names_no_model(server) and current_file not in ROUTER_FILES:
        server.model_file = os.environ["LLAMA_SUITE_CHAT_MODEL"]
    if server.model_hf_repo and not server.model_file:
        variable = MODELS.get((server.model_hf_repo, server.model_hf_file))
        if variable is None:
            no_download(f"{server.model_hf_repo} {server.model_hf_file or ''}")
        server.model_file = os.environ[variable]
        server.model_hf_repo = server.model_hf_file = None
    if server.server_embeddings and server.pooling is None:
        server.pooling = "last"  # the models that are named say so themselves
    start_upstream(server, *arguments, **more)


fill_cache(os.environ["LLAMA_CACHE"])
utils.ServerProcess.start = start
utils.download_file = local_file
utils.ServerPreset.load_all = staticmethod(lambda: None)
utils.TMP_DIR = os.path.join(WORK, "tmp")

ended = {}
collected = []


def short_names(items):
    """{item: "file::test", or "file::test#2" for the third of a parametrized test}."""
    counts = {}
    names = {}
    for item in items:
        name = os.path.basename(item.location[0]) + "::" + item.originalname
        if hasattr(item, "callspec"):
            counts[name] = counts.get(name, -1) + 1
            name += f"#{counts[name]}"
        names[item] = name
    return names


def pytest_collection_modifyitems(session, config, items):
    names = short_names(items)
    collected.extend(names.values())
    with open(os.environ["LLAMA_SUITE_CHOSEN"], encoding="utf-8") as file:
        chosen = set(json.load(file))
    for item in items:
        item.short_name = names[item]
    config.hook.pytest_deselected(items=[item for item in items if names[item] not in chosen])
    items[:] = [item for item in items if names[item] in chosen]


def pytest_runtest_setup(item):
    global current_file, needs_time
    current_file = os.path.basename(item.location[0])
    needs_time = item.originalname.startswith(WITH_TIME)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    before = ended.get(item.short_name, "passed")
    ended[item.short_name] = report.outcome if before == "passed" else before


def pytest_sessionfinish(session, exitstatus):
    with open(os.environ["LLAMA_SUITE_RESULT"], "w", encoding="utf-8") as file:
        json.dump({"collected": collected, "ended": ended}, file)
