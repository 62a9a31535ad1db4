"""
Everything toolspan raises.

ToolspanError
├── InputError          what was given cannot be read: a file, a time, an option's value
├── EnvelopeError       a tool's answer breaks a rule of the envelope
├── ConfigError         the configuration is wrong; names the file and the line
├── StoreError          a store cannot be opened, read or written; nothing of what it held is lost
│   └── StoreBusyError  others hold it for longer than one was ready to wait; says who
└── UnavailableError    a collector keeps nothing for now; says when to send again
    └── OverloadedError more waits than may wait
"""


class ToolspanError(Exception):
    """
    The base of all errors that toolspan raises; its text is one line that names the remedy.
    """


class InputError(ToolspanError):
    """
    What was given cannot be read.
    """


class EnvelopeError(ToolspanError):
    """
    A tool's answer breaks a rule of the envelope; the text names the key.
    """


class ConfigError(ToolspanError):
    """
    The configuration is wrong.
    """


class StoreError(ToolspanError):
    """
    A store cannot be opened, read or written.
    """


class StoreBusyError(StoreError):
    """
    Others hold the store for longer than one was ready to wait.
    """


class UnavailableError(ToolspanError):
    """
    Nothing of the request was kept; its sender is to send it again after *retry_after_s* seconds.
    """

    def __init__(self, text: str, *, retry_after_s: float) -> None:
        super().__init__(text)
        self.retry_after_s = retry_after_s


class OverloadedError(UnavailableError):
    """
    More requests wait than may wait.
    """
