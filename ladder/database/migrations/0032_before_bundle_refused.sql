-- Whether a seat failed because its bundle was not unpacked (SeatResult in ladder/matches/records.py).
-- Null before a result, in older rows, and in results of workers of the previous release.

alter table seats add column bundle_refused boolean;
