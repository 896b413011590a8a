-- Causes of void matches and of faults from before.

set local peck.filling = 'void_cause';
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
 where state = 'void' and void_cause is null;
set local peck.filling = 'fault_cause';
update attempts set fault_cause = case when starts_with(detail, 'BoxLate:') then 'no_box'
                                       else 'slow_host' end
 where fault = 'host' and fault_cause is null
   and (starts_with(detail, 'BoxLate:') or starts_with(detail, 'HostTooSlow:'));
