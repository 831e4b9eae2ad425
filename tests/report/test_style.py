"""Colours are readable: by their contrast, in light and dark."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

STYLE = files("pme_parquet._report").joinpath("style.css").read_text(encoding="utf-8")
BLOCKS = re.findall(r":root {(.*?)}", STYLE, re.DOTALL)
LIGHT, DARK = (dict(re.findall(r"--([\w-]+): (#\w{6})", block)) for block in BLOCKS)
# WCAG 2, level AA, for text.
ENOUGH = 4.5
TEXTS = [("ink", "back"), ("soft", "back"), ("ink", "panel"), ("good", "panel"), ("bad", "panel"), ("open", "panel")]


def luminance(colour: str) -> float:
    def linear(value: int) -> float:
        share = value / 255
        return share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4

    red, green, blue = (linear(int(colour[at : at + 2], 16)) for at in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("scheme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize(("text", "back"), TEXTS)
def test_text_has_enough_contrast(scheme: dict[str, str], text: str, back: str) -> None:
    light, dark = sorted((luminance(scheme[text]), luminance(scheme[back])), reverse=True)
    assert (light + 0.05) / (dark + 0.05) >= ENOUGH


def test_both_schemes_have_every_colour() -> None:
    assert set(LIGHT) == set(DARK)
    assert set(re.findall(r"var\(--([\w-]+)\)", STYLE)) <= set(LIGHT)
