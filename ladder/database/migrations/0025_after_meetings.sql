-- Meetings of matches that were made while 0025_before_meetings.sql ran.

insert into meetings
select a.match_id,
       substr(sha256((least(a.agent_id collate "C", b.agent_id)
                      || greatest(a.agent_id collate "C", b.agent_id))::bytea), 1, 16)
  from matches m join seats a on a.match_id = m.id
  join seats b on b.match_id = a.match_id and b.seat > a.seat
 where m.created_at > (select applied_at - interval '1 day' from migrations
                        where name = '0025_before_meetings.sql')
    on conflict do nothing;

-- Each of these has the columns of another index: seats_results begins with those of seats_agent,
-- and seats_agent_faults equals seats_faults.
drop index seats_agent;
drop index seats_faults;
