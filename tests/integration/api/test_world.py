from tests.integration.api.world import World


def test_world(world: World) -> None:
    print(world)
    rows = list(world.client("stranger").leaderboard("public"))
    print(rows)
