"""
What the last writer leaves in a lock file: who it is, whether it holds the store still, and its ledger.

The text is always one page, padded with spaces, so that every write covers all of the one before it. A page is the
piece in which the kernel copies: one `pwrite` of it is all there or not at all, whenever its process is killed.

What a file says was perhaps written by somebody else, or half of it by a failing disk: it is believed as far as it
has the right types, and is otherwise as good as empty.
"""

import json
from collections.abc import Mapping
from typing import Final, NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from toolspan.errors import StoreError

#: The smallest page of the machines we run on.
PAGE_BYTES: Final = 4096


class Holder(NamedTuple):
    """
    Who holds or last held a store for writing.

    *url* is where it can be asked meanwhile, empty where it cannot; *since* is RFC 3339 in UTC.
    """

    pid: int
    purpose: str
    url: str = ""
    since: str = ""


class Record(BaseModel):
    """
    The content of a lock file; an empty one where it says nothing that can be read.
    """

    model_config = ConfigDict(strict=True, frozen=True)

    holder: Holder | None = None
    is_holding: bool = False
    ledger: Mapping[str, object] = {}

    def page(self) -> bytes:
        """
        This record as the text of a lock file.

        Raises:
            StoreError: It is larger than a page.
        """
        holder = None if self.holder is None else self.holder._asdict()
        document = {"holder": holder, "is_holding": self.is_holding, "ledger": dict(self.ledger)}
        # What is no Unicode would make all of it unreadable.
        text = json.dumps(document, ensure_ascii=False).encode(errors="replace")
        if len(text) >= PAGE_BYTES:
            raise StoreError(f"{len(text):,} bytes do not fit into a lock file; leave less than {PAGE_BYTES:,}")
        return text.ljust(PAGE_BYTES - 1) + b"\n"


def read_record(page: bytes) -> Record:
    """
    The record that *page* holds.
    """
    try:
        return Record.model_validate_json(page)
    except ValidationError:
        return Record()
