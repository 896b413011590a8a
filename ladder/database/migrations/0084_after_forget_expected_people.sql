-- Nobody can see or change the list of expected people any more. Those who signed up keep their row until it is erased.
delete from expected_people where user_id is null;
