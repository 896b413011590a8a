-- Rules by which a course is computed, fixed at the lock: 1 in tournaments that an older version locked. It
-- is no field of the plan, because the previous release refuses unknown fields.

alter table tournaments add column course_rules smallint not null default 1;
