-- Medal rules of versions from before, when no season could change them.

set local peck.filling = 'medals';
update standings t set medals = s.medals from seasons s
 where s.id = t.season_id and t.medals is null;
