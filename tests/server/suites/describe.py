"""Write OpenAI's description for a server: `python describe.py SOURCE TARGET URL`.

Three parts of it contradict what OpenAI itself sends. Two schemas are left out: vectors as base64 are arrays there, and the nulls in events
are of no type, since `nullable` is no keyword of OpenAPI 3.1. The streams of completions have no content type, and are added.
"""

import json
import sys
from pathlib import Path

import yaml


def describe(source: Path, target: Path, url: str) -> None:
    """Write the description in `source` to `target`, for the server at `url`."""
    described = yaml.safe_load(source.read_text(encoding="utf-8"))
    described["servers"] = [{"url": url}]
    described["components"]["schemas"]["CreateEmbeddingRequest"]["properties"]["encoding_format"]["enum"] = ["float"]
    for path in described["paths"].values():
        for operation in path.values():
            for response in operation.get("responses", {}).values():
                for kind, content in response.get("content", {}).items():
                    if kind == "text/event-stream":
                        content.pop("schema", None)
    described["paths"]["/completions"]["post"]["responses"]["200"]["content"]["text/event-stream"] = {}
    target.write_text(json.dumps(described), encoding="utf-8")


if __name__ == "__main__":
    describe(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
