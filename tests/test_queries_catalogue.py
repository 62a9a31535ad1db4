"""
The catalogue of queries is complete, and every file of it is what it promises to be.
"""

import inspect
import re
from importlib.resources import files

import duckdb
import pytest

import toolspan_queries
from tests.filled import empty_store
from toolspan_queries import QueryError, load, names
from toolspan_queries._catalogue import ROWS

TYPES = {
    "since_ns": "Nullable(Int64)",
    "until_ns": "Nullable(Int64)",
    "tool": "Nullable(String)",
    "agent": "Nullable(String)",
    "service": "Nullable(String)",
    "environment": "Nullable(String)",
    "by": "String",
}

#: What every query says alike, and in the same words.
WHOLE_HOURS = """
      ($since_ns is null or hour >= $since_ns)
      and ($until_ns is null or hour <= $until_ns - 3600000000000)
"""
EDGES = """
      settled
      and ($since_ns is null or {end} >= $since_ns)
      and ($until_ns is null or {end} < $until_ns)
      and (
        {end} - (3600000000000 - $since_ns % 3600000000000) % 3600000000000 < $since_ns
        or {end} >= $until_ns - $until_ns % 3600000000000
      )
"""
OPEN_TASKS = """
      not settled
      and $until_ns is null
      and ($since_ns is null or {end} >= $since_ns)
"""
GROUP = """
      case $by
        when 'agent' then agent
        when 'service' then service
        when 'environment' then environment
        else ''
      end as group_value
"""


def dense(text: str) -> str:
    """
    *text* without comments and white space, in which two layouts are one.
    """
    return re.sub(r"\s+", "", re.sub(r"--.*", "", text))


def counted_by_the_hour() -> list[str]:
    """
    The queries that read totals.
    """
    return [name for name in names() if "from hourly_" in load(name).text]


def test_every_file_is_in_the_catalogue_and_the_reverse() -> None:
    """
    No query is without rows, no rows without a query.
    """
    found = {
        path.name.removesuffix(".sql") for path in files("toolspan_queries").iterdir() if path.name.endswith(".sql")
    }

    assert found == set(names())


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    """
    One line.
    """
    with pytest.raises(QueryError, match=r"^Unknown query 'eror'; did you mean 'errors'\?$"):
        load("eror")
    with pytest.raises(QueryError, match=r"^Unknown query 'xyz'; there are calls, .+, worst_tasks\.$"):
        load("xyz")


def test_the_text_of_a_query_stands_as_it_was_written() -> None:
    """
    The shortest, whole: a change of any is seen here or in what they share.
    """
    expected = """\
-- Settled tasks that called a tool and ended unresolved.
--
-- $since_ns Nullable(Int64): first moment of the window on the task's end, ns since 1970; null: no bound
-- $until_ns Nullable(Int64): first moment after the window; null: no bound
-- $tool Nullable(String): this tool; null: all
-- $agent Nullable(String): tasks of this agent, '' where it is unknown; null: all
-- $service Nullable(String): tasks of this service, '' where it is unknown; null: all
-- $environment Nullable(String): tasks of this environment, '' where it is unknown; null: all
-- $by String: whose value group_value is: agent, service, environment; '': nobody's, all in one group
with
  counted as (
    -- the whole hours of the window; 3600000000000 ns are one
    select
      agent,
      service,
      environment,
      tool,
      tasks
    from hourly_tools
    where
      ($since_ns is null or hour >= $since_ns)
      and ($until_ns is null or hour <= $until_ns - 3600000000000)
      and task_outcome = 'unresolved'
    union all
    -- its edges: tasks that ended in hours which are not whole
    select
      agent,
      service,
      environment,
      tool,
      1 as tasks
    from task_tools
    where
      settled
      and ($since_ns is null or task_ended_ns >= $since_ns)
      and ($until_ns is null or task_ended_ns < $until_ns)
      and (
        task_ended_ns - (3600000000000 - $since_ns % 3600000000000) % 3600000000000 < $since_ns
        or task_ended_ns >= $until_ns - $until_ns % 3600000000000
      )
      and task_outcome = 'unresolved'
  ),
  chosen as (
    select
      case $by
        when 'agent' then agent
        when 'service' then service
        when 'environment' then environment
        else ''
      end as group_value,
      tool,
      tasks
    from counted
    where
      ($tool is null or tool = $tool)
      and ($agent is null or agent = $agent)
      and ($service is null or service = $service)
      and ($environment is null or environment = $environment)
  )
select
  group_value,
  tool,
  sum(tasks) as tasks
from chosen
group by group_value, tool
having sum(tasks) <> 0
order by group_value, tool;
"""

    assert expected == load("unresolved_tasks").text


@pytest.mark.parametrize("name", names())
class TestEveryQuery:
    def test_is_documented_by_its_first_comment(self, name: str) -> None:
        """
        One or two sentences, which the function of the query begins with, too.
        """
        definition = load(name).definition
        documented = inspect.getdoc(getattr(toolspan_queries, name)) or ""

        assert re.fullmatch(r"[A-Z][^$]+\.", definition)
        assert definition == " ".join(documented.partition("\n\n")[0].split())

    def test_has_every_column_in_the_documentation_of_its_function(self, name: str) -> None:
        """
        With its unit.
        """
        documented = inspect.getdoc(getattr(toolspan_queries, name)) or ""

        assert set(ROWS[name].__annotations__) <= set(re.findall(r"\*(\w+)\*", documented))

    def test_declares_the_parameters_that_it_has(self, name: str) -> None:
        """
        Each with its type, in one order.
        """
        query = load(name)
        code = re.sub(r"--.*", "", query.text)

        assert {parameter: TYPES[parameter] for parameter in query.parameters} == query.parameters
        assert [parameter for parameter in TYPES if parameter in query.parameters] == list(query.parameters)
        assert set(re.findall(r"\$(\w+)", code)) == set(query.parameters)

    def test_answers_with_the_columns_of_its_rows(self, name: str) -> None:
        """
        In their order, the group's value first.
        """
        query = load(name)
        asked = {parameter: "" if parameter == "by" else None for parameter in query.parameters}

        description = empty_store().execute(query.text, asked).description

        assert list(ROWS[name].__annotations__) == [column[0] for column in description]
        assert "group_value" == description[0][0]

    def test_is_one_statement_that_can_be_prepared(self, name: str) -> None:
        """
        As it stands, in the shell, where parameters have no types yet.
        """
        text = load(name).text
        connection = empty_store()
        connection.execute(f"prepare asked as {text}")
        values = ", ".join(f"{parameter} := null" for parameter in load(name).parameters)

        assert 1 == len(duckdb.extract_statements(text))
        assert [] == connection.execute(f"execute asked({values})").fetchall()

    def test_keeps_to_what_both_engines_know(self, name: str) -> None:
        """
        In ClickHouse `//` begins a comment, silently.
        """
        code = re.sub(r"--.*", "", load(name).text)

        assert [] == re.findall(r"//|quantile_disc|date_trunc|::|\blist\b|\[|\{", code)

    def test_is_written_as_the_others_are(self, name: str) -> None:
        """
        Lower-case but for what it compares with, in lines that fit, and in a total order.
        """
        text = load(name).text
        code = re.sub(r"--.*|'[^']*'", "", text)

        assert code == code.lower()
        assert [] == [line for line in text.splitlines() if len(line) > 120 or line != line.rstrip()]
        assert re.search(r"\norder by [^;]+;\n$", text)

    def test_groups_and_filters_in_the_same_words(self, name: str) -> None:
        """
        By the task's agent, service and environment.
        """
        query = load(name)
        text = dense(query.text)

        assert 1 == text.count(dense(GROUP))
        for column in ("tool", "agent", "service", "environment"):
            assert (column in query.parameters) == text.count(f"${column}isnullor{column}=${column}")


@pytest.mark.parametrize("name", counted_by_the_hour())
def test_a_window_is_whole_hours_edges_and_open_tasks(name: str) -> None:
    """
    Wherever a table is read, it is that part of the window of which the table knows, and no part is left out.
    """
    code = dense(load(name).text)
    parts = re.findall(r"from(hourly_\w+?|calls|tasks|task_tools)where(.*?)(?=unionall|\),|\)select|group)", code)

    for table, condition in parts:
        end = "ended_ns" if table == "tasks" else "task_ended_ns"
        allowed = [WHOLE_HOURS] if table.startswith("hourly_") else [EDGES, OPEN_TASKS]
        assert condition.startswith(tuple(dense(each.format(end=end)) for each in allowed))
    conditions = [condition for _, condition in parts]
    assert 1 == sum(condition.startswith("($since_nsisnullorhour") for condition in conditions)
    assert 1 == sum(condition.startswith("settledand") for condition in conditions)
    assert len(re.findall(r"from(?:hourly_\w+|calls|tasks|task_tools)where", code)) == len(parts)
