-- Who sees a scrim is fixed when it is made. No statement makes it wider, or anything else, later.

create or replace function scrims_keep_privacy() returns trigger language plpgsql as $$
begin
    if (new.team_id, new.side_team_ids, new.result_audience, new.replay_audience, new.log_audience,
        new.is_members_only)
       is distinct from (old.team_id, old.side_team_ids, old.result_audience, old.replay_audience,
        old.log_audience, old.is_members_only) then
        raise exception 'who sees a scrim is fixed when it is made';
    end if;
    return new;
end $$;

revoke execute on function scrims_keep_privacy() from public, peck_worker;

create or replace trigger scrims_keep_privacy before update on scrims
    for each row execute function scrims_keep_privacy();
