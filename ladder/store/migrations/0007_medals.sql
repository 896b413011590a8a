-- Who earns a medal: {"kind": "table"} is Kaggle's, the others are in ladder/medals.py.
alter table seasons add column medals jsonb not null default '{"kind": "table"}';
