"""
MCP server spans → the client spans that sent their requests, where they lie side by side.

Nothing links them but time and `jsonrpc.request.id`, which one side may leave out and every session counts anew. So
pairs by id are made first, lest a server that names none takes the client of one that does; what is left is paired
by time. Each is one sweep over time, the latest client that still waits on top of a stack.
"""

from collections.abc import Iterable, Iterator, Sequence

from toolspan.derivation.nests import Node


def pair_servers(nodes: Iterable[Node]) -> list[tuple[Node, Node]]:
    """
    Each server among *nodes* with its client, where there is one and it does not lie around it; in order of start.
    """
    servers: dict[str, list[Node]] = {}
    clients: dict[str, list[Node]] = {}
    taken = _Taken()
    for node in sorted((node for node in nodes if node.tool_span[1].side), key=_by_start):
        call = node.tool_span[1]
        if call.side == "client":
            clients.setdefault(call.tool, []).append(node)
        elif node.client is not None:
            taken.add(node.client)
        else:
            servers.setdefault(call.tool, []).append(node)
    pairs: list[tuple[Node, Node]] = []
    for tool, waiting in servers.items():
        if tool in clients:
            pairs.extend(_pair(waiting, clients[tool], taken))
    return sorted(pairs, key=lambda pair: _by_start(pair[0]))


def _pair(servers: Sequence[Node], clients: Sequence[Node], taken: "_Taken") -> list[tuple[Node, Node]]:
    """
    The pairs among *servers* and *clients* of one tool, both in order of start.
    """
    named = [(server, _request_id(server)) for server in servers if _request_id(server)]
    pairs = list(_sweep(named, clients, taken))
    paired = {server for server, _ in pairs}
    # a request that names its id was sent by no client that names another
    rest = [(server, "" if _request_id(server) else None) for server in servers if server not in paired]
    pairs.extend(_sweep(rest, clients, taken))
    return pairs


def _sweep(
    asking: Iterable[tuple[Node, str | None]], clients: Iterable[Node], taken: "_Taken"
) -> Iterator[tuple[Node, Node]]:
    """
    Servers with the latest free client that had started.

    Args:
        asking: each server, with the request id of the clients it may take; None for any.
        clients: the clients, those not *taken* being free; in order of start, as the servers are.
    """
    started: dict[str | None, list[Node]] = {None: []}
    ahead = iter(clients)
    coming = next(ahead, None)
    for server, request_id in asking:
        while coming is not None and _start_ns(coming) <= _start_ns(server):
            started[None].append(coming)
            started.setdefault(_request_id(coming), []).append(coming)
            coming = next(ahead, None)
        client = _latest(started.get(request_id, []), server, taken)
        if client is not None:
            taken.add(client)
            yield server, client


def _latest(clients: list[Node], server: Node, taken: "_Taken") -> Node | None:
    """
    The last of *clients* that could have sent the request of *server*; those that are over or taken are dropped.
    """
    passed: list[Node] = []
    found = None
    while clients and found is None:
        client = clients.pop()
        if client.tool_span[0].end_ns < _start_ns(server) or taken.has(client):
            continue
        passed.append(client)
        # a client within the server sent another request, on the server's behalf
        found = None if client.is_within(server) else client
    clients.extend(reversed(passed))
    return found


class _Taken:
    """
    The clients that a server has taken; one around or within such a client traces the same request.
    """

    __slots__ = ("_around", "_within")

    def __init__(self) -> None:
        self._around: set[Node] = set()
        self._within: set[Node] = set()

    def add(self, client: Node) -> None:
        # what lies around or within a marked span is marked already, so no span is marked twice
        outer: Node | None = client
        while outer is not None and outer not in self._around:
            self._around.add(outer)
            outer = outer.outer
        ahead = [client]
        while ahead:
            node = ahead.pop()
            if node not in self._within:
                self._within.add(node)
                ahead.extend(node.inner)

    def has(self, client: Node) -> bool:
        return client in self._around or client in self._within


def _request_id(node: Node) -> str:
    return node.tool_span[1].request_id


def _start_ns(node: Node) -> int:
    return node.tool_span[0].start_ns


def _by_start(node: Node) -> tuple[int, bytes]:
    return node.tool_span[0].start_ns, node.tool_span[0].span_id
