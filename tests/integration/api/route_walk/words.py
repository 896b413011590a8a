"""The values of the {words} of the table: ids of things that the walk needs."""

from __future__ import annotations

from typing import Any

from egress.address import parse
from ladder.database.db import Connection
from ladder.entries import agents, team_merges
from ladder.enums import LogAudience, ScrimAudience
from ladder.ids import AgentId, LeagueId, SeasonId, TeamId, UserId, new_id
from ladder.leagues import invitations, seasons
from ladder.machines import machines
from ladder.notices import channels, inbox
from ladder.notices.kinds import Form
from ladder.people import sessions, team_invitations, users
from ladder.people.records import Viewer
from ladder.people.team_invitations import NewTeamInvitation
from ladder.scrims import requests as scrim_requests
from ladder.scrims.requests import NewScrimRequest
from ladder.scrims.scrims import Asker, NewPrivacy
from ladder.tournaments import advance, course_acts, courses, entrants, tournaments
from ladder.tournaments.records import NewTournament
from tests.integration.api.world import (
    World,
    begin_rated,
    comparison_of_member,
    finish,
    fork_rated,
    insert_machine,
    older_submission,
    play_rated,
)


def words(world: World, league: str) -> dict[str, str]:
    """The values of the {words} of the table in this league."""
    insider = "insider" if league == "private" else "member"
    rated = world.client("member").get(f"/v1/matches/{world.matches[f'{league}.rated']}")
    spare = world.client("member").post(
        "/v1/users/me/tokens", {"label": "spare", "scopes": ["read"]}
    )
    act = world.client("host").post(
        f"/v1/seasons/{world.seasons[league]}/rejudgements",
        {"reason": "a walk", "predicate": {"node": "node"}},
    )
    both = [world.teams[insider], world.teams["host"]]
    shared = world.client("host").post(
        f"/v1/seasons/{world.seasons[league]}/shared-places", {"teams": both, "reason": "a walk"}
    )
    play_rated(world, league)  # a match outside all rejudgements
    with world.connect() as conn:
        invitation, code = invitations.create_roster_invitation(
            conn,
            LeagueId(world.leagues[league]),
            role="competitor",
            created_by=None,
            label="",
            max_uses=None,
        )
        member = UserId(world.users["member"])
        sessions.create_session(conn, member, "Firefox on Linux")
        (session,) = sessions.list_sessions(conn, member)[:1]
        notice = inbox.list_notices(conn, member)[0]
        outsider = users.create_user(conn, "Outsider").id
        request, other_request = (
            insert_join_request(conn, world.leagues[league], user) for user in (member, outsider)
        )
        address = parse(f"http://1.1.1.1/{league}")
        channel, _ = channels.create_channel(conn, member, Form.WEBHOOK, address)
        feed = inbox.create_feed(conn, member, "https://ladder.example.org")
        machine = insert_machine(conn, world.users["admin"], f"pond-{league}")
        root = users.viewer_of_user(conn, UserId(world.users["admin"]))
        assert root is not None
        to_machine = machines.invite(conn, root)
    fork, fork_game = fork_rated(world, rated["id"])
    cup = make_tournament(world, league, is_started=True)
    return {
        "show": world.client("admin").post(f"/v1/tournaments/{cup}/shows", {})["id"],
        "spare_user": world.client("admin").post("/v1/users", {"name": f"spare of {league}"})["id"],
        **team_words(world, world.teams[insider]),
        "machine": machine,
        "machine_invitation": to_machine.id,
        "session": session.id,
        "notice": notice.id,
        "channel": channel.id,
        "feed": feed.id,
        "outsider": outsider,
        "request": request,
        "other_request": other_request,
        "user": world.users["member"],
        "token": spare["id"],
        "team": world.teams[insider],
        "team_owner": world.users[insider],
        "league": league,
        "season": world.seasons[league],
        "agent": world.agents[f"{league}.member"],
        "host_agent": world.agents[f"{league}.host"],
        "submission": world.submissions[f"{league}.member"],
        "entry": world.entries[f"{league}.member"],
        "rejected": world.entries[f"{league}.rejected"],
        "rated": rated["id"],
        "running": begin_rated(world, league),
        "validation": world.matches[f"{league}.member.validation"],
        "scrim": world.scrims[league],
        "older": older_submission(world, league),
        "comparison": comparison_of_member(world, league),
        "scrimmage": world.matches[f"{league}.scrim"],
        "fork": fork,
        "fork_game": fork_game,
        "sides": world.scrims[f"{league}.sides"],
        "sides_match": world.matches[f"{league}.sides.scrim"],
        "shared": world.scrims[f"{league}.league"],
        "shared_match": world.matches[f"{league}.league.scrim"],
        **scrim_words(world, league),
        "rejudgement": act["id"],
        "place": shared["id"],
        "invitation": invitation.id,
        "code": code,
        "terms": world.client("member").get(f"/v1/leagues/{league}/terms")["digest"],
        "number": str(rated["episodes"][0]["number"]),
        "tournament": make_tournament(world, league),
        "cup": cup,
    }


def make_tournament(world: World, league: str, *, is_started: bool = False) -> str:
    """A tournament with open registration; or one that runs, after one pair of games of the agents
    of member and host."""
    wanted = NewTournament(title="Cup", plan={"stages": [{"format": "single_elimination"}]})
    with world.connect() as conn:
        season, its_league = seasons.get_season_and_league(conn, SeasonId(world.seasons[league]))
        made = tournaments.create_tournament(conn, its_league, season, wanted, None).id
        if is_started:
            for person in ("member", "host"):
                agent = agents.get_agent(conn, AgentId(world.agents[f"{league}.{person}"]))
                entrants.enter_agent(conn, made, agent, None)
            entrants.lock_entrants(conn, made, None)
            course_acts.start_tournament(conn, made, None)
            advance.advance_one(conn, made, lambda _: 0)
            conn.commit()
            for game in courses.read_games(conn, made):
                finish(conn, world.blobs, game.match_id)
            advance.advance_one(conn, made, lambda _: 0)
    return made


def insert_join_request(conn: Connection, league_id: str, user_id: str) -> str:
    """A request that waits, although the league takes none."""
    request_id = new_id("jrq")
    conn.execute(
        "insert into join_requests (id, league_id, user_id, agreed_visibility, agreed_replays,"
        " agreed_remote, terms_digest, expires_at)"
        " values (%s, %s, %s, 'public', 'own', false, '', now() + interval '1 day')",
        (request_id, league_id, user_id),
    )
    return request_id


def scrim_words(world: World, league: str) -> dict[str, str]:
    """A batch of the member, and requests to the host: of the member, and of two teams of nobody
    here."""
    host, mine = world.agents[f"{league}.host"], world.agents[f"{league}.member"]
    season = world.seasons[league]
    batch = world.client("member").post(
        "/v1/scrim-batches",
        {"season": season, "kind": "gauntlet", "agents": [mine, host], "games": 1},
    )
    asked = ask_host(world, league, world.users["member"], world.teams["member"], mine)
    found = {"batch": batch["id"], "scrim_request": asked}
    for name in ("to_accept", "to_decline"):
        with world.connect() as conn:
            user = users.create_user(conn, f"{name} {league}").id
            team = users.create_own_team(conn, f"{name} {league}", user).id
            agent = agents.create_agent(conn, team, "Asker", "asker").id
            made, _ = agents.add_submission(conn, agent, "0" * 64, 1, "main.py", "", user)
        found[name] = ask_host(world, league, user, team, made.id)
    return found


def ask_host(world: World, league: str, user: str, team: str, mine: str) -> str:
    """A request to the host that waits: it would share logs."""
    with world.connect() as conn:
        season = seasons.get_season(conn, SeasonId(world.seasons[league]))
        request = NewScrimRequest(
            season=season.id,
            lineup=[mine, world.agents[f"{league}.host"]],
            privacy=NewPrivacy(results=ScrimAudience.SIDES, logs=LogAudience.SIDES),
        )
        asker = Asker(season, TeamId(team), UserId(user))
        return scrim_requests.ask_for_scrim(conn, asker, request).id


def team_words(world: World, team: str) -> dict[str, str]:
    """Values about teams: invitations, and requests for merges between teams of nobody here."""
    with world.connect() as conn:
        root = Viewer(is_admin=True)
        revoked = team_invitations.invite(conn, TeamId(team), root, NewTeamInvitation(max_uses=9))
        code = revoked.code
        team_invitations.revoke_invitation(conn, TeamId(team), revoked.id, root)
        owner = users.create_user(conn, "Owner of spare teams").id
        spare = [users.create_own_team(conn, f"Spare {n}", owner).id for n in range(4)]
        asked = team_invitations.invite(
            conn, spare[0], root, NewTeamInvitation(person=world.users["member"])
        )
        merges = [
            team_merges.ask_for_merge(conn, each, spare[0], Viewer(owner)).id for each in spare[1:3]
        ]
    return {
        "team_invitation": revoked.id,
        "team_code": code,
        "own_invitation": asked.id,
        "host_team": world.teams["host"],
        "merge": merges[0],
        "other_merge": merges[1],
        "spare_team": spare[3],
    }


def fill(value: Any, known: dict[str, str]) -> Any:
    if isinstance(value, str):
        return value.format(**known)
    if isinstance(value, list):
        return [fill(item, known) for item in value]
    if isinstance(value, dict):
        return {key: fill(item, known) for key, item in value.items()}
    return value
