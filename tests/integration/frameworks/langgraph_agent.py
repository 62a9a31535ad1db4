"""
The trip desk under LangGraph, whose model says what a script says.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any, cast

from langchain_core.messages import AIMessage, ToolCall, ToolMessage
from langgraph.graph import START, MessagesState, StateGraph  # pyright: ignore[reportMissingTypeStubs]  # is typed, without a marker
from langgraph.prebuilt import ToolNode, tools_condition
from openinference.instrumentation.langchain import LangChainInstrumentor

from tests.integration.frameworks.trip_desk import DeskTool, Told, Turn


def instrument() -> None:
    """
    Spans as OpenInference writes them.
    """
    LangChainInstrumentor().instrument()


def run(tools: Sequence[DeskTool], turns: Sequence[Turn]) -> list[Told]:
    """
    One run of an agent; what its model was told of each call.
    """
    # the builder's types leave type variables of its own open
    graph: Any = StateGraph(MessagesState)
    graph.add_node("model", scripted_model(turns)).add_node("tools", ToolNode(list(tools)))
    graph.add_edge(START, "model").add_conditional_edges("model", tools_condition).add_edge("tools", "model")
    agent = graph.compile(name="trip_agent")
    state = agent.invoke({"messages": [("user", "Plan my trip.")]}, {"recursion_limit": 3 * len(turns)})
    return _told(cast("MessagesState", state))


def scripted_model(turns: Sequence[Turn]) -> Callable[[MessagesState], MessagesState]:
    """
    A node that asks for *turns*, one at a time.
    """

    def model(state: MessagesState) -> MessagesState:
        return MessagesState(messages=[_say(turns, len(_told(state)))])

    return model


def _say(turns: Sequence[Turn], said: int) -> AIMessage:
    if said == len(turns):
        return AIMessage("done")
    turn = turns[said]
    return AIMessage("", tool_calls=[ToolCall(name=turn.tool, args=dict(turn.arguments), id=f"call-{said}")])


def _told(state: MessagesState) -> list[Told]:
    return [json.loads(str(message.content)) for message in state["messages"] if isinstance(message, ToolMessage)]
