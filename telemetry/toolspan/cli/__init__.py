"""
The command line: `toolspan COMMAND`.

Exit codes: 0 done, 1 a check failed, 2 usage or data wrong, 70 a fault of toolspan itself, 130 interrupted, 141 the
reader of a pipe went away (as of any program that a broken pipe stops), 143 terminated. An error is one line on
standard error that says what was wrong and what to do, after a line for each reason for which input was not read; a
traceback appears only with `--debug`.

A command's module is imported when the command runs: `toolspan --help` takes 0.05 s, which is Python and click.
"""

import errno
import os
import sys
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from io import TextIOWrapper
from types import MappingProxyType, TracebackType
from typing import Final, NoReturn, TextIO, cast

import click
from click.shell_completion import CompletionItem, shell_complete

from toolspan._version import __version__
from toolspan.cli._options import Flags, debug_option
from toolspan.cli._text import one_line, sentence
from toolspan.errors import ToolspanError

#: What each command does, in the order of `--help`. Its module in this package and the function in it have its name.
COMMANDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "report": "Retries, validation recovery and escalations of each tool, the one that hurts most first.",
        "quality": "Whether the numbers and the tools that fail can be believed.",
        "calls": "One record per tool call, in order of start.",
        "doctor": "Why there are no numbers, or what weakens the ones there are.",
        "ingest": "Add spans to a store, which the other commands read.",
        "collect": "Receive spans over OTLP, keep them in a store, and answer for it.",
        "dashboard": "Show in a browser which tool is hurting, why, and what to change.",
        "up": "Receive spans and show what they say: collector and dashboard in one.",
        "check": "Whether the targets are kept; exit 1 when one is broken.",
        "alerts": "Print the alerts as a rule file for Prometheus.",
        "prune": "Delete old tasks from a store.",
        "snapshot": "Copy a store to a file while it is in use.",
        "lint": "Whether envelopes that tools wrote down keep the rules; exit 1 when one breaks any.",
        "codes": "Whether the codes of errors still mean what they meant.",
        "prompt": "Print what an agent's system prompt says of failed calls.",
        "schema": "Print the JSON Schema of an envelope.",
        "audit": "Ten points against each tool, with faults injected; exit 1 when one fails.",
        "completion": "Print the completion script of a shell.",
    }
)

_COMPLETE_VARIABLE: Final = "_TOOLSPAN_COMPLETE"
_USAGE: Final = 2
_SOFTWARE: Final = 70
_INTERRUPTED: Final = 130
_BROKEN_PIPE: Final = 141

#: No space left, or none for this user.
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
_NO_OUTPUT: Final = "Standard output is closed; send it to a file, or to /dev/null."


class Commands(click.Group):
    """
    The commands by name; the module of one is imported when it runs, so that its needs slow down no other.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """
        The names in the order of `COMMANDS`.
        """
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """
        The command of that name.
        """
        del ctx
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"toolspan.cli.{cmd_name}"), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """
        Lists the commands without importing them.
        """
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """
        The commands that begin with *incomplete*, without importing them, and the options.
        """
        found = [CompletionItem(name, help=what) for name, what in COMMANDS.items() if name.startswith(incomplete)]
        return found + click.Command.shell_complete(self, ctx, incomplete)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """
        The command that *args* begin with; an unknown one is answered with the name that is meant.
        """
        name = args[0]
        if name in COMMANDS or name.startswith("-") or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        close = get_close_matches(name, COMMANDS, n=1)
        raise click.UsageError(f"No such command {name!r}.{f' Did you mean {close[0]!r}?' if close else ''}", ctx)


@click.group(
    cls=Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog='Completion for your shell: eval "$(toolspan completion bash)"; see toolspan completion --help.',
)
@click.version_option(__version__, prog_name="toolspan", message="%(prog)s %(version)s")
@debug_option
@click.pass_context
def cli(context: click.Context) -> None:
    """
    What the tools of your agents do when they fail: one record per tool call, five error classes, three numbers.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help(), err=True)
        context.exit(_USAGE)


def main(args: Sequence[str] | None = None) -> NoReturn:
    """
    Runs the command line *args* (by default the process's own) and exits.
    """
    if _is_closed(sys.stdout):
        sys.exit(_fail(_NO_OUTPUT, _USAGE))
    _tolerate_any_name(sys.stdout)
    flags = Flags()
    try:
        status = _run(sys.argv[1:] if args is None else list(args), flags)
        sys.stdout.flush()  # here, where a broken pipe is still caught
    except BrokenPipeError:
        _drop_output()
        status = _BROKEN_PIPE
    except (KeyboardInterrupt, click.Abort):
        status = _INTERRUPTED
    except (ToolspanError, click.ClickException, OSError) as error:
        if flags.debug:
            raise
        status = _fail(_message(error), _USAGE)
        if isinstance(error, OSError) and error.errno in _FULL:
            _drop_output()
    sys.exit(status)


def _is_closed(stream: object) -> bool:
    """
    *stream* is None, whatever its type says: the process was started without it.
    """
    return stream is None


def _drop_output() -> None:
    """
    Lets what is still buffered go nowhere; without this the interpreter complains of it at exit.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _tolerate_any_name(stream: TextIO) -> None:
    """
    Makes *stream* write as an escape what its encoding has not, where it would raise.
    """
    if isinstance(stream, TextIOWrapper):
        cast("TextIOWrapper", stream).reconfigure(errors="backslashreplace")


def _run(args: list[str], flags: Flags) -> int:
    """
    The exit code of *args*. Not `cli.main()`: that makes 1 of a broken pipe and several lines of an error.
    """
    instruction = os.environ.get(_COMPLETE_VARIABLE)
    if instruction:
        return shell_complete(cli, {}, "toolspan", _COMPLETE_VARIABLE, instruction)
    sys.excepthook = _Hook(flags)
    try:
        with cli.make_context("toolspan", args, obj=flags) as context:
            cli.invoke(context)
    except click.exceptions.Exit as end:
        return end.exit_code
    return 0


class _Hook:
    """
    Says in one line that toolspan itself is at fault, where Python would print a traceback.
    """

    def __init__(self, flags: Flags) -> None:
        self._flags = flags

    def __call__(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if self._flags.debug:
            sys.__excepthook__(kind, error, trace)
            return
        text = f"{kind.__name__}: {error}. This is a fault of toolspan; run it with --debug and report what it prints."
        sys.exit(_fail(text, _SOFTWARE))


def _message(error: Exception) -> str:
    if isinstance(error, click.BadParameter) and isinstance(error.param, click.Argument) and error.message:
        # click would name the parameter, `[FILE]...`; the message names the value
        return error.message
    if isinstance(error, click.UsageError):
        see = f" (See {error.ctx.command_path} --help.)" if error.ctx is not None else ""
        return f"{error.format_message()}{see}"
    if isinstance(error, click.ClickException):
        return error.format_message()
    if isinstance(error, OSError):
        # what is written without a name is what was printed
        remedy = "; free some, or write elsewhere" if error.errno in _FULL else ""
        return f"{error.filename or 'standard output'}: {error.strerror or error}{remedy}"
    return str(error)


def _fail(message: str, status: int) -> int:
    click.echo(f"toolspan: {sentence(one_line(message))}", err=True)
    return status
