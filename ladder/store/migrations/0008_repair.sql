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
