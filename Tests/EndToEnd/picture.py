"""The picture of the README: rows of a terminal as an SVG file."""
from html import escape

COLUMN, ROW, MARGIN = 8.4, 20, 18


def svg(lines, columns):
    """Rows that begin with a prompt are set off from what the programs print."""
    width, height = columns * COLUMN + 2 * MARGIN, len(lines) * ROW + 2 * MARGIN
    rows = []
    for number, line in enumerate(lines):
        colour = "#8be9c0" if line.startswith("laptop$") else "#e6e6e6"
        rows.append(f'<text x="{MARGIN}" y="{MARGIN + (number + 0.75) * ROW:g}" fill="{colour}">{escape(line)}</text>')
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" role="img">',
        "<title>A session in a terminal: tasks in a list, one as a file, and the state of the sync</title>",
        '<rect width="100%" height="100%" rx="8" fill="#1d2430"/>',
        '<g font-family="ui-monospace, DejaVu Sans Mono, Menlo, monospace" font-size="14" xml:space="preserve">',
        *rows, "</g>", "</svg>", ""])
