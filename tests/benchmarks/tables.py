"""Plain tables for a terminal of 100 columns."""

import statistics


def table(headings, rows):
    """Rows of strings under headings: the first column to the left, the others to the right."""
    widths = [max(len(str(row[i])) for row in [headings, *rows]) for i in range(len(headings))]

    def line(row):
        cells = [str(row[0]).ljust(widths[0])]
        cells += [str(cell).rjust(width) for cell, width in zip(row[1:], widths[1:])]
        return "  ".join(cells).rstrip()

    return "\n".join([line(headings), "  ".join("-" * w for w in widths), *map(line, rows)])


def spread(values, digits=1):
    """Median (lowest-highest)."""
    if not values:
        return "-"
    low, high = min(values), max(values)
    return f"{statistics.median(values):.{digits}f} ({low:.{digits}f}-{high:.{digits}f})"


def ratios(ours, theirs):
    """Ours over theirs, run by run: the runs alternate, so that both saw the same machine."""
    return [a / b for a, b in zip(ours, theirs) if b]
