# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""Writes the type stub of constraint_types.py, whose functions are made when it is imported.

python write_stub.py FOLDER      # of the package, with its extension module
"""

import importlib
import inspect
import sys
import types
from pathlib import Path

HEAD = '''# Written by write_stub.py.

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

from numpy.typing import ArrayLike

from ._core import Constraint, ForceElement, System

def constraint(
    type: str,
    name: str,
    system: System,
    *,
    parameters: Mapping[str, float] | None = ...,
    definitions: Mapping[str, str] | None = ...,
    **keys: Any,
) -> Constraint:
    """{documentation}"""

def force_element(
    type: str, name: str, *, parameters: Mapping[str, float] | None = ..., **keys: Any
) -> ForceElement:
    """{element_documentation}"""
'''


def declaration(function):
    """One function as a stub: one parameter per line, defaults as dots."""
    lines, is_keyword = [], False
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and not is_keyword:
            lines.append("    *,")
            is_keyword = True
        default = "" if parameter.default is inspect.Parameter.empty else " = ..."
        lines.append(f"    {parameter.name}: {parameter.annotation}{default},")
    made = inspect.signature(function).return_annotation
    text = inspect.getdoc(function).replace("\n", "\n    ").replace("\n    \n", "\n\n")
    return "\n".join([f"def {function.__name__}(", *lines, f") -> {made}:", f'    """{text}"""'])


def load(folder):
    """The module constraint_types, without importing the rest of the package."""
    package = types.ModuleType("constrained_dynamics")
    package.__path__ = [str(folder)]
    sys.modules["constrained_dynamics"] = package
    return importlib.import_module("constrained_dynamics.constraint_types")


def stub(constraint_types):
    """The text of the stub."""
    functions = [getattr(constraint_types, name) for name in constraint_types.__all__ if name[0].isupper()]
    head = HEAD.format(
        documentation=inspect.getdoc(constraint_types.constraint),
        element_documentation=inspect.getdoc(constraint_types.force_element),
    )
    return "\n\n".join([head.rstrip("\n"), *map(declaration, functions)]) + "\n"


if __name__ == "__main__":
    target = Path(sys.argv[1], "constraint_types.pyi")
    target.write_text(stub(load(sys.argv[1])), encoding="utf-8")
