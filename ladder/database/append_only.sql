-- Rows of these tables never change: a rejudgement adds rows. When this file runs again, writers of
-- these tables wait until it has committed.
--
-- One act may change them: the erasing of a deleted account (ladder/privacy). It sets peck.erasing in
-- its transaction. Then it may change the free texts that the trigger names, and nothing else.

-- Refuses the statement with error code PK002. Arguments: the table, then the columns of free text.
create or replace function refuse_change() returns trigger language plpgsql as $$
begin
    if tg_op = 'UPDATE' and tg_nargs > 1 and current_setting('peck.erasing', true) = 'on'
       and to_jsonb(new) - tg_argv[1:] = to_jsonb(old) - tg_argv[1:] then
        return new;
    end if;
    raise exception '% of % refused: rows of the record are never changed', tg_op, tg_argv[0]
        using errcode = 'PK002';
end $$;

revoke execute on function refuse_change() from public, peck_worker;

-- The protected tables, and the condition from which a row is protected.
create or replace trigger matches_over before update or delete on matches for each row
    when (old.state in ('finished', 'void')) execute function refuse_change('matches', 'void_reason');
create or replace trigger seats_written before update or delete on seats for each row
    when (old.placement is not null)
    execute function refuse_change('seats', 'reason', 'log_digest');
create or replace trigger episodes_kept before update or delete on episodes for each row
    execute function refuse_change('episodes');
create or replace trigger attempts_kept before update or delete on attempts for each row
    execute function refuse_change('attempts', 'detail');
create or replace trigger acceptances_kept before update or delete on acceptances for each row
    execute function refuse_change('acceptances');
create or replace trigger ratings_kept before update or delete on ratings for each row
    execute function refuse_change('ratings');
create or replace trigger standings_kept before update on standings for each row
    when (new.content is not null or to_jsonb(new) - 'content' <> to_jsonb(old) - 'content')
    execute function refuse_change('standings');
create or replace trigger standings_stay before delete on standings for each row
    execute function refuse_change('standings');
create or replace trigger audits_kept before update or delete on audits for each row
    execute function refuse_change('audits', 'reason', 'details');
create or replace trigger tournament_acts_kept before update or delete on tournament_acts for each row
    execute function refuse_change('tournament_acts', 'details');
create or replace trigger sealed_medals_kept before update or delete on sealed_medals for each row
    execute function refuse_change('sealed_medals');
create or replace trigger unsealed_medals_kept before update or delete on unsealed_medals for each row
    execute function refuse_change('unsealed_medals');
create or replace trigger team_audits_kept before update or delete on team_audits for each row
    execute function refuse_change('team_audits', 'details');
