"""Generate a text by a client's own ways: `python clients.py NAME URL` prints the texts as a JSON list."""

import json
import sys

PROMPT = "Once upon a time"
MODEL = "stories"


def langchain(url: str) -> list[str]:
    from langchain_openai import ChatOpenAI, OpenAIEmbeddings

    model = ChatOpenAI(model=MODEL, base_url=f"{url}/v1", api_key="none", max_tokens=12, temperature=0)
    vectors = OpenAIEmbeddings(model=MODEL, base_url=f"{url}/v1", api_key="none", check_embedding_ctx_length=False)
    assert len(vectors.embed_documents(["A fox", "a girl"])) == 2
    return [model.invoke(PROMPT).content, "".join(chunk.content for chunk in model.stream(PROMPT))]


def litellm(url: str) -> list[str]:
    from litellm import completion

    messages = [{"role": "user", "content": PROMPT}]
    given = {
        "model": f"openai/{MODEL}",
        "api_base": f"{url}/v1",
        "api_key": "none",
        "messages": messages,
        "max_tokens": 12,
        "temperature": 0,
    }
    streamed = [chunk.choices[0].delta.content or "" for chunk in completion(**given, stream=True)]
    claude = completion(**{**given, "model": f"anthropic/{MODEL}", "api_base": url})
    return [completion(**given).choices[0].message.content, "".join(streamed), claude.choices[0].message.content]


def llm(url: str) -> list[str]:
    from llm.default_plugins.openai_models import Chat

    model = Chat("headway", model_name=MODEL, api_base=f"{url}/v1")
    options = {"max_tokens": 12, "temperature": 0, "key": "none"}
    return [model.prompt(PROMPT, stream=stream, **options).text() for stream in (False, True)]


if __name__ == "__main__":
    print(json.dumps({"langchain": langchain, "litellm": litellm, "llm": llm}[sys.argv[1]](sys.argv[2])))
