"""Finding a model: embedded, in a folder, or on the Hugging Face hub."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

from headway.errors import ModelNotFoundError
from headway.json_files import short_repr

EMBEDDED = "stories"
DOWNLOADED = ("*.json", "*.safetensors", "merges.txt", "vocab.txt", "*.spm", "*.model", "*.jinja")
NOT_DOWNLOADED = ("consolidated*", "original/*", "onnx/*")  # copies of the weights in other formats


def resolve_model(name: str | Path) -> Path:
    """Return the folder (or llama2.c file) of a model: `stories`, a path, or a hub name such as `Qwen/Qwen2-0.5B`.

    A hub name is downloaded if it is not in the cache. `stories` is always the embedded model; a folder of that name is `./stories`.

    Errors   ModelNotFoundError if there is no such model.
    """
    if str(name) == EMBEDDED:
        return Path(str(files("headway") / "assets" / EMBEDDED))
    path = _existing(name)
    if path is not None:
        return path
    if not is_hub_name(str(name)):
        raise ModelNotFoundError(
            f"got {short_repr(str(name))}, which is neither a folder nor a file",
            hint="pass `stories`, the path of a model folder, or a hub name (owner/name)",
        )
    return _download(str(name))


def models_here() -> Iterator[tuple[str, Path]]:
    """Yield the name and folder of every model that needs no download: the embedded one, then those in the hub's cache."""
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


def _existing(name: str | Path) -> Path | None:
    """Return the path if it exists; None also if it is not a possible path."""
    try:
        path = Path(name).expanduser()
        return path if path.exists() else None
    except (OSError, ValueError, RuntimeError):  # a name that is too long; one with a null character; an unknown user after ~
        return None


def is_hub_name(name: str) -> bool:
    """Return True for a name that a model on the Hugging Face hub may have."""
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
    hint = "pass the path of a model folder or of a GGUF file, or `stories`, which needs no download"
    try:
        return Path(snapshot_download(name, allow_patterns=list(DOWNLOADED), ignore_patterns=list(NOT_DOWNLOADED)))
    except GatedRepoError as error:
        raise ModelNotFoundError(
            f"got {name}, whose owner requires accepting a licence",
            hint=f"accept it at {constants.ENDPOINT}/{name}, then run: hf auth login",
        ) from error
    except RepositoryNotFoundError as error:
        raise ModelNotFoundError(
            f"got {name}, which is neither a folder nor a file nor a model at {constants.ENDPOINT}", hint=f"check the name, or {hint}"
        ) from error
    except (LocalEntryNotFoundError, HfHubHTTPError, OSError) as error:
        raise ModelNotFoundError(
            f"got {name}, which is neither a folder nor a file nor in the cache {cache}, and {constants.ENDPOINT} could not be reached "
            f"({type(error).__name__})",
            hint=hint,
        ) from error
