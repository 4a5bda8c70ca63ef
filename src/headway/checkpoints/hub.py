"""Where a model is: embedded, in a folder, or on the Hugging Face hub."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

from headway.errors import ModelNotFoundError

EMBEDDED = "stories"
WANTED = ("*.json", "*.safetensors", "merges.txt", "vocab.txt", "*.spm", "*.model", "*.jinja")
NOT_WANTED = ("consolidated*", "original/*", "onnx/*")  # the same weights once more, in other forms


def resolve_model(name: str | Path) -> Path:
    """The folder (or llama2.c file) of a model: `stories`, a path, or a hub name such as `Qwen/Qwen2-0.5B`, downloaded if need be.

    `stories` is always the embedded model; a folder of that name is `./stories`.

    Errors   ModelNotFoundError that says what was looked for, and where.
    """
    path = Path(name).expanduser()
    if str(name) == EMBEDDED:
        return Path(str(files("headway") / "assets" / EMBEDDED))
    if path.exists():
        return path
    if not _is_hub_name(str(name)):
        raise ModelNotFoundError(
            f"came: {name}; expected: `stories`, the path of a folder that exists, or a hub name (owner/name); looked in {path.absolute().parent}"
        )
    return _download(str(name))


def models_here() -> Iterator[tuple[str, Path]]:
    """Every model that needs no download: the embedded one, then those in the hub's cache, by name and folder."""
    yield EMBEDDED, Path(str(files("headway") / "assets" / EMBEDDED))
    from huggingface_hub import scan_cache_dir
    from huggingface_hub.errors import CacheNotFound

    try:
        repos = scan_cache_dir().repos
    except CacheNotFound:
        return
    for repo in sorted(repos, key=lambda repo: repo.repo_id):
        if repo.repo_type == "model" and repo.revisions:
            newest = max(repo.revisions, key=lambda revision: revision.last_modified)
            yield repo.repo_id, Path(newest.snapshot_path)


def _is_hub_name(name: str) -> bool:
    from huggingface_hub.utils import HFValidationError, validate_repo_id

    try:
        validate_repo_id(name)
    except HFValidationError:
        return False
    return not name.startswith((".", "~"))


def _download(name: str) -> Path:
    from huggingface_hub import constants, snapshot_download
    from huggingface_hub.errors import GatedRepoError, HfHubHTTPError, LocalEntryNotFoundError, RepositoryNotFoundError

    cache = constants.HF_HUB_CACHE
    remedy = "pass the path of a folder with config.json and model.safetensors instead, or `stories`, which needs no download"
    try:
        return Path(snapshot_download(name, allow_patterns=list(WANTED), ignore_patterns=list(NOT_WANTED)))
    except GatedRepoError as error:
        raise ModelNotFoundError(
            f"came: {name}, whose owner asks for a licence to be accepted; accept it at {constants.ENDPOINT}/{name}, then run: hf auth login"
        ) from error
    except RepositoryNotFoundError as error:
        raise ModelNotFoundError(
            f"came: {name}; looked for a folder of that name, and at {constants.ENDPOINT}, which has no such model; check the name, or {remedy}"
        ) from error
    except (LocalEntryNotFoundError, HfHubHTTPError, OSError) as error:
        raise ModelNotFoundError(
            f"came: {name}; looked for a folder of that name, in the cache {cache}, and at {constants.ENDPOINT}, which could not be reached "
            f"({type(error).__name__}); {remedy}"
        ) from error
