"""
Everything toolspan raises.

ToolspanError
├── InputError          what was given cannot be read: a file, a time, an option's value
├── ConfigError         the configuration is wrong; names the file and the line
└── StoreError          a store cannot be opened, read or written; nothing of what it held is lost
    └── StoreBusyError  others hold it for longer than one was ready to wait; says who
"""


class ToolspanError(Exception):
    """
    The base of all errors that toolspan raises; its text is one line that names the remedy.
    """


class InputError(ToolspanError):
    """
    What was given cannot be read.
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
