"""
Tool spans → units: the spans by which one execution of a tool was traced, from the outermost inwards.

Two instrumentations, or a client and a server, each trace the same execution. A tool span anywhere below another of
the same tool is the same call, unless an agent run lies in between (an agent that is a tool may call that tool). An
MCP server's span often lies beside its client's instead, so such spans are paired by time: nothing else links them
but `jsonrpc.request.id`, which one side may leave out and every session counts anew.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeAlias

from toolspan.derivation.ancestry import Place, ToolSpan, Trace

#: The tool spans above a span that belong to its call, nearest first, by span id.
Chains: TypeAlias = dict[bytes, list[ToolSpan]]


def find_units(trace: Trace) -> list[list[ToolSpan]]:
    """
    The units of *trace*, each from the outermost span inwards; every tool span is in exactly one.
    """
    tools = trace.tools
    chains = {span.span_id: _same_call_above(call.tool, trace.above(span)) for span, call in tools}
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
    taken = _Taken(chains)
    for tool_span in sorted(tools, key=_by_start):
        span, call = tool_span
        if call.side == "client":
            clients.setdefault(call.tool, []).append(tool_span)
        elif call.side == "server":
            client = next((outer for outer in chains[span.span_id] if outer[1].side == "client"), None)
            if client is None:
                servers.setdefault(call.tool, []).append(tool_span)
            else:
                taken.add(client)
    pairs: list[tuple[ToolSpan, ToolSpan]] = []
    for tool, waiting in servers.items():
        pairs.extend(_pair(waiting, clients.get(tool, []), taken))
    return pairs


def _pair(servers: list[ToolSpan], clients: list[ToolSpan], taken: "_Taken") -> Iterator[tuple[ToolSpan, ToolSpan]]:
    """
    The pairs among *servers* and *clients* of one tool, both in order of start: one sweep over time.
    """
    started = _StartedClients(taken)
    ahead = iter(clients)
    coming = next(ahead, None)
    for server in servers:
        while coming is not None and coming[0].start_ns <= server[0].start_ns:
            started.add(coming)
            coming = next(ahead, None)
        client = started.sender(server)
        if client is not None:
            taken.add(client)
            yield server, client


class _Taken:
    """
    The client spans that a server has taken; one that lies above or below such a span traces the same request.
    """

    __slots__ = ("_above", "_chains", "_ids")

    def __init__(self, chains: Chains) -> None:
        self._chains = chains
        self._ids: set[bytes] = set()
        self._above: set[bytes] = set()

    def add(self, client: ToolSpan) -> None:
        self._ids.add(client[0].span_id)
        self._above.update(self.above(client))

    def has(self, client: ToolSpan) -> bool:
        span_id = client[0].span_id
        return span_id in self._ids or span_id in self._above or not self._ids.isdisjoint(self.above(client))

    def above(self, client: ToolSpan) -> list[bytes]:
        return [outer[0].span_id for outer in self._chains[client[0].span_id]]


class _StartedClients:
    """
    The clients of one tool that have started, in stacks: what is over or taken is dropped when it comes up.
    """

    __slots__ = ("_all", "_by_request", "_taken")

    def __init__(self, taken: _Taken) -> None:
        self._taken = taken
        self._all: list[ToolSpan] = []
        self._by_request: dict[str, list[ToolSpan]] = {}

    def add(self, client: ToolSpan) -> None:
        self._all.append(client)
        self._by_request.setdefault(client[1].request_id, []).append(client)

    def sender(self, server: ToolSpan) -> ToolSpan | None:
        """
        The client that sent the request of *server*: the latest with its id, else the latest where one has no id.
        """
        request_id = server[1].request_id
        if not request_id:
            return self._latest(self._all, server)
        by_request = self._by_request
        return self._latest(by_request.get(request_id, []), server) or self._latest(by_request.get("", []), server)

    def _latest(self, clients: list[ToolSpan], server: ToolSpan) -> ToolSpan | None:
        start_ns, server_id = server[0].start_ns, server[0].span_id
        passed: list[ToolSpan] = []
        found = None
        while clients and found is None:
            client = clients.pop()
            if client[0].end_ns < start_ns or self._taken.has(client):
                continue
            passed.append(client)
            # a client below the server sent another request, on the server's behalf
            found = None if server_id in self._taken.above(client) else client
        clients.extend(reversed(passed))
        return found


def _by_start(tool_span: ToolSpan) -> tuple[int, bytes]:
    return tool_span[0].start_ns, tool_span[0].span_id
