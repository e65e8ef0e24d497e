"""Tests reading TLA+ values as TLC prints them."""

from __future__ import annotations

import pytest

from harness.tla.notation import Mapping, ModelValue, TlaValueError, parse, show

VALUES = [
    ("-3", -3),
    ("TRUE", True),
    ("FALSE", False),
    ('"with \\"quotes\\" and \\\\"', 'with "quotes" and \\'),
    ("{}", frozenset()),
    ("<< >>", ()),
    ("{3, 1, 2}", frozenset({1, 2, 3})),
    ("2..4", frozenset({2, 3, 4})),
    ("<<1, <<>>, {TRUE}>>", (1, (), frozenset({True}))),
    ('[kind |-> "Open", gone |-> {1}]', Mapping(kind="Open", gone=frozenset({1}))),
    ("(0 :> 5 @@ 1 :> 6)", Mapping({0: 5, 1: 6})),
    ('(c1 :> "a" @@ c2 :> "b")', Mapping({ModelValue("c1"): "a", ModelValue("c2"): "b"})),
    ("{[a |-> 1], [a |-> 2]}", frozenset({Mapping(a=1), Mapping(a=2)})),
]


@pytest.mark.parametrize(("text", "value"), VALUES, ids=[text for text, _ in VALUES])
def test_values_are_read(text: str, value: object) -> None:
    assert parse(text) == value
    assert type(parse(text)) is type(value)


@pytest.mark.parametrize("text", [text for text, _ in VALUES])
def test_what_is_shown_reads_the_same(text: str) -> None:
    assert parse(show(parse(text))) == parse(text)


def test_line_breaks_do_not_matter() -> None:
    assert parse("[ a |->\n      { 1,\n 2 },\n  b |-> FALSE ]") == Mapping(a=frozenset({1, 2}), b=False)


def test_a_model_value_is_not_a_string_of_that_name() -> None:
    assert isinstance(parse("c1"), ModelValue)
    assert not isinstance(parse('"c1"'), ModelValue)


@pytest.mark.parametrize("text", ["", "[a |-> ]", "{1, 2", "<<1>> 2", "@", "(1 :> )", "[a = 1]"])
def test_what_is_no_value_is_refused(text: str) -> None:
    with pytest.raises(TlaValueError):
        parse(text)
