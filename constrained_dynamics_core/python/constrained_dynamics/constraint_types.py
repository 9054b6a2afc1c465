# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""One function for each type of constraint and force element, generated from their descriptions in the core.

    cd.KnifeEdge("blade", system, "tip", axis=[0, 1, 0])
    cd.constraint("knife_edge", "blade", system, frame_a="tip", axis=[0, 1, 0])   # the same
    cd.Spring("strut", "tip", "base", stiffness=200.0, rest=0.3)   # for RigidBodySystem(force_elements=…)

Names and keys are those of scenario files (doc/types.md). `parameters` and `definitions` are names that
formulas may use.
"""

import inspect

from . import _core

_POSITIONAL, _KEYWORD = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY


def constraint(type, name, system, *, parameters=None, definitions=None, **keys):
    """A constraint of a type, e.g. "knife_edge", with the keys of scenario files."""
    return _core.make_constraint(type, name, system, keys, parameters or {}, definitions or {})


def force_element(type, name, *, parameters=None, **keys):
    """A force element of a type, e.g. "spring", with the keys of scenario files."""
    return _core.make_force_element(type, name, keys, parameters or {})


_MADE = {_core.ConstraintDescription: "Constraint", _core.ForceElementDescription: "ForceElement"}


def _signature(description, owner, names):
    """Frames may be given by position; without frames, keys up to the first that must be given by name."""
    parameters = [inspect.Parameter(name, _POSITIONAL, annotation=kind) for name, kind in owner]
    has_frames = description.keys[0].name == "frame_a"
    for key in description.keys:
        is_behind_default = parameters[-1].default is not inspect.Parameter.empty
        by_name = parameters[-1].kind is _KEYWORD or (
            key.name not in ("frame_a", "frame_b") if has_frames else key.required and is_behind_default
        )
        parameters.append(
            inspect.Parameter(
                key.name,
                _KEYWORD if by_name else _POSITIONAL,
                default=inspect.Parameter.empty if key.required else key.default,
                annotation=key.python_type + (" | None" if not key.required and key.default is None else ""),
            )
        )
    parameters += [inspect.Parameter(name, _KEYWORD, default=None, annotation=kind + " | None") for name, kind in names]
    return inspect.Signature(parameters, return_annotation=_MADE[type(description)])


def _documentation(description):
    lines = [description.text, "", f"Equation: {description.equation.split('; rows {rows}')[0]}"]
    lines += [f"Rows: {description.rows}"] if hasattr(description, "rows") else []
    lines += [""]
    lines += [f"{key.name}: {key.type}; {key.text}" for key in description.keys]
    return "\n".join(lines)


def _function(description):
    is_constraint = isinstance(description, _core.ConstraintDescription)
    parameters, definitions = ("parameters", "Mapping[str, float]"), ("definitions", "Mapping[str, str]")
    signature = _signature(
        description,
        [("name", "str"), ("system", "System")] if is_constraint else [("name", "str")],
        [parameters, definitions] if is_constraint else [parameters],
    )
    maker = constraint if is_constraint else force_element

    def make(*args, **kwargs):
        return maker(description.type, **signature.bind(*args, **kwargs).arguments)

    make.__name__ = make.__qualname__ = description.python_name
    make.__doc__ = _documentation(description)
    make.__signature__ = signature
    return make


_FUNCTIONS = {
    description.python_name: _function(description)
    for description in [*_core.constraint_descriptions(), *_core.force_element_descriptions()]
    if description.python_name
}
globals().update(_FUNCTIONS)
__all__ = ["constraint", "force_element", *_FUNCTIONS]
