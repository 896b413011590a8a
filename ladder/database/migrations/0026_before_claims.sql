-- A claim counts the running matches of its machine. It reads them from an index of their own.

alter table matches add column machine_id text;   -- of the worker that plays it; null: the site's own
update matches m set machine_id = w.machine_id
  from workers w
 where w.id = m.worker and m.state = 'running' and w.machine_id is not null;
create index matches_of_machine on matches (machine_id)
    where state = 'running' and machine_id is not null;
