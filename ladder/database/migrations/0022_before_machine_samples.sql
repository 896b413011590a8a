-- Second plays of matches of machines that are not trusted, canaries, measured speed and quarantine.

alter table machines add column quarantined_at timestamptz;       -- null: it may claim matches
alter table machines add column quarantine_reason text;
alter table machines add column judged_from timestamptz not null default now();   -- older samples do not count

alter table workers add column speed double precision;    -- work per second that it measured; null: not measured
alter table attempts add column speed double precision;

-- Canaries wait in the queue 'open', so that no trusted machine takes them.
alter table matches drop constraint matches_queue_check;
alter table matches add constraint matches_queue_check
    check (queue in ('play.cpu', 'play.gpu', 'scrim', 'validate', 'open'));

-- Two plays of one lineup and seed on trusted machines. They are scrims of nobody: nobody sees them.
create table machine_controls (
    id text primary key,
    season_id text not null references seasons,
    first_match_id text not null unique,
    second_match_id text not null unique,
    is_canary boolean not null,
    is_repeatable boolean,                -- both plays made the same moves; null: not compared yet
    created_at timestamptz not null default now()
);
create index machine_controls_waiting on machine_controls (id) where is_repeatable is null;

-- A play of a machine that is compared with its controls.
create table machine_samples (
    match_id text primary key,
    control_id text not null references machine_controls,
    machine_id text references machines,  -- null: a canary that no machine has played yet
    is_different boolean,                 -- other moves than both controls; null: they differ themselves
    log_time_ratio double precision,      -- of charged times, for equal speeds; null: not comparable
    compared_at timestamptz,              -- null: not compared yet
    created_at timestamptz not null default now()
);
create index machine_samples_machine on machine_samples (machine_id, compared_at);
create index machine_samples_waiting on machine_samples (match_id) where compared_at is null;
create index machine_samples_control on machine_samples (control_id);
