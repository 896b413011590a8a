-- Heartbeats are rarer in a large fleet, so each one says how long its worker counts as live.

alter table workers add column live_until timestamptz not null default now() + interval '15 seconds';
update workers set live_until = seen_at + interval '15 seconds';
