"""
Tags every tool call of an agent with tool, error class and code, and computes three numbers per tool.
"""

from toolspan._version import __version__

__all__ = ["__version__"]
