"""Other projects' suites and clients against the server: `make suites`.

Their sources are fetched from PyPI by version. They run in an environment of their own, whose folder is in $HEADWAY_SUITES.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from headway.server.served_model import ServedModel
from headway.server.settings import Settings
from tests.conftest import ROOT, data_directory
from tests.server.conftest import Running, running
from tests.server.suites.missing import FILES, MISSING

SUITES = Path(os.environ.get("HEADWAY_SUITES", "")).absolute()
HERE = Path(__file__).parent
OPENAI_FILES = ("chat/test_completions.py", "test_completions.py", "test_embeddings.py", "test_models.py", "test_responses.py")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif("HEADWAY_SUITES" not in os.environ, reason="takes half an hour; run: make suites"),
]


@pytest.fixture(scope="module")
def any_model(stories) -> Iterator[Running]:
    """A server that answers requests for every model."""
    with running(ServedModel("stories", stories), settings=Settings(accept_any_model=True)) as each:
        yield each


def sources(package: str, version: str) -> Path:
    """Return the folder of a source distribution of PyPI."""
    folder = SUITES / "sources"
    root = folder / f"{package.replace('-', '_')}-{version}"
    if not root.exists():
        pip = [python(), "-m", "pip", "download", "--quiet", "--no-deps", "--no-build-isolation", "--no-binary", ":all:"]
        subprocess.run([*pip, "--dest", folder, f"{package}=={version}"], check=True)
        with tarfile.open(folder / f"{root.name}.tar.gz") as archive:
            archive.extractall(folder, filter="data")
    return root


def python() -> str:
    """Return the interpreter of the suites' environment."""
    return str(SUITES / "bin" / "python")


def run(arguments: list[str], folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a module of the suites' environment."""
    command = [python(), "-m", *arguments]
    return subprocess.run(command, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, check=False)


@pytest.fixture
def shim(tmp_path) -> Iterator[Path]:
    """Socket of the process that starts servers with llama-server's flags."""
    if not data_directory().is_dir():
        pytest.skip("no test data with stories260K; set HEADWAY_TEST_DATA")
    path = tmp_path / "shim"
    process = subprocess.Popen([sys.executable, HERE / "llama_cpp" / "shim.py", path], env={**os.environ, "PYTHONPATH": str(ROOT / "src")})
    while not path.exists():
        assert process.poll() is None
        time.sleep(0.1)
    yield path
    process.terminate()
    process.wait()


def test_the_server_tests_of_llama_cpp(shim, tmp_path):
    folder = sources("llama-cpp-python", "0.3.36") / "vendor" / "llama.cpp" / "tools" / "server" / "tests"
    report = tmp_path / "report.json"
    files = [f"unit/test_{name}.py" for name in FILES]
    ended = run(
        ["pytest", "-q", "-p", "plugin", "-p", "no:cacheprovider", "-m", "not slow", *files],
        folder,
        PYTHONPATH=f"{folder}{os.pathsep}{HERE / 'llama_cpp'}",
        LLAMA_SERVER_BIN_PATH=str(HERE / "llama_cpp" / "llama-server"),
        HEADWAY_SHIM_SOCKET=str(shim),
        HEADWAY_SUITE_REPORT=str(report),
        PORT="8190",
    )
    assert report.exists(), ended.stdout[-3000:] + ended.stderr[-3000:]
    outcomes: dict[str, list[str]] = json.loads(report.read_text(encoding="utf-8"))
    failed = {name for name, each in outcomes.items() if "failed" in each}
    passed = {name for name, each in outcomes.items() if set(each) == {"passed"}}
    expected = {f"test_{file}.py::test_{name}" for file, names in MISSING.items() for name in names}
    assert failed <= expected, ended.stdout[-10_000:]
    assert len(passed) >= 100


def test_the_api_tests_of_the_openai_package(any_model):
    folder = sources("openai", "3.54.0")
    ended = run(
        [
            *("pytest", "-q", "-p", "no:cacheprovider", "-o", "addopts=", "-o", "asyncio_default_fixture_loop_scope=session"),
            # all_params sends values that are out of OpenAI's own bounds. The strict client asks for base64 and then refuses it: it
            # validates the response before it decodes the vectors.
            *("-k", "not all_params and (create or TestModels) and not delete and not (Embeddings and (strict or aiohttp))"),
            *(f"tests/api_resources/{name}" for name in OPENAI_FILES),
        ],
        folder,
        PYTHONPATH=str(folder),
        TEST_API_BASE_URL=f"{any_model.url}/v1",
    )
    assert ended.returncode == 0, ended.stdout[-5000:]


def test_requests_of_openai_s_description(any_model, tmp_path):
    source = data_directory() / "api" / "openai_cut.yaml"
    if not source.exists():
        pytest.skip("no test data with openai_cut.yaml; set HEADWAY_TEST_DATA")
    description = tmp_path / "openai.json"
    subprocess.run([python(), HERE / "describe.py", source, description, f"{any_model.url}/v1"], check=True)
    ended = run(
        [
            *("schemathesis.cli", "run", str(description), "--url", f"{any_model.url}/v1", "--phases", "fuzzing", "--no-color"),
            *("--checks", "not_a_server_error,response_schema_conformance,content_type_conformance"),
            *("--max-examples", os.environ.get("HEADWAY_SUITES_EXAMPLES", "100"), "--request-timeout", "60"),
            *("--generation-database", "none", "--continue-on-failure"),
        ],
        tmp_path,
    )
    assert ended.returncode == 0, ended.stdout[-5000:]


@pytest.mark.parametrize("client", ["langchain", "litellm", "llm"])
def test_a_client(any_model, stories, client, tmp_path):
    ended = run(
        ["clients", client, any_model.url],
        tmp_path,
        PYTHONPATH=str(HERE),
        LLM_USER_PATH=str(tmp_path),
        OPENAI_API_KEY="none",
        LITELLM_LOCAL_MODEL_COST_MAP="True",
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    texts = json.loads(ended.stdout.splitlines()[-1])
    expected = stories.generate("Once upon a time", max_new_tokens=12, temperature=0).text
    assert len(texts) >= 2
    assert {text.strip() for text in texts} == {expected.strip()}
