"""
The trip desk under pydantic-ai, whose model says what a script says.
"""

from collections.abc import Sequence
from typing import cast

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.instrumented import InstrumentationSettings

from tests.integration.frameworks.trip_desk import DeskTool, Told, Turn


def instrument() -> None:
    """
    Spans as the framework writes them, contents included.
    """
    Agent.instrument_all(InstrumentationSettings(include_content=True))


def run(tools: Sequence[DeskTool], turns: Sequence[Turn]) -> list[Told]:
    """
    One run of an agent; what its model was told of each call.
    """
    told: list[Told] = []
    Agent(scripted_model(turns, told), name="trip_desk", tools=tools).run_sync("Plan my trip.")
    return told


def scripted_model(turns: Sequence[Turn], told: list[Told]) -> FunctionModel:
    """
    A model that asks for *turns*, one at a time, and adds to *told* what it is told of each.
    """

    def answer(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        returned = [part for part in messages[-1].parts if isinstance(part, ToolReturnPart)]
        told.extend(cast("Told", part.content) for part in returned)
        if len(told) == len(turns):
            return ModelResponse([TextPart("done")])
        turn = turns[len(told)]
        return ModelResponse([ToolCallPart(turn.tool, dict(turn.arguments), tool_call_id=f"call-{len(told)}")])

    return FunctionModel(answer)
