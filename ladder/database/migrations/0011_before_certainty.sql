-- How well each official standing knows the order: the expected Spearman correlation of its ranks with
-- the true ones. Null in versions made before.

alter table standings add column expected_order double precision;
