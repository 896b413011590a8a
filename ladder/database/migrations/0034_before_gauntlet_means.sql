-- Whether gauntlets rank by the score per pairing. False before the lock, and in tournaments that an older
-- version locked: they rank by sums of scores. Not part of the plan, since the previous release refuses plans
-- with fields that it does not know.

alter table tournaments add column ranks_by_mean boolean not null default false;
