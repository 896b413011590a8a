// Plays a match while it is played. At the end it becomes the replay at the same address.

import { addCopyButtons } from "./copy.js";
import { find } from "./dom.js";
import { fetchEpisode } from "./episode.js";
import { LiveMatch } from "./live_match.js";
import { offerChoice } from "./results.js";

// ``begin`` shows a replay in a new player of the page.
export async function startLive(root, begin) {
  goOn(root);
  const game = await import(`./${root.dataset.game}.js`);
  const names = [...root.querySelectorAll("[data-seat]")].map((row) => row.dataset.name);
  const said = find(root, ".live-state");
  const beganAt = Date.now();
  const waited = root.querySelector("[data-waited]");
  const waiting = setInterval(() => {
    if (waited) waited.textContent = `${Math.round((Date.now() - beganAt) / 1000)} s`;
  }, 1000);
  let awaited = ""; // what the agents do before their first moves
  const beginWith = (replay, over) => {
    clearInterval(waiting);
    find(root, ".arena").replaceChildren();
    begin(root, game, replay, names, { over, live: !over });
  };
  let shown = null;
  const match = new LiveMatch(root.dataset.liveFrames, {
    frames(episode) {
      const replay = game.read(episode, names);
      if (episode === shown) {
        root.player.extend(replay, false);
      } else {
        root.player?.stop();
        shown = episode;
        beginWith(replay, false);
      }
      root.dataset.frames = String(episode.frames.length);
      awaited = episode.frames.length > 1 ? "" : "The agents load and choose their first moves";
      say(awaited);
    },
    next(position) {
      say("The next episode is being played.");
      if (root.player?.follows !== false) root.dispatchEvent(new CustomEvent("peck-next", { detail: position }));
    },
    state: (text) => say(text || awaited),
    async end(state) {
      try {
        if (state !== "finished") throw new Error(state);
        const [episode] = await Promise.all([fetchEpisode(root), renewParts(root)]);
        const replay = game.read(episode, names);
        root.querySelector("[data-do=live]")?.remove();
        if (root.player) root.player.extend(replay, true);
        else beginWith(replay, true);
        awaited = "";
        say("");
        root.dataset.over = "true";
        root.dispatchEvent(new Event("peck-over"));
      } catch {
        root.dispatchEvent(new Event("peck-gone"));
      }
    },
  });

  function say(text) {
    said.textContent = text;
    said.hidden = !text;
  }

  root.endLive = () => {
    clearInterval(waiting);
    match.stop();
  };
}

// The parts of a match's page that tell its result, as they are after the end.
async function renewParts(root) {
  const parts = document.querySelectorAll("[data-part]");
  const page = root.closest("[data-page]")?.dataset.page ?? location.pathname + location.search;
  const answer = await fetch(page, { headers: { Accept: "text/html" }, cache: "no-cache" });
  if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  if (!root.closest("[data-goes-on]")) document.title = fresh.title;
  for (const part of parts) {
    const found = fresh.querySelector(`[data-part=${part.dataset.part}]`);
    if (!found) continue;
    part.replaceWith(found);
    offerChoice(found);
    addCopyButtons(found);
  }
}

// A page of one match goes on by itself; TV chooses the next match instead.
function goOn(root) {
  if (root.closest("[data-goes-on]")) return;
  root.addEventListener("peck-next", (event) => {
    const isChosen = new URLSearchParams(location.search).has("episode");
    if (!isChosen) location.replace(`?episode=${event.detail}`);
  });
  root.addEventListener("peck-gone", () => location.reload());
}
