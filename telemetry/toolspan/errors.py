"""
Everything toolspan raises.

ToolspanError
├── InputError      what was given cannot be read: a file, a time, an option's value
└── ConfigError     the configuration is wrong; names the file and the line
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
