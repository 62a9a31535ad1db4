"""
Tool spans → units: the spans by which one execution of a tool was traced, from the outermost inwards.

Two instrumentations, or a client and a server, each trace the same execution. A tool span anywhere below another of
the same tool is the same call, unless an agent run lies in between (an agent that is a tool may call that tool). An
MCP server's span often lies beside its client's instead, so such spans are paired by time: nothing else links them
but `jsonrpc.request.id`, which one side may leave out and every session counts anew.

Nearly every unit is a single span, so traces in which no tool span lies below another and no server speaks leave at
the first line.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeAlias

from toolspan.ancestry import Place, ToolSpan, Trace

#: The tool spans above a span that belong to its call, nearest first, by span id.
Chains: TypeAlias = dict[bytes, list[ToolSpan]]


def find_units(trace: Trace) -> list[list[ToolSpan]]:
    """
    The units of *trace*, each from the outermost span inwards; every tool span is in exactly one.
    """
    tools, above = trace.tools, trace.above
    if all(above(span).tool is None and call.side != "server" for span, call in tools):
        return [[tool_span] for tool_span in tools]
    chains = {span.span_id: _same_call_above(call.tool, above(span)) for span, call in tools}
    nesting = _Nesting(chains)
    for server, client in _pair_servers(tools, chains):
        nesting.put_below(server, client)
    return nesting.units(tools)


def _same_call_above(tool: str, place: Place | None) -> list[ToolSpan]:
    chain: list[ToolSpan] = []
    while place is not None and place.tool is not None:
        # a place that only names a step shares the tool span of the place above it
        if place.tool[1].tool == tool and (not chain or chain[-1] is not place.tool):
            chain.append(place.tool)
        place = place.outer
    return chain


class _Nesting:
    """
    Which unit each tool span is in, and how far inside.
    """

    __slots__ = ("_chains", "_shifts", "_unit_depths", "_unit_roots")

    def __init__(self, chains: Chains) -> None:
        self._chains = chains
        self._shifts: dict[bytes, int] = {}
        self._unit_roots: dict[bytes, bytes] = {}
        self._unit_depths: dict[bytes, int] = {}

    def put_below(self, server: ToolSpan, client: ToolSpan) -> None:
        """
        Make *server*, with all that is below it, part of the unit of *client*.
        """
        root, depth = self._locate(client[0].span_id)
        server_id = server[0].span_id
        server_root, server_depth = self._locate(server_id)
        if server_root != root:
            self._unit_roots[server_root] = root
            self._unit_depths[server_root] = depth + 1
        elif server_depth <= depth:
            self._shifts[server_id] = depth + 1 - server_depth

    def units(self, tools: Iterable[ToolSpan]) -> list[list[ToolSpan]]:
        units: dict[bytes, list[_Member]] = {}
        for tool_span in tools:
            span = tool_span[0]
            root, depth = self._locate(span.span_id)
            units.setdefault(root, []).append(_Member(depth, span.start_ns, span.span_id, tool_span))
        return [[member.tool_span for member in sorted(unit)] for unit in units.values()]

    def _locate(self, span_id: bytes) -> tuple[bytes, int]:
        chain = self._chains[span_id]
        root = chain[-1][0].span_id if chain else span_id
        depth = len(chain)
        if self._shifts:
            depth += self._shifts.get(span_id, 0)
            depth += sum(self._shifts.get(outer[0].span_id, 0) for outer in chain)
        while (outer_root := self._unit_roots.get(root)) is not None:
            depth += self._unit_depths[root]
            root = outer_root
        return root, depth


class _Member(NamedTuple):
    """
    A span of a unit, its fields in the order of the walk inwards; *depth* counts the spans of the unit above it.
    """

    depth: int
    start_ns: int
    span_id: bytes
    tool_span: ToolSpan


def _pair_servers(tools: Iterable[ToolSpan], chains: Chains) -> list[tuple[ToolSpan, ToolSpan]]:
    """
    Each MCP server span with its client's, where there is one and it does not lie above already.
    """
    servers: dict[str, list[ToolSpan]] = {}
    clients: dict[str, list[ToolSpan]] = {}
    free = _FreeClients(chains)
    for tool_span in sorted(tools, key=_by_start):
        span, call = tool_span
        if call.side == "client":
            clients.setdefault(call.tool, []).append(tool_span)
        elif call.side == "server":
            client = next((outer for outer in chains[span.span_id] if outer[1].side == "client"), None)
            if client is None:
                servers.setdefault(call.tool, []).append(tool_span)
            else:
                free.take(client)
    pairs: list[tuple[ToolSpan, ToolSpan]] = []
    for tool, waiting in servers.items():
        pairs.extend(_pair(waiting, clients.get(tool, []), free))
    return pairs


class _FreeClients:
    """
    The client spans that no server has taken; one that lies above or below a taken one traces the same request.
    """

    __slots__ = ("_above_taken", "_chains", "_taken")

    def __init__(self, chains: Chains) -> None:
        self._chains = chains
        self._taken: set[bytes] = set()
        self._above_taken: set[bytes] = set()

    def take(self, client: ToolSpan) -> None:
        span_id = client[0].span_id
        self._taken.add(span_id)
        self._above_taken.update(self._above(client))

    def has(self, client: ToolSpan) -> bool:
        span_id, taken = client[0].span_id, self._taken
        if span_id in taken or span_id in self._above_taken:
            return False
        return taken.isdisjoint(self._above(client))

    def sender(self, server: ToolSpan, running: list[ToolSpan]) -> ToolSpan | None:
        """
        Of *running*, the client that sent the request of *server*: the latest with its id, else the latest where one
        of the two has no id. A client below the server sent another one, on the server's behalf.
        """
        server_id, request_id = server[0].span_id, server[1].request_id
        latest = None
        for client in reversed(running):
            asked = client[1].request_id
            if (request_id and asked and asked != request_id) or server_id in self._above(client):
                continue
            if request_id and asked:
                return client
            latest = latest or client
        return latest

    def _above(self, client: ToolSpan) -> list[bytes]:
        return [outer[0].span_id for outer in self._chains[client[0].span_id]]


def _pair(servers: list[ToolSpan], clients: list[ToolSpan], free: _FreeClients) -> Iterator[tuple[ToolSpan, ToolSpan]]:
    """
    The pairs among *servers* and *clients* of one tool, both in order of start: one sweep over time.
    """
    running: list[ToolSpan] = []
    ahead = iter(clients)
    coming = next(ahead, None)
    for server in servers:
        start_ns = server[0].start_ns
        while coming is not None and coming[0].start_ns <= start_ns:
            running.append(coming)
            coming = next(ahead, None)
        running = [client for client in running if client[0].end_ns >= start_ns and free.has(client)]
        client = free.sender(server, running)
        if client is not None:
            free.take(client)
            yield server, client


def _by_start(tool_span: ToolSpan) -> tuple[int, bytes]:
    return tool_span[0].start_ns, tool_span[0].span_id
