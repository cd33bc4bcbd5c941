-- The catalogue's schema, version 1.
--
-- Everything here can be made again from the object store, except where a column says "lease".
-- Times: `_utc` columns are milliseconds since 1970-01-01 UTC; `_ms` columns are milliseconds
-- since the session began. Ranges are half-open. Big tables name a session by its integer key.

-- What the catalogue says about itself.
create table meta (
    -- `store_id`: the id in the store's owner.json.
    name  text not null primary key,
    value text not null
) strict, without rowid;

create table session (
    -- Short name within this catalogue; another catalogue of the same store may differ.
    key             integer primary key,
    -- The session's UUID.
    id              blob    not null unique check (length(id) = 16),
    -- session.json as it was recorded, with its digest and size.
    head            text    not null,
    head_sha256     blob    not null check (length(head_sha256) = 32),
    head_bytes      integer not null check (head_bytes > 0),
    -- Copied from the head, for look-ups.
    start_utc       integer not null check (start_utc >= 0),
    run             text,
    actor           text,
    os              text,
    protocol        text    not null,
    -- Everything a search looks at, in lower case.
    words           text    not null,
    -- How far its objects reach, and what they, head and end weigh together.
    to_ms           integer not null default 0 check (to_ms >= 0),
    bytes           integer not null check (bytes >= head_bytes),
    -- When it was over, as far as linking rows goes: its end, else its interruption, else never.
    until_utc       integer not null default 9223372036854775807,
    -- From end.json: all null until it is in. `end_objects` counts segments and idle records.
    end_utc         integer,
    end_ms          integer check (end_ms >= 0),
    end_reason      text,
    end_recovered   integer check (end_recovered in (0, 1)),
    end_objects     integer,
    end_sha256      blob    check (length(end_sha256) = 32),
    end_bytes       integer,
    -- The latest interrupted/{n}.json.
    interrupted     integer,
    interrupted_utc integer,
    -- Lease: when its agent was last heard of.
    seen_utc        integer,
    check ((end_utc is null) = (end_sha256 is null)),
    check ((interrupted is null) = (interrupted_utc is null))
) strict;
create index session_by_start on session (start_utc, id);
-- A row looks for the sessions still going on at its time, which for fresh rows are the last few.
create index session_by_run on session (run, until_utc) where run is not null;
create index session_by_actor on session (actor, until_utc) where actor is not null;

create table label (
    session integer not null references session,
    name    text    not null,
    value   text    not null,
    primary key (session, name)
) strict, without rowid;
create index label_by_value on label (name, value, session);

-- Segments and idle records.
create table object (
    session      integer not null references session,
    seq          integer not null check (seq >= 0),
    run          integer not null check (run >= 1),
    from_ms      integer not null check (from_ms >= 0),
    to_ms        integer not null check (to_ms >= from_ms),
    sha256       blob    not null check (length(sha256) = 32),
    bytes        integer not null check (bytes > 0),
    -- Segments only: the manifest's `init` and `events` as JSON; null for an idle record.
    init         text,
    events       text,
    -- The changed share of the screen, [[second, permille], …] as JSON.
    activity     text    not null,
    -- Segments with a sprite sheet only: the manifest's `thumbs` as JSON; digest and size are
    -- there too.
    thumbs       text,
    primary key (session, seq),
    check ((init is null) = (events is null))
) strict, without rowid;

-- Closed GOPs where they were recorded.
create table fragment (
    session integer not null references session,
    seq     integer not null,
    -- Its number in the segment, from 0.
    n       integer not null check (n >= 0),
    t_ms    integer not null check (t_ms >= 0),
    dur_ms  integer not null check (dur_ms > 0),
    -- `moof` and `mdat` in the segment's file.
    offset  integer not null check (offset > 0),
    bytes   integer not null check (bytes > 0),
    -- Samples that show a change; 0 for an idle GOP.
    changed integer not null check (changed >= 0),
    -- For each sample two varints: milliseconds since t_ms, and bytes.
    samples blob    not null,
    primary key (session, seq, n)
) strict, without rowid;

-- Stretches in which an earlier fragment's picture stands.
create table repeat (
    session     integer not null references session,
    seq         integer not null,
    from_ms     integer not null,
    to_ms       integer not null check (to_ms > from_ms),
    -- The fragment that is repeated.
    of_seq      integer not null,
    of_fragment integer not null,
    primary key (session, seq, from_ms)
) strict, without rowid;

-- Stretches without picture.
create table gap (
    session integer not null references session,
    seq     integer not null,
    from_ms integer not null,
    to_ms   integer not null check (to_ms > from_ms),
    -- A GapReason's word.
    reason  text    not null,
    primary key (session, seq, from_ms)
) strict, without rowid;

-- Readings of both clocks.
create table anchor (
    session  integer not null references session,
    t_ms     integer not null check (t_ms >= 0),
    seq      integer not null,
    utc      integer not null,
    -- Null where the wall clock states none.
    error_ms integer check (error_ms >= 0),
    step     integer not null check (step in (0, 1)),
    primary key (session, t_ms)
) strict, without rowid;

-- Regions whose pixels were never stored.
create table mask (
    session integer not null references session,
    seq     integer not null,
    -- Its number in the object, from 0.
    n       integer not null,
    from_ms integer not null,
    to_ms   integer not null check (to_ms >= from_ms),
    x_px    integer not null,
    y_px    integer not null,
    w_px    integer not null,
    h_px    integer not null,
    rule    text    not null,
    kind    text    not null,
    primary key (session, seq, n)
) strict, without rowid;

-- Log objects: where event rows are stored.
create table log (
    key    integer primary key,
    name   text    not null unique,
    sha256 blob    not null check (length(sha256) = 32),
    bytes  integer not null check (bytes > 0)
) strict;

-- Event rows.
create table event (
    key          integer primary key,
    id           text    not null unique,
    -- The log object that holds it: of several, the one whose UUID is least.
    log          integer not null references log,
    utc          integer not null check (utc >= 0),
    -- Derived: the session it is linked to, and the moment there. −1 is before the start.
    session      integer references session,
    t_ms         integer check (t_ms >= -1),
    -- The session it names, known or not.
    named        blob    check (length(named) = 16),
    trace        blob    check (length(trace) = 16),
    span         blob    check (length(span) = 8),
    run          text,
    actor        text,
    source       text,
    kind         text    not null,
    outcome      text    not null,
    request      text,
    text         text    not null,
    on_behalf_of text,
    decided_by   text,
    -- JSON, or null.
    artifact     text,
    attributes   text,
    check ((session is null) = (t_ms is null))
) strict;
-- A session's rows in time order; the outcome makes density a walk over the index alone.
create index event_by_time on event (session, t_ms, id, outcome) where session is not null;
create index event_by_trace on event (trace, utc) where trace is not null;
-- Rows to look at again when a session appears or ends.
create index event_waiting on event (named) where named is not null and session is null;
create index event_by_run on event (run, utc) where named is null and run is not null;
create index event_by_actor on event (actor, utc) where named is null and actor is not null;

-- Derived: how many linked rows have each outcome.
create table outcome (
    session integer not null references session,
    outcome text    not null,
    rows    integer not null,
    primary key (session, outcome)
) strict, without rowid;

-- Derived: the traces that pass through a session.
create table trace_link (
    trace    blob    not null check (length(trace) = 16),
    session  integer not null references session,
    -- Whether the head says so, and how many rows that name the session do.
    by_head  integer not null check (by_head in (0, 1)),
    by_name  integer not null check (by_name >= 0),
    -- Linked rows of the trace, and the earliest and latest moment among them.
    rows     integer not null check (rows >= by_name),
    first_ms integer,
    last_ms  integer,
    primary key (trace, session)
) strict, without rowid;
create index trace_link_by_session on trace_link (session);
