"""
Tool spans → units: the spans by which one execution of a tool was traced, from the outermost inwards.

Two instrumentations, or a client and a server, each trace the same execution. A tool span anywhere below another of
the same tool is the same call, unless an agent run lies in between (an agent that is a tool may call that tool). An
MCP server's span often lies beside its client's instead; `pairs` finds those.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from toolspan.derivation.ancestry import ToolSpan, Trace
from toolspan.derivation.nests import Node, nest
from toolspan.derivation.pairs import pair_servers

#: More places than a trace that fits into memory has tool spans.
_LAST_PLACE: Final = 1 << 32


def find_units(trace: Trace) -> list[list[ToolSpan]]:
    """
    The units of *trace*, each from the outermost span inwards; every tool span is in exactly one.
    """
    nodes = nest(trace)
    nesting = _Nesting()
    for server, client in pair_servers(nodes):
        nesting.put_below(server, client)
    return nesting.units(nodes)


class _Nesting:
    """
    Which unit each tool span is in, and how far inside.
    """

    __slots__ = ("_joined", "_shifts")

    def __init__(self) -> None:
        self._shifts: dict[str, _Shifts] = {}
        # the outermost span of a unit that was put below another: that one's outermost, and how far inside it is
        self._joined: dict[Node, tuple[Node, int]] = {}

    def put_below(self, server: Node, client: Node) -> None:
        """
        Make *server*, with all that is below it, part of the unit of *client*.
        """
        root, depth = self._locate(client)
        server_root, server_depth = self._locate(server)
        if server_root is not root:
            self._joined[server_root] = root, depth + 1
        elif server_depth <= depth:
            shifts = self._shifts.setdefault(server.tool_span[1].tool, _Shifts())
            shifts.add(server.number, server.last, depth + 1 - server_depth)

    def units(self, nodes: Iterable[Node]) -> list[list[ToolSpan]]:
        units: dict[Node, list[_Member]] = {}
        for node in nodes:
            span = node.tool_span[0]
            root, depth = self._locate(node)
            units.setdefault(root, []).append(_Member(depth, span.start_ns, span.span_id, node.tool_span))
        return [[member.tool_span for member in sorted(unit)] for unit in units.values()]

    def _locate(self, node: Node) -> tuple[Node, int]:
        root, depth = node.root, node.depth
        if self._shifts and (shifts := self._shifts.get(node.tool_span[1].tool)) is not None:
            depth += shifts.at(node.number)
        if root in self._joined:
            root, inside = self._outermost(root)
            depth += inside
        return root, depth

    def _outermost(self, root: Node) -> tuple[Node, int]:
        """
        The outermost span around *root*, and how far inside *root* is; found at once when asked again.
        """
        passed: list[Node] = []
        while (joined := self._joined.get(root)) is not None:
            passed.append(root)
            root = joined[0]
        inside = 0
        for node in reversed(passed):
            inside += self._joined[node][1]
            self._joined[node] = root, inside
        return root, inside


class _Shifts:
    """
    How much further inside spans of one tool are than their own ancestors tell, by number.

    A Fenwick tree with entries only where there is something to add: adding to a range and asking for one number
    take a step per binary digit, however deep the spans are nested.
    """

    __slots__ = ("_added",)

    def __init__(self) -> None:
        self._added: dict[int, int] = {}

    def add(self, first: int, last: int, shift: int) -> None:
        """
        Move the spans numbered *first* to *last* inwards by *shift*.
        """
        for start, change in ((first + 1, shift), (last + 2, -shift)):
            place = start
            while place <= _LAST_PLACE:
                self._added[place] = self._added.get(place, 0) + change
                place += place & -place

    def at(self, number: int) -> int:
        """
        How far the span of *number* is moved inwards.
        """
        place, shift = number + 1, 0
        while place:
            shift += self._added.get(place, 0)
            place &= place - 1
        return shift


class _Member(NamedTuple):
    """
    A span of a unit, its fields in the order of the walk inwards; *depth* counts the spans of the unit above it.
    """

    depth: int
    start_ns: int
    span_id: bytes
    tool_span: ToolSpan
