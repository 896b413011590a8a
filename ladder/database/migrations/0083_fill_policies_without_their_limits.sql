-- Scrim policies lost hours, cool-down, rating window and the limit for each team. Who had one of the first three
-- is asked before each scrim. The limit for each team becomes the limit with all teams, which is stricter.
update scrim_policies p set
    accepts_automatically = p.accepts_automatically
        and p.rating_within is null and p.cooldown_seconds = 0 and p.from_minute is null,
    games_daily = least(p.games_daily, a.scrims_per_requester_daily)
  from agents a where a.id = p.agent_id;

insert into scrim_policies (agent_id, whom, games_daily, accepts_automatically)
select a.id, 'anyone', a.scrims_per_requester_daily, true from agents a
 where a.open_for_scrims and not exists (select 1 from scrim_policies p where p.agent_id = a.id);

-- Medals of one-seat seasons give a notice now; those of finished seasons are no news.
update seasons set medal_notices_version = official_version
 where measures is not null and state = 'finished';
