// Fetches the episode that a player shows: once, or again until it is over.

const FOLLOW_MS = 1000;

export async function fetchEpisode(root) {
  const answer = await fetch(root.dataset.episode, { cache: "no-cache" });
  if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
  return answer.json();
}

// Asks for the episode again until it is over.
export async function follow(root, game, names) {
  let over = false;
  while (!over) {
    await new Promise((resolve) => setTimeout(resolve, FOLLOW_MS));
    try {
      const episode = await fetchEpisode(root);
      over = Boolean(episode.placements);
      root.player.extend(game.read(episode, names), over);
    } catch {
      // the server is away for a moment, or for good: what came so far stays
    }
  }
}
