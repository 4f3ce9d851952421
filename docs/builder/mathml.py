"""Formulas as MathML, which browsers draw themselves: no script, nothing from the internet."""

import re

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml


def _inline(writer, node) -> None:
    writer.body.append(tex2mathml(node.astext()))
    raise nodes.SkipNode


def _block(writer, node) -> None:
    formula = tex2mathml(node.astext(), as_block=True)
    writer.body.append(f'<div class="formula">{re.sub(chr(10), " ", formula)}</div>\n')
    raise nodes.SkipNode


def setup(app) -> None:
    """Make it the renderer "mathml" of formulas."""
    app.add_html_math_renderer("mathml", inline_renderers=(_inline, None), block_renderers=(_block, None))
