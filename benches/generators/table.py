"""How results look: lines on the terminal, and Markdown for docs/engine.md.

Strings in, strings out; measures and judges nothing.
"""

import statistics

HEAD = """# What the engine costs

Made by `make bench` (`benches/compare-generators`); do not edit. The figures are of one machine and one day. Only the
ratios say something elsewhere, and only those by round show how far they can be trusted.

CPU is user and system time of the whole process, divided by the requests it made: the client's start is in it, and
with kept connections over TLS one handshake a connection. The tools take turns, every other round backwards; a run
with an error is refused and repeated. *Ratio* is median over median, *by round* the least,
the middle and the greatest ratio of runs of the same round. A target is met by the ratio of medians.
*Stolen* is the share of the machine's time that its host gave to others during the case, *load* the load average
when it began.

With a full handshake per request (`tls-full`) the server offers neither tickets nor a session cache, and each run is
held against its log: new session, version, cipher, group, first request of its connection, for every request.
In `close-1k` ab asks in HTTP/1.0, the others in HTTP/1.1 with `Connection: close`.
"""
RATIO_COLUMNS = ("case", "what", "against", "ratio", "by round", "target", "", "stolen", "load")


def verdict(met):
    return {True: "met", False: "missed", None: ""}[met]


def terminal_ratio(result, target):
    """Lines of a case whose contenders are compared."""
    yield f"  {'':16}{'CPU us per request':^26}{'requests/s':>12}"
    yield f"  {'':16}{'min':>8}{'median':>9}{'max':>9}{'median':>12}"
    for name in result.samples:
        micros = result.micros(name)
        low, middle, high = min(micros), statistics.median(micros), max(micros)
        yield f"  {name:16}{low:8.3f}{middle:9.3f}{high:9.3f}{result.per_second(name):12.0f}"
    if result.ours in result.samples:
        for other in result.samples:
            if other != result.ours:
                yield f"  {result.ours} / {other}: {ratio_words(result, other, target)}"
    for name, why in result.absent.items():
        yield f"  {name}: {why}"


def ratio_words(result, other, target):
    ratios = result.by_round(other)
    judged = ""
    if other == result.judge():
        judged = f"; target {target:.2f}: {verdict(result.of_medians(other) <= target)}"
    return (
        f"{result.of_medians(other):.3f} of medians; by round {min(ratios):.3f} to {max(ratios):.3f}, "
        f"median {statistics.median(ratios):.3f}{judged}"
    )


def terminal_figures(figures):
    for figure in figures:
        target = f"; target {figure.target}: {verdict(figure.met)}" if figure.target else ""
        yield f"  {figure.what}: {figure.value}{target}"


def row(*cells):
    return "| " + " | ".join(str(cell).replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def head_row(*cells):
    return "\n".join([row(*cells), "|" + "---|" * len(cells)])


class Page:
    """Collects the rows of the cases, in their order."""

    def __init__(self, machine):
        # Pairs of words: what, and what it is here.
        self.machine = machine
        self.ratios, self.tools, self.figures, self.missing = [], [], [], []

    def add_ratio(self, case, what, target, result, conditions):
        for name in result.samples:
            micros = result.micros(name)
            self.tools.append(
                row(
                    case, name, f"{min(micros):.2f}", f"{statistics.median(micros):.2f}", f"{max(micros):.2f}",
                    f"{result.per_second(name):.0f}",
                )
            )  # fmt: skip
        for name, why in result.absent.items():
            self.missing.append(f"- {case}, {name}: {why}".replace("\n", " "))
        if result.ours not in result.samples:
            return
        for other in (name for name in result.samples if name != result.ours):
            ratios = result.by_round(other)
            judged = other == result.judge()
            met = verdict(result.of_medians(other) <= target) if judged else ""
            self.ratios.append(
                row(
                    case, what, other, f"{result.of_medians(other):.3f}",
                    f"{min(ratios):.2f} {statistics.median(ratios):.2f} {max(ratios):.2f}",
                    f"{target:.2f}" if judged else "", met, *conditions,
                )
            )  # fmt: skip

    def add_figures(self, case, figures, conditions):
        for figure in figures:
            self.figures.append(row(case, figure.what, figure.value, figure.target, verdict(figure.met), *conditions))

    def add_missing(self, case, why):
        self.missing.append(f"- {case}: {why}".replace("\n", " "))

    def text(self):
        parts = [HEAD, head_row("machine", ""), *(row(*pair) for pair in self.machine)]
        for title, columns, rows in (
            ("CPU per request, compared", RATIO_COLUMNS, self.ratios),
            ("CPU per request, us", ("case", "tool", "least", "median", "most", "requests/s"), self.tools),
            ("Other figures", ("case", "what", "value", "target", "", "stolen", "load"), self.figures),
        ):
            if rows:
                parts += [f"\n## {title}\n", head_row(*columns), *rows]
        if self.missing:
            parts += ["\n## Not measured\n", *self.missing]
        return "\n".join(parts) + "\n"
