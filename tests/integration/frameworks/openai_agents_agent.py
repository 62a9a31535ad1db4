"""
The trip desk under openai-agents, whose model says what a script says.
"""

import ast
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from agents.items import TResponseStreamEvent
from agents.models.interface import Model
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor

from agents import Agent, ModelResponse, Runner, Usage, function_tool
from tests.integration.frameworks.trip_desk import DeskTool, Told, Turn


def instrument() -> None:
    """
    Spans as OpenInference writes them, instead of sending traces to the vendor.
    """
    OpenAIAgentsInstrumentor().instrument()


def run(tools: Sequence[DeskTool], turns: Sequence[Turn]) -> list[Told]:
    """
    One run of an agent; what its model was told of each call.
    """
    model = ScriptedModel(turns)
    agent = Agent(name="trip_desk", model=model, tools=[function_tool(tool) for tool in tools])
    Runner.run_sync(agent, "Plan my trip.", max_turns=len(turns) + 1)
    return model.told


class ScriptedModel(Model):
    """
    Asks for *turns*, one at a time.
    """

    def __init__(self, turns: Sequence[Turn]) -> None:
        self.told: list[Told] = []
        self._turns = turns

    async def get_response(self, *_: Any, **given: Any) -> ModelResponse:
        """
        As `Model.get_response`: the *input* is what was said so far.
        """
        said: str | list[Mapping[str, object]] = given["input"]
        items = [] if isinstance(said, str) else said
        outputs = [item["output"] for item in items if item.get("type") == "function_call_output"]
        # what is no text is told as its repr
        self.told = [ast.literal_eval(str(output)) for output in outputs]
        output = self._asking() if len(outputs) < len(self._turns) else _text("done")
        return ModelResponse(output=[output], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> AsyncIterator[TResponseStreamEvent]:
        """
        As `Model.stream_response`, which nobody calls here.
        """
        raise NotImplementedError

    def _asking(self) -> ResponseFunctionToolCall:
        turn = self._turns[len(self.told)]
        return ResponseFunctionToolCall(
            arguments=json.dumps(turn.arguments),
            call_id=f"call-{len(self.told)}",
            name=turn.tool,
            type="function_call",
        )


def _text(text: str) -> ResponseOutputMessage:
    content = ResponseOutputText(annotations=[], text=text, type="output_text")
    return ResponseOutputMessage(id="message", content=[content], role="assistant", status="completed", type="message")
