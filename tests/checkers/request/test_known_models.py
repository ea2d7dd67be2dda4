"""Of models whose text says all values the meaning is kept while their files are as they were; of others it is not."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import reassure
from reassure.checkers.request.known_models import LIBRARIES, meaning, says_all_values
from reassure.checkers.request.model_loader import UnknownModel
from tests.helpers.counter_model import BY_TWO

COUNTER = BY_TWO.replace("s.n + 2", "s.n + STEP").replace("\n\n", "\nfrom reassure.models.steps import STEP\n\n", 1)
ASK = """
import sys
from reassure.spec.language.vocabulary import LanguageError
from reassure.checkers.request import known_models
loaded, load = [], known_models.load_model
known_models.load_model = lambda name: (loaded.append(name), load(name))[1]
try:
    found = known_models.meaning(sys.argv[1:])
    print(found and (found.sha256, found.values), len(loaded))
except LanguageError as error:
    print(error, len(loaded))
"""


class Program:
    """A copy of the program that has the models of a folder, and a cache of its own."""

    def __init__(self, folder: Path) -> None:
        (place,) = map(Path, reassure.__path__)
        self.models, self.cache = folder / "reassure" / "models", folder.parent / "cache"
        self.models.mkdir(parents=True)
        shutil.copy(place / "__init__.py", folder / "reassure")
        shutil.copy(place / "models" / "__init__.py", self.models)
        for part in ("spec", "checkers"):
            (folder / "reassure" / part).symlink_to(place / part)
        self.environment = {**os.environ, "PYTHONPATH": str(folder), "REASSURE_CACHE": str(self.cache)}

    def write(self, name: str, text: str) -> None:
        (self.models / name).write_text(text)

    def ask(self, model: str, **environment: str) -> tuple[str, int]:
        """What a process says that the model means, and how many models it has loaded."""
        run = [sys.executable, "-c", ASK, model]
        done = subprocess.run(
            run, env={**self.environment, **environment}, capture_output=True, text=True, check=True, cwd=self.models
        )
        found, _, loaded = done.stdout.strip().rpartition(" ")
        return found, int(loaded)


@pytest.fixture
def program(tmp_path: Path) -> Program:
    program = Program(tmp_path / "program")
    program.write("counter.py", COUNTER)
    program.write("steps.py", "STEP = 1\n")
    return program


def test_what_two_processes_found_is_believed_while_the_files_are_as_they_were(program: Program) -> None:
    """Written again with the same length and time, or in a folder that something was added to, they are read again."""
    first, *loads = program.ask("counter")
    assert first != "None"
    assert [loads[0], *(program.ask("counter")[1] for _ in range(3))] == [1, 1, 0, 0]
    assert program.ask("counter", PYTHONOPTIMIZE="1") == (first, 1)  # without its assertions it may mean another
    steps = program.models / "steps.py"
    before = steps.stat()
    program.write("steps.py", "STEP = 2\n")
    os.utime(steps, ns=(before.st_atime_ns, before.st_mtime_ns))
    second, loaded = program.ask("counter")
    assert (second != first, loaded) == (True, 1)
    program.write("steps.py", "STEP = 1\n")
    assert [program.ask("counter") for _ in range(3)] == [(first, 1), (first, 1), (first, 0)]
    (program.models / "steps").mkdir()
    (program.models / "steps" / "__init__.py").write_text("STEP = 2\n")  # Python prefers it to the file
    third, loaded = program.ask("counter")
    assert (third == second, loaded) == (True, 1)
    for file in (program.cache / "texts").glob("m*.words"):
        file.write_bytes(file.read_bytes()[:-1])
    assert program.ask("counter") == (third, 1)


def test_a_value_from_outside_is_looked_at_each_time(program: Program) -> None:
    program.write("steps.py", 'import os\nSTEP = int(os.environ["STEP"])\n')
    one = [program.ask("counter", STEP="1") for _ in range(3)]
    two = [program.ask("counter", STEP="2") for _ in range(2)]
    assert [loaded for _, loaded in one + two] == [1] * 5
    assert (len({found for found, _ in one}), len({found for found, _ in one + two})) == (1, 2)


def test_a_model_of_ones_own_and_what_comes_before_its_modules(program: Program, tmp_path: Path) -> None:
    """What Python takes for a module may change by what is added to a folder that it looks in sooner."""
    own, sooner = tmp_path / "own", tmp_path / "sooner"
    own.mkdir()
    model = own / "counter.py"
    model.write_text(COUNTER.replace("reassure.models.steps", "own_steps"))
    (own / "own_steps.py").write_text("STEP = 1\n")
    program.environment["PYTHONPATH"] += f":{sooner}"
    loads = [program.ask(str(model)) for _ in range(3)]
    assert ([loaded for _, loaded in loads], len({found for found, _ in loads})) == ([1, 1, 0], 1)
    sooner.mkdir()
    assert [program.ask(str(model)) for _ in range(3)] == loads
    (sooner / "own_steps.py").write_text("STEP = 2\n")
    refused, loaded = program.ask(str(model))
    assert refused.startswith("counter.py imports own_steps.py beside it, and `own_steps` is")
    assert loaded == 1


def test_no_such_model() -> None:
    with pytest.raises(UnknownModel, match="did you mean kraft"):
        meaning(["kraftt"])


SAYS = [
    "",
    "from __future__ import annotations\nimport json, re as r\nfrom typing import Annotated\n",
    "from reassure import Model, replace\nfrom reassure.models.kraft import kraft\nfrom . import near\n",
    "from rules.steps import step\nimport rules\n",
    "from .rules import step\nX = frozenset({1, 2}) | {3}\n",
    "class A:\n    id: int\n    def __post_init__(self):\n        super().__post_init__()\n",
    "def f(id, open):\n    return open + id\n",
    "def f(items):\n    return [id for id in items if id]\n",
    "MODEL = of(__name__, A.__members__)\n",
]
SAYS_NOT = [
    "import os\n",
    "import json, os.path\n",
    "from random import choice\n",
    "from pathlib import Path\n",
    "def f():\n    import time\n",
    "import numpy as np\n",
    "from reassure import check\n",
    "from elsewhere import step\n",
    "import reassure\n",
    "TEXT = open('a').read()\n",
    "def f(x):\n    return hash(x)\n",
    "X = sorted([1, 2], key=id)\n",
    "class A:\n    value = eval('1')\n",
    "F = lambda: globals()\n",
    "HERE = __file__\n",
    "X = (1).__class__\n",
    "X = f.__globals__['os']\n",
    "X = __builtins__\n",
    "def f():\n    return [__import__('os') for _ in ()]\n",
]


@pytest.mark.parametrize(("text", "says"), [(t, True) for t in SAYS] + [(t, False) for t in SAYS_NOT])
def test_texts_that_say_all_values(text: str, says: bool) -> None:
    assert says_all_values(text, {*LIBRARIES, "reassure", "rules"}) is says
