"""Files that open a training text that is absent."""

from headway.practice.diagnosis.reading.absent_texts import absent_texts
from headway.practice.diagnosis.sandbox import check_file

OPENS = """
from torch import nn

class Config:
    def __init__(self):
        with open("data/input.txt", encoding="utf-8") as file:
            self.vocab_size = len(set(file.read()))
        self.width = 16

config = Config()

class TokenEmbedding(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(config.vocab_size, config.width)

    def forward(self, ids):
        return self.table(ids){factor}
"""


def test_an_absent_text_has_the_number_of_characters(tmp_path):
    with absent_texts(7), open(tmp_path / "input.txt") as file:
        assert len(set(file.read())) == 7


def test_definitions_that_need_an_absent_text_are_judged(tmp_path):
    path = tmp_path / "learner.py"
    for factor, status in (("", "correct"), (" * 2", "wrong")):
        path.write_text(OPENS.replace("{factor}", factor))
        assert {each.subject: each.status for each in check_file(path)} == {"learner.py": "could not run", "TokenEmbedding": status}
