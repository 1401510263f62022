"""A tool in the loop: questions that a calculator answers, on a format with reasoning and tool calls.

    env = Calculator("What is 12 * 7 + 5?", 89)
    episode = play(env, renderer, tokenizer, sample, budget=512)      # sample(prompt, room) -> ids, logprobs
    episode.reward, episode.ending, episode.trajectory.datum(episode.reward)

Every call of a turn is answered, in order and in one block; a call that cannot be read, an unknown tool and bad
arithmetic are answered with an error that the model can react to. A completion without a stop token ends the episode.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import templc
from templc.runtime.parsed import Parsed
from templc.runtime.trajectory import Trajectory

Ending: TypeAlias = Literal["answered", "truncated", "budget"]
Sampler: TypeAlias = Callable[[Sequence[int], int], tuple[list[int], list[float]]]

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "calculate",
            "description": "Work out an expression of numbers with + - * / and parentheses.",
            "parameters": {
                "type": "object",
                "properties": {"expression": {"type": "string"}},
                "required": ["expression"],
            },
        },
    }
]
_OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
}  # fmt: skip
_LONGEST = 200


def calculate(expression: object) -> str:
    """The value of an expression as text, or `error: ...`; numbers, + - * / and parentheses, nothing else."""
    if not isinstance(expression, str) or len(expression) > _LONGEST:
        return "error: give `expression` as a short text"
    try:
        value = _value(ast.parse(expression.strip(), mode="eval").body)
        return str(int(value)) if value == int(value) else str(value)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return "error: only numbers with + - * / and parentheses can be worked out"
    except (ZeroDivisionError, OverflowError) as error:
        return f"error: {error}"


def _value(node: ast.expr) -> float:
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return number
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -_value(inner)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_value(left), _value(right))
    raise ValueError("not arithmetic")


@dataclass(frozen=True, slots=True)
class Calculator:
    """A question and the number that answers it."""

    question: str
    answer: int

    def results(self, parsed: Parsed) -> list[dict[str, str]]:
        """The tool messages that a turn is answered with; none where it calls nothing."""
        answers = [_answered(call["function"]) for call in parsed.message.get("tool_calls", ())]
        answers += [f"error: the call cannot be read: {issue.message}" for issue in parsed.errors]
        return [{"role": "tool", "content": text} for text in answers]

    def reward(self, parsed: Parsed) -> float:
        """1.0 where the last word of the final answer is the number."""
        words = str(parsed.message.get("content") or "").split()
        return float(bool(words) and words[-1].rstrip(".") == str(self.answer))


def _answered(function: Any) -> str:
    if function["name"] != "calculate":
        return f"error: there is no tool {function['name']}, only calculate"
    arguments = function["arguments"]
    known = isinstance(arguments, dict) and arguments.keys() == {"expression"}
    return calculate(arguments["expression"]) if known else "error: give `expression` and no more"


@dataclass(frozen=True, slots=True)
class Played:
    """An episode. calls: how many results the model was given."""

    trajectory: Trajectory
    reward: float
    ending: Ending
    calls: int


def play(
    env: Calculator,
    renderer: templc.Renderer,
    tokenizer: object,
    sample: Sampler,
    *,
    budget: int,
) -> Played:
    """Sample turns until the model answers, is cut off, or has used `budget` tokens, prompt included."""
    trajectory = renderer.start([{"role": "user", "content": env.question}], tokenizer, tools=TOOLS)
    calls = 0
    while (room := budget - len(trajectory)) > 0:
        parsed = trajectory.sampled(*sample(trajectory.tokens, room))
        if not trajectory.turns[-1].closed:
            return Played(trajectory, 0.0, "truncated", calls)
        results = env.results(parsed)
        if not results:
            return Played(trajectory, env.reward(parsed), "answered", calls)
        trajectory.add(results)
        calls += len(results)
    return Played(trajectory, 0.0, "budget", calls)
