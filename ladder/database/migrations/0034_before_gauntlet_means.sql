-- Whether gauntlets rank by the score per pairing. False before the lock, and in tournaments that an older
-- version locked: they rank by sums of scores. It is no field of the plan, because
-- the previous release refuses unknown fields.

alter table tournaments add column ranks_by_mean boolean not null default false;
