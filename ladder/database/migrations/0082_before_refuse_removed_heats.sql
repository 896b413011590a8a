-- Refuses the update of an instance that stores tournaments of the removed formats swiss_heats and
-- knockout_heats: this version cannot read their plans.

do $$
declare
    v_ids text;
begin
    select string_agg(id, ', ' order by id) into v_ids from tournaments
     where plan @@ '$.stages[*].format == "swiss_heats" || $.stages[*].format == "knockout_heats"';
    if v_ids is not null then
        raise exception 'tournaments with the removed formats swiss_heats or knockout_heats: %', v_ids
            using hint = 'keep the previous version for this instance, or set up a new instance';
    end if;
end $$;
