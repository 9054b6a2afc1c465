# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

"""Formulas of scenario files (doc/scenario.md, section 1), evaluated over arrays or written as MathML."""

import html
import re

import numpy as np

TOKEN = re.compile(r"\s*(?:(\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?)|([A-Za-z_]\w*)|`([^`]*)`|(.))")
FUNCTIONS = {
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "abs": np.abs,
    "sign": np.sign,
    "step": lambda x: np.where(x > 0, 1.0, 0.0),
    "atan2": np.arctan2,
    "pow": np.power,
    "min": np.minimum,
    "max": np.maximum,
    "hypot": np.hypot,
}
OPERATIONS = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "^": np.power}
STRENGTH = {"+": 1, "-": 1, "*": 2, "/": 2, "negative": 3, "^": 4}
GREEK = dict(
    zip(
        "alpha beta gamma delta epsilon zeta eta theta lambda mu nu xi rho sigma tau phi psi omega pi kappa".split(),
        "αβγδεζηθλμνξρστφψωπκ",
    )
)
GREEK.update(Gamma="Γ", Delta="Δ", Theta="Θ", Phi="Φ", Psi="Ψ", Omega="Ω", Sigma="Σ")


def parse(text):
    """Nested tuples: ("number", x), ("name", s), ("call", s, arguments), (operator, a, b), ("negative", a)."""
    return _Reader(str(text)).whole()


class _Reader:
    def __init__(self, text):
        self.text, self.at = text, 0
        self.tokens = []
        for number, word, quoted, other in TOKEN.findall(text.strip()):
            kind = "number" if number else "name" if word or quoted else other
            self.tokens.append((kind, number or word or quoted or other))
        self.tokens.append(("end", ""))

    def whole(self):
        node = self.sum()
        if self.kind() != "end":
            raise ValueError("formula '%s': '%s' is not expected there" % (self.text, self.tokens[self.at][1]))
        return node

    def kind(self):
        return self.tokens[self.at][0]

    def take(self, kind=None):
        token = self.tokens[self.at]
        if kind is not None and token[0] != kind:
            raise ValueError("formula '%s': '%s' is missing before '%s'" % (self.text, kind, token[1]))
        self.at += 1
        return token[1]

    def sum(self):
        node = self.product()
        while self.kind() in ("+", "-"):
            node = (self.take(), node, self.product())
        return node

    def product(self):
        node = self.signed()
        while self.kind() in ("*", "/"):
            node = (self.take(), node, self.signed())
        return node

    def signed(self):
        if self.kind() == "-":
            self.take()
            return ("negative", self.signed())
        if self.kind() == "+":
            self.take()
            return self.signed()
        base = self.atom()
        if self.kind() == "^":
            self.take()
            return ("^", base, self.signed())
        return base

    def atom(self):
        if self.kind() == "number":
            return ("number", float(self.take()))
        if self.kind() == "(":
            self.take()
            node = self.sum()
            self.take(")")
            return node
        name = self.take("name")
        if self.kind() != "(":
            return ("name", name)
        self.take()
        arguments = [self.sum()]
        while self.kind() == ",":
            self.take()
            arguments.append(self.sum())
        self.take(")")
        return ("call", name, arguments)


def evaluate(node, look_up, named_functions=()):
    """The value of a formula; look_up(name) gives names, named_functions(name → function) take names as arguments."""
    kind = node[0]
    if kind == "number":
        return node[1]
    if kind == "name":
        return look_up(node[1])
    if kind == "negative":
        return -evaluate(node[1], look_up, named_functions)
    if kind == "call":
        _, name, arguments = node
        if name in named_functions:
            words = [argument[1] if argument[0] == "name" else None for argument in arguments]
            if None not in words:
                return named_functions[name](*words)
        if name not in FUNCTIONS:
            raise ValueError(
                "there is no function '%s'; known are %s" % (name, ", ".join(sorted({*FUNCTIONS, *named_functions})))
            )
        return FUNCTIONS[name](*(evaluate(argument, look_up, named_functions) for argument in arguments))
    return OPERATIONS[kind](evaluate(node[1], look_up, named_functions), evaluate(node[2], look_up, named_functions))


# ---- MathML --------------------------------------------------------------------------------------


def _word(text):
    text = GREEK.get(text, text)
    variant = "" if len(text) == 1 else ' mathvariant="normal"'
    return "<mi%s>%s</mi>" % (variant, html.escape(text))


def name_mathml(name, coordinates=()):
    """A name with Greek letters, subscripts, and dots where it is the rate of a coordinate."""
    for prefix, dots in (("dd", "¨"), ("d", "˙")):
        if name.startswith(prefix) and name[len(prefix) :] in coordinates:
            inner = name_mathml(name[len(prefix) :])
            return '<mover accent="true"><mrow>%s</mrow><mo>%s</mo></mover>' % (inner, dots)
    if name == "xbar":
        return '<mover accent="true"><mi>x</mi><mo>¯</mo></mover>'
    found = re.fullmatch(r"([A-Za-z]+?)_?(\d+)", name) or re.fullmatch(r"([A-Za-z]+)_(\w+)", name)
    if found and (len(found[1]) == 1 or found[1] in GREEK):
        return "<msub>%s<mrow>%s</mrow></msub>" % (_word(found[1]), _word(found[2]))
    if re.fullmatch(r"[a-zA-Z][xyz]?[A-Z]?", name) and len(name) == 2:
        return "<msub>%s%s</msub>" % (_word(name[0]), _word(name[1]))
    return _word(name)


def _number(value):
    text = "%.12g" % value
    if "e" in text:
        mantissa, exponent = text.split("e")
        return "<mn>%s</mn><mo>·</mo><msup><mn>10</mn><mn>%d</mn></msup>" % (mantissa, int(exponent))
    return "<mn>%s</mn>" % text


def _strength(node):
    return STRENGTH.get(node[0], 5)


def _wrapped(node, least, coordinates):
    inner = _mathml(node, coordinates)
    if _strength(node) >= least:
        return inner
    return _bracketed(inner)


def _bracketed(inner, left="(", right=")"):
    """Brackets grow with fractions only."""
    growth = "" if "<mfrac>" in inner else ' stretchy="false"'
    return "<mrow><mo%s>%s</mo>%s<mo%s>%s</mo></mrow>" % (growth, left, inner, growth, right)


def _mathml(node, coordinates):
    kind = node[0]
    if kind == "number":
        return _number(node[1])
    if kind == "name":
        return name_mathml(node[1], coordinates)
    if kind == "negative":
        return "<mo>−</mo>" + _wrapped(node[1], 2, coordinates)
    if kind == "call":
        return _call(node, coordinates)
    a, b = node[1:]
    if kind == "/":
        return "<mfrac><mrow>%s</mrow><mrow>%s</mrow></mfrac>" % (_mathml(a, coordinates), _mathml(b, coordinates))
    if kind == "^":
        return "<msup><mrow>%s</mrow><mrow>%s</mrow></msup>" % (_wrapped(a, 5, coordinates), _mathml(b, coordinates))
    if kind == "*":
        sign = "<mo>·</mo>" if b[0] == "number" else '<mspace width="0.15em"/>'
        return _wrapped(a, 2, coordinates) + sign + _wrapped(b, 2, coordinates)
    sign = "<mo>%s</mo>" % ("+" if kind == "+" else "−")
    return _mathml(a, coordinates) + sign + _wrapped(b, 1 if kind == "+" else 2, coordinates)


def _call(node, coordinates):
    _, name, arguments = node
    inside = "<mo>,</mo>".join(_mathml(argument, coordinates) for argument in arguments)
    if name == "sqrt":
        return "<msqrt>%s</msqrt>" % inside
    if name == "abs":
        return _bracketed(inside, "|", "|")
    # In a scenario lambda(`row`) names a multiplier by its row.
    return "<mrow>%s%s</mrow>" % (_word(name), _bracketed(inside))


def _terms(node, sign="+"):
    """The terms of a sum with their signs, so that a long sum can be broken between them."""
    if node[0] in ("+", "-"):
        return _terms(node[1], sign) + _terms(node[2], node[0] if sign == "+" else "+-"[node[0] == "+"])
    return [(sign, node)]


def equation(left, formula, coordinates=(), right=None, relation="="):
    """HTML of `left = formula` (left: MathML or ""), or of `left = formula relation right`; breaks between terms."""
    node = parse(formula) if isinstance(formula, str) else formula
    parts = []
    for i, (sign, term) in enumerate(_terms(node)):
        inner = _wrapped(term, 2, coordinates)
        if i == 0:
            head = left + "<mo>=</mo>" if left else ""
            parts.append(head + ("<mo>−</mo>" if sign == "-" else "") + inner)
        else:
            parts.append('<mo form="infix">%s</mo>%s' % ("−" if sign == "-" else "+", inner))
    if right is not None:
        parts[-1] += "<mo>%s</mo>%s" % (relation, right)
    return " ".join('<math display="inline"><mrow>%s</mrow></math>' % part for part in parts)
