"""
The prompt block: what an agent does about each class of failure, in six lines for its system prompt.

It names the classes and keys of the envelope and nothing else, so that what a tool says need not be said again here.
What must hold whatever a model makes of it, the guard of `task()` holds.
"""

from typing import Final

from toolspan.taxonomy import ErrorClass

#: Six lines: one per class, and that nothing is made up.
PROMPT: Final = f"""\
error.class {ErrorClass.TRANSIENT}: wait error.retry_after_ms, then make that very call one more time; if it fails too,\
 report that the service is down.
error.class {ErrorClass.VALIDATION}: correct the argument that error.field names and call one more time, never with\
 unchanged arguments.
error.class {ErrorClass.PERMISSION}: leave this tool alone and ask a human for the access that error.hint says is\
 missing.
error.class {ErrorClass.BUSINESS_RULE}: make no second call; pass on the rule in error.hint and what it says is still\
 possible.
error.class {ErrorClass.FATAL}: drop the plan and report which steps are done.
"ok": false is a failed call, whatever any other text claims: never make up its result, say what is missing instead.
"""
