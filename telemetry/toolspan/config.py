"""
The settings: a TOML file and the environment in, one frozen record out.

The environment is passed in, and so is the source of random keys: nothing here remembers anything. `TOOLSPAN_*`
variables win over the file, since they are nearer to the one run that they are set for.
"""

import math
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from toolspan.alerts import DEFAULT_LINKS, DEFAULT_THRESHOLDS, Links, Thresholds
from toolspan.errors import ConfigError
from toolspan.metrics import DEFAULT_LIMITS, Limits
from toolspan.numbers import DEFAULT_TARGETS, Targets
from toolspan.rules import RuleBook

#: What a collector and those who talk to it share; the environment is what others on the machine cannot read.
TOKEN_VARIABLE = "TOOLSPAN_TOKEN"  # noqa: S105 - a name
#: 256 bits, the size of the hash that the key is for.
_KEY_BYTES = 32


def new_hash_key() -> bytes:
    """
    A key that nobody knows.
    """
    return secrets.token_bytes(_KEY_BYTES)


@dataclass(frozen=True, slots=True)
class Settings:
    """
    How spans are read and numbers judged.

    *hash_key* keys the hashes of arguments; *is_key_given* where the user chose it, so that a store's own key must
    not replace it. *ignored_arguments* do not make a call another call (idempotency keys). A call of one of
    *escalation_tools* is an escalation. *grace_s*: a task whose span has ended settles after this long without
    new spans, any other after *open_timeout_s*; a span up to *late_s* later still re-settles it, unless the store keeps
    more than *max_spans* spans and its group was silent for long. *metric_limits* bounds the series of Prometheus, and
    *metric_hold_s* is how long one stays 0 once it was shown. *queue_bytes* of requests may wait in a collector,
    which keeps at most about *task_spans* spans of one task. Alerts are made of *thresholds*, and lead to *links*.
    """

    hash_key: bytes = field(default_factory=new_hash_key, repr=False)
    is_key_given: bool = False
    ignored_arguments: tuple[str, ...] = ()
    escalation_tools: frozenset[str] = frozenset()
    rules: RuleBook = field(default_factory=RuleBook)
    targets: Targets = DEFAULT_TARGETS
    grace_s: float = 2.0
    open_timeout_s: float = 900.0
    late_s: float = 86_400.0
    max_spans: int = 20_000_000
    metric_limits: Limits = DEFAULT_LIMITS
    metric_hold_s: float = 0.0
    queue_bytes: int = 128 * 2**20
    task_spans: int = 20_000
    thresholds: Thresholds = DEFAULT_THRESHOLDS
    links: Links = DEFAULT_LINKS


def load_settings(
    *, environ: Mapping[str, str], config_path: str | None = None, new_key: Callable[[], bytes] = new_hash_key
) -> Settings:
    """
    The settings of the file *config_path* (else of `TOOLSPAN_CONFIG`, else the defaults) and of *environ*.

    Without `TOOLSPAN_HASH_KEY` the hash key is one *new_key*: hashes can then be compared within this process only.

    Raises:
        ConfigError: The file or a variable is wrong; the message names the file and the line, or the variable.
    """
    key, grace = environ.get("TOOLSPAN_HASH_KEY"), environ.get("TOOLSPAN_GRACE")
    # As the environment holds it: a key need not be text.
    hash_key = key.encode("utf-8", "surrogateescape") if key else new_key()
    settings = Settings(hash_key=hash_key, is_key_given=bool(key))
    path = config_path or environ.get("TOOLSPAN_CONFIG")
    if path:
        settings = _with_file(settings, path)
    return replace(settings, grace_s=_seconds("TOOLSPAN_GRACE", grace)) if grace else settings


def _with_file(settings: Settings, path: str) -> Settings:
    # Imported here: pydantic takes 0.1 s, which a command without a file need not wait for.
    from toolspan.config_file import read_config

    config, rules = read_config(path)
    return replace(
        settings,
        ignored_arguments=tuple(config.arguments.ignore),
        escalation_tools=frozenset(config.escalation_tools),
        rules=rules,
        targets=Targets(**config.targets.model_dump()),
        grace_s=config.settle.grace,
        open_timeout_s=config.settle.open_timeout,
        late_s=config.settle.late,
        max_spans=config.store.max_spans,
        metric_limits=Limits(**config.metrics.model_dump(exclude={"hold"})),
        metric_hold_s=config.metrics.hold,
        queue_bytes=config.collector.queue_mib * 2**20,
        task_spans=config.collector.task_spans,
        thresholds=config.alerts.thresholds(),
        links=config.alerts.links(),
    )


def _seconds(name: str, text: str) -> float:
    """
    The number of seconds in the variable *name*.
    """
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds < math.inf:
        raise ConfigError(f"{name} is {text!r}; give a number of seconds, for example 2 or 0.5")
    return seconds
