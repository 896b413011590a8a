-- Refuses the update of an instance that stores tournaments which this version cannot compute: those of
-- the removed formats swiss_heats and knockout_heats, and those that were locked by earlier rules.

do $$
declare
    v_ids text;
begin
    select string_agg(t.id, ', ' order by t.id) into v_ids from tournaments t
     where t.plan @@ '$.stages[*].format == "swiss_heats" || $.stages[*].format == "knockout_heats"'
        or (t.course_rules = 1 or not t.ranks_by_mean)
           and exists (select 1 from tournament_entrants x
                        where x.tournament_id = t.id and x.number is not null);
    if v_ids is not null then
        raise exception 'this version cannot compute tournaments of an earlier version: %', v_ids
            using hint = 'export their results with peck tournament export, and set up a new instance; or keep the earlier version';
    end if;
end $$;
