-- Who left stands behind all who stayed. The scheduler corrects the places of tournaments that are over.

update tournaments t set is_due = true where t.state = 'finished' and exists (
    select 1 from tournament_entrants x
     where x.tournament_id = t.id and x.number is not null and x.state in ('withdrawn', 'disqualified'));
