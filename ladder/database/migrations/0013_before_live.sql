-- How long a league holds back the steps of a running match from those who watch it.

alter table leagues add column live_delay_seconds integer not null default 0
    check (live_delay_seconds between 0 and 3600);
