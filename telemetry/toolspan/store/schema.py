"""
The tables of a store file: made where there are none, brought up to date where they are older, refused where newer.

A file of a newer schema is never touched: what it says of its tables may mean something else here.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from toolspan.errors import StoreError
from toolspan.store.statements import run

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

#: Separate from the version of the package: what a file of each looks like is in the changelog.
SCHEMA_VERSION: Final = 1

#: From the key's schema to the next; none yet, since schema 1 is the first.
MIGRATIONS: Final[Mapping[int, str]] = {}


#: Whether there is anything that is not DuckDB's own.
_ANYTHING: Final = """
select 1 from duckdb_tables() where not internal
union all select 1 from duckdb_views() where not internal
union all select 1 from duckdb_sequences()
union all select 1 from duckdb_types() where not internal
union all select 1 from duckdb_schemas() where not internal
limit 1
"""
_MOST_DIGITS: Final = 9


def create(connection: "DuckDBPyConnection", *, hash_key: bytes) -> None:
    """
    Makes the tables in an empty file, all or none, and keeps *hash_key* in it.
    """
    connection.begin()
    run(connection, "schema")
    connection.execute("insert into ledger values (0)")
    connection.execute(
        "insert into settings values ('schema_version', ?), ('store_id', ?), ('hash_key', ?)",
        [str(SCHEMA_VERSION), uuid4().hex, hash_key.hex()],
    )
    connection.commit()


def version_of(connection: "DuckDBPyConnection", *, name: str) -> int | None:
    """
    The schema of an open file, None where it is empty.

    Raises:
        StoreError: the file *name* holds something else than a store.
    """
    from duckdb import BinderException, CatalogException

    version: object = ""
    # the common case is asked for directly: listing what there is took 17 ms on a loaded machine
    try:
        version = settings_of(connection).get("schema_version", "")
    except (BinderException, CatalogException):
        if not connection.execute(_ANYTHING).fetchall():
            return None
    if not isinstance(version, str) or not version.isdecimal() or len(version) > _MOST_DIGITS:
        raise StoreError(f"{name} is a DuckDB database of something else; name another file for the store.")
    return int(version)


def settings_of(connection: "DuckDBPyConnection") -> dict[str, object]:
    """
    What the file says of itself, by name.
    """
    rows = connection.execute("select name, value from settings").fetchall()
    return {str(name): value for name, value in rows}


def refuse_newer(version: int, *, name: str) -> None:
    """
    Raises:
        StoreError: *version* is one that only a later toolspan knows.
    """
    if version > SCHEMA_VERSION:
        raise StoreError(f"{name} has schema {version}, this toolspan knows {SCHEMA_VERSION}; upgrade it.")


def migrate(connection: "DuckDBPyConnection", version: int, *, migrations: Mapping[int, str] = MIGRATIONS) -> list[int]:
    """
    Brings the tables from schema *version* to the newest, each step all or nothing; gives the schemas passed through.
    """
    passed: list[int] = []
    while version in migrations:
        connection.begin()
        connection.execute(migrations[version])
        version += 1
        connection.execute("update settings set value = ? where name = 'schema_version'", [str(version)])
        connection.commit()
        passed.append(version)
    return passed
