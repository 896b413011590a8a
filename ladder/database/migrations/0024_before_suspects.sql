-- The suspects of each official standing: near-equal entries, unlikely results, and the pairs that
-- the pairing keeps apart (JSON). Null in versions made before.

alter table standings add column suspects text;
