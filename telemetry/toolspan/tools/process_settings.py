"""
The settings and the hash key of this process, as the environment gives them: for tools, which nobody configures.
"""

import logging
import os
from functools import cache

from toolspan.arguments import ArgumentHasher
from toolspan.config import Settings, load_settings, new_hash_key
from toolspan.errors import ConfigError

_LOG = logging.getLogger("toolspan")


@cache
def process_key() -> bytes:
    """
    The hash key of this process where none is given: all in it that hashes arguments has to share it.
    """
    return new_hash_key()


@cache
def process_settings() -> Settings:
    """
    What `TOOLSPAN_*` says; the defaults where it says something wrong, for a tool works all the same.
    """
    try:
        return load_settings(environ=os.environ, new_key=process_key)
    except ConfigError as error:
        _LOG.warning("%s. Tools go on with the defaults.", error)
        return Settings(hash_key=process_key())


@cache
def process_hasher() -> ArgumentHasher:
    """
    What hashes arguments in this process.
    """
    settings = process_settings()
    return ArgumentHasher(settings.hash_key, ignored=settings.ignored_arguments)
