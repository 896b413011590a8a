-- Matches of rounds that are not over yet, so that a void one can be made again, on its round's seed.
create table round_matches (
    match_id text collate "C" primary key,
    season_id text not null references seasons,
    entry_id text not null references entries,
    round bigint not null,
    tries integer not null     -- matches made of this round for this entry, this one too
);
create index round_matches_season on round_matches (season_id);

-- How far a season's log has been rated anew without what its next stretch withdraws: a long one is
-- done a piece at a time, and the row goes when the stretch is folded.
create table replays (
    season_id text primary key references seasons,
    until bigint not null,     -- the last number of that stretch; what is withdrawn by then is out
    no bigint not null,        -- results up to this number are in
    ratings jsonb not null     -- by entry: mu and sigma, to the last bit
);

-- What failed and was paid nothing counted as 0 so far; from now on it counts as the worst reward
-- that the season has seen (ladder/solo.py), so totals keep those games apart.
with counted as (
    select t.entry_id, count(*) filter (where t.reward is null) as unpaid,
           count(t.reward) as paid,
           case when coalesce((r.measure ->> 'is_higher_better')::boolean, true)
                then least(min(t.reward), 0) else greatest(max(t.reward), 0) end as worst
      from seasons s
      cross join lateral jsonb_array_elements(s.measures) as r(measure)
      join acceptances a on a.season_id = s.id and a.act = 'accept' and a.no <= s.rated_no
      join seats t on t.match_id = a.match_id
     where s.measures is not null and r.measure ->> 'name' = 'reward' and r.measure ->> 'of' is null
       and not exists (select 1 from acceptances w where w.match_id = a.match_id
                       and w.act = 'withdraw' and w.no <= s.rated_no)
     group by t.entry_id, r.measure
)
update entries e
   set totals = (e.totals - 'reward')
       || case when paid > 0 then jsonb_build_object('reward', jsonb_build_array(
                   paid, e.totals -> 'reward' -> 1, e.totals -> 'reward' -> 2)) else '{}' end
       || case when unpaid > 0 then jsonb_build_object('reward.unpaid',
                   jsonb_build_array(unpaid, 0.0, 0.0)) else '{}' end
       || case when worst <> 0 then jsonb_build_object('reward.worst',
                   jsonb_build_array(1, worst, 0.0)) else '{}' end
  from counted c where c.entry_id = e.id and e.totals ? 'reward';
