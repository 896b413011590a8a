-- The log names matches by ids that compare byte by byte, as every other table does: a join over them
-- finds its index. What was withdrawn is found without reading what was not.
alter table acceptances alter column match_id type text collate "C";
create index acceptances_withdrawn on acceptances (season_id, no) where act = 'withdraw';

-- How an act of judging again ended; null while games of it wait or are under way.
alter table rejudgements add column ended_at timestamptz;
alter table rejudgements add column outcome text check (outcome in ('done', 'void', 'cancelled'));
alter table rejudgements add constraint rejudgements_end check ((ended_at is null) = (outcome is null));
create index rejudgements_open on rejudgements (id) where ended_at is null;

-- Every disqualification in force, of entries too: who is out stays out while one of them covers it.
insert into exclusions (season_id, subject)
    select season_id, id from entries e where disqualified_at is not null and not exists (
        select 1 from exclusions x where x.season_id = e.season_id
           and x.subject in (e.agent_id, e.team_id));
