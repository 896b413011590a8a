-- Causes in closed words, by which the code decides. The texts beside them are for people.

alter table matches add column void_cause text check (void_cause in (
    'agent_unreachable', 'attempts_used_up', 'overdue', 'called_off', 'entry_left', 'not_needed'));
alter table attempts add column fault_cause text check (fault_cause in ('no_box', 'slow_host'));

-- The triggers refuse changes of matches and attempts that are over.
alter table matches disable trigger user;
update matches set void_cause = case
    when void_reason like 'a remote agent was away%' then 'agent_unreachable'
    when void_reason ~ '^[0-9]+ attempts used up' then 'attempts_used_up'
    when void_reason in ('waited in the queue past its deadline', 'not validated in time')
        then 'overdue'
    when void_reason in ('the scrim was cancelled', 'the batch was cancelled',
                         'the comparison was cancelled', 'the tournament was cancelled',
                         'the rejudgement was called off', 'the rejudgement was dropped')
        then 'called_off'
    when void_reason in ('the entry was withdrawn', 'the entry was disqualified',
                         'the owner of an agent deleted it') then 'entry_left'
    else 'not_needed' end
 where state = 'void';
alter table matches enable trigger user;
alter table attempts disable trigger user;
update attempts set fault_cause = case when starts_with(detail, 'BoxLate:') then 'no_box'
                                       else 'slow_host' end
 where fault = 'host' and (starts_with(detail, 'BoxLate:') or starts_with(detail, 'HostTooSlow:'));
alter table attempts enable trigger user;
