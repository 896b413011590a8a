-- Disqualifications take numbers of the season's log, as results do: a standing that names its log
-- number thereby says which of them it knew. The matches stay; the entry's seats leave the fit.
alter table acceptances alter column match_id drop not null;
alter table acceptances add column entry_id text references entries;
alter table acceptances drop constraint acceptances_act_check;
alter table acceptances add constraint acceptances_act_check check (
    act in ('accept', 'withdraw') and match_id is not null and entry_id is null
    or act in ('disqualify', 'reinstate') and match_id is null and entry_id is not null);
create index acceptances_entries on acceptances (season_id, no) where entry_id is not null;

alter table entries add column disqualified_at timestamptz;
alter table entries add column disqualified_from text   -- its state before, for a reinstatement
    check (disqualified_from in ('pending', 'active', 'retired'));

-- Agents and teams that were disqualified as a whole: they enter nothing more in that season.
create table exclusions (
    season_id text not null references seasons,
    subject text not null,                -- id of an agent or a team
    created_at timestamptz not null default now(),
    primary key (season_id, subject)
);

-- Matches that are to be judged again, as one act; the new ones are queued a few at a time.
create table rejudgements (
    id text collate "C" primary key,
    season_id text not null references seasons,
    predicate jsonb not null,             -- what the old matches have in common
    reason text not null,
    by_user text references users,        -- null: the operator, at the machine itself
    created_at timestamptz not null default now()
);

create table rejudged (
    rejudgement_id text not null references rejudgements,
    match_id text collate "C" not null,   -- the old one
    by_match_id text collate "C",         -- the new one, once it is queued
    refusal text,                         -- why there will be none
    primary key (rejudgement_id, match_id)
);
create index rejudged_waiting on rejudged (rejudgement_id, match_id)
    where by_match_id is null and refusal is null;
create index rejudged_match on rejudged (match_id);
