-- The tables of a store file, schema 1.
--
-- Ids are UBIGINT (a trace id is two), times are nanoseconds since 1970, *task* is a 64-bit hash of the task's id, so
-- that a row stays narrow; what repeats (names, codes) is VARCHAR, since a new value of an ENUM would be DDL at run
-- time and nothing is gained in size. Rows stand in order of arrival, which is nearly that of time: every delete and
-- every window has a predicate on time, by which whole row groups are skipped.

create type call_outcome as enum ('ok', 'error', 'cancelled', 'deferred');
create type error_class as enum ('transient', 'validation', 'permission', 'business_rule', 'fatal', 'unclassified');
create type follow_up as enum ('retry', 'rewrite');
create type verdict as enum ('allowed', 'early', 'over_cap', 'wasted');
create type next_action as enum ('retry', 'rewrite', 'escalated', 'other', 'nothing');
create type task_outcome as enum ('resolved', 'unresolved', 'escalated', 'unknown');
create type outcome_source as enum ('attribute', 'escalation', 'status', 'unseen');

-- What the store knows of itself: schema_version, store_id, hash_key (hex).
create table settings (
  name varchar not null,
  value varchar not null
);

-- One row: how many commits there were, to be compared with what the last writer noted beside the file.
create table ledger (commits bigint not null);

-- Spans as they came, append only until their group is pruned. *facts* is null for a span that is nothing but an id, a
-- parent and two times. *parent_id* is null where there is none.
create table spans (
  trace_hi ubigint not null,
  trace_lo ubigint not null,
  span_id ubigint not null,
  parent_id ubigint,
  start_ns bigint not null,
  end_ns bigint not null,
  facts blob,
  arrived_ns bigint not null
);

-- The traces whose spans are kept. A group is named by its smallest trace id; *arrived_ns* is when its last span came,
-- *is_ended* whether the spans of all its tasks were seen, *first_ns* and *last_ns* the times between which all its
-- rows lie, *writer* who touched it last.
create table traces (
  trace_hi ubigint not null,
  trace_lo ubigint not null,
  group_hi ubigint not null,
  group_lo ubigint not null,
  arrived_ns bigint not null,
  is_ended boolean not null,
  settled boolean not null,
  revision integer not null,
  first_ns bigint not null,
  last_ns bigint not null,
  spans integer not null,
  writer ubigint not null
);

-- Which traces name a task id: what joins them to a group.
create table task_traces (
  task ubigint not null,
  trace_hi ubigint not null,
  trace_lo ubigint not null
);

-- *step* is the first call of the chain where nobody gave a step id and this call is not the first itself.
-- *arguments* and *arguments_key* are the halves of the keyed hash, null where arguments are unknown. The last five say
-- how a failure was answered: the verdict on its retry, whether by a rewrite that ended ok, by one that was no
-- validation failure, by the identical call where its end tells of the class (quality's audit), by one that ended ok.
create table calls (
  task ubigint not null,
  task_ended_ns bigint not null,
  settled boolean not null,
  revision integer not null,
  trace_hi ubigint not null,
  trace_lo ubigint not null,
  span_id ubigint not null,
  tool varchar not null,
  agent varchar not null,
  service varchar not null,
  environment varchar not null,
  started_ns bigint not null,
  duration_ns bigint not null,
  outcome call_outcome not null,
  class error_class,
  code varchar,
  evidence varchar not null,
  attempts bigint not null,
  waited_ms bigint,
  budget_exhausted boolean not null,
  arguments ubigint,
  arguments_key usmallint,
  field varchar,
  retry_after_ms bigint,
  lint integer not null,
  step_id varchar not null,
  step ubigint,
  parent_run ubigint,
  follows ubigint,
  follow_up follow_up,
  presumed boolean not null,
  verdict verdict,
  wasted_ns bigint not null,
  next_action next_action,
  answer_verdict verdict,
  recovered boolean not null,
  accepted boolean not null,
  audited boolean not null,
  audited_ok boolean not null
);

-- *ended_ns* of an open task is the end of its last span.
create table tasks (
  task ubigint not null,
  task_id varchar not null,
  trace_hi ubigint not null,
  trace_lo ubigint not null,
  name varchar not null,
  agent varchar not null,
  service varchar not null,
  environment varchar not null,
  started_ns bigint not null,
  ended_ns bigint not null,
  outcome task_outcome not null,
  outcome_source outcome_source not null,
  settled boolean not null,
  revision integer not null,
  calls integer not null,
  streak integer not null,
  unhandled boolean not null,
  seen boolean not null
);

create table escalations (
  task ubigint not null,
  task_ended_ns bigint not null,
  settled boolean not null,
  revision integer not null,
  trace_hi ubigint not null,
  trace_lo ubigint not null,
  span_id ubigint not null,
  at_ns bigint not null,
  tool varchar not null,
  reason varchar not null,
  source varchar not null
);

create table episodes (
  task ubigint not null,
  task_ended_ns bigint not null,
  settled boolean not null,
  revision integer not null,
  tool varchar not null,
  span_id ubigint not null,
  opened_ns bigint not null,
  closed_ns bigint,
  retries integer not null
);

-- What one task did with one tool, with what its task is filtered and grouped by.
create table task_tools (
  task ubigint not null,
  task_ended_ns bigint not null,
  settled boolean not null,
  revision integer not null,
  agent varchar not null,
  service varchar not null,
  environment varchar not null,
  task_outcome task_outcome not null,
  tool varchar not null,
  calls integer not null,
  retries integer not null,
  presumed integer not null,
  allowed integer not null,
  early integer not null,
  over_cap integer not null,
  wasted integer not null,
  wasted_ns bigint not null,
  steps integer not null,
  rewrites integer not null,
  presumed_rewrites integer not null,
  validation_failures integer not null,
  recovered integer not null,
  accepted integer not null,
  episodes integer not null,
  escalated integer not null,
  clean integer not null,
  streak integer not null,
  streak_code varchar
);

-- Totals of settled tasks by the hour in which their task ended (*hour* is its first nanosecond). A row may be
-- negative: what is derived again is subtracted and added anew, so only sums mean anything.
create table hourly_tasks (
  hour bigint not null,
  agent varchar not null,
  service varchar not null,
  environment varchar not null,
  outcome task_outcome not null,
  tasks bigint not null,
  unhandled bigint not null
);

-- *retries* is how often the task retried the tool: a distribution, not a sum. The others are sums over *tasks*.
create table hourly_tools (
  hour bigint not null,
  agent varchar not null,
  service varchar not null,
  environment varchar not null,
  tool varchar not null,
  task_outcome task_outcome not null,
  retries integer not null,
  tasks bigint not null,
  presumed bigint not null,
  allowed bigint not null,
  early bigint not null,
  over_cap bigint not null,
  wasted bigint not null,
  wasted_ns hugeint not null,
  steps bigint not null,
  rewrites bigint not null,
  presumed_rewrites bigint not null,
  validation_failures bigint not null,
  recovered bigint not null,
  accepted bigint not null,
  episodes bigint not null,
  escalated bigint not null,
  clean bigint not null
);

-- *class*, *code* and *field* are null unless the outcome is error. From *recovered* on, sums over failures of how each
-- was answered, as in calls; *early*, *over_cap* and *wasted* count their retries by verdict.
create table hourly_calls (
  hour bigint not null,
  agent varchar not null,
  service varchar not null,
  environment varchar not null,
  tool varchar not null,
  outcome call_outcome not null,
  class error_class,
  code varchar,
  field varchar,
  calls bigint not null,
  attempts bigint not null,
  locally_retried bigint not null,
  waited_ms bigint not null,
  budget_exhausted bigint not null,
  recovered bigint not null,
  accepted bigint not null,
  early bigint not null,
  over_cap bigint not null,
  wasted bigint not null,
  audited bigint not null,
  audited_ok bigint not null
);

-- Calls by duration, which is rounded to three significant digits, half up, in nanoseconds.
create table hourly_durations (
  hour bigint not null,
  agent varchar not null,
  service varchar not null,
  environment varchar not null,
  tool varchar not null,
  duration_ns bigint not null,
  calls bigint not null
);

-- What became of spans that came, by the hour of their arrival: received, duplicate, conflict, late, rejected, dropped.
create table intake (
  hour bigint not null,
  reason varchar not null,
  spans bigint not null
);
