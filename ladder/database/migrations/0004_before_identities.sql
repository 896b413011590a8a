-- A session knows when and how its person last proved to be that person. Null: before this version.
alter table sessions add column confirmed_at timestamptz;
alter table sessions add column confirmed_by text
    check (confirmed_by in ('password', 'passkey', 'identity', 'recovery', 'token'));
