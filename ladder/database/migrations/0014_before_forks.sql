-- Scrims that continue a recorded episode from one of its steps.

create table forks (
    scrim_id text primary key references scrims (id),
    match_id text not null,               -- the match that is continued; never itself a fork
    position integer not null,            -- which of its episodes
    step integer not null check (step >= 0),  -- recorded steps before the fork
    draws text not null check (draws in ('record', 'new')),
    moves jsonb not null default '{}'     -- moves by hand after the fork: a list by seat
);
create index forks_match on forks (match_id);
