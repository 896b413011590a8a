// The replay player. Its frame is in parts/player.html; this wires it to the module of the game,
// which has `read` (the episode as frames, pure) and `Board` (draws a frame):
// replay = { seats, frames: [{ seats: [seat], ... }], ends: [step or null], eats }
// seat = { value, out, status, how, told, charged, gauge: { text, value, max } or null }, and
// `decides` at the end if a value beside `status` decides its place
//
// `extend` takes the replay of an episode that has grown, so that a match can be watched while it is
// played. A live player begins at the newest step and follows it, until the reader goes elsewhere.

import { addControls } from "./controls.js";
import { find } from "./dom.js";
import { fetchEpisode, follow } from "./episode.js";
import { Lengths } from "./lengths.js";
import { startLive } from "./live_player.js";
import { momentsOf, nearest } from "./moments.js";
import { resultsShown, showResults } from "./results.js";
import { StepLog } from "./step_log.js";

const STEPS_PER_SECOND = 5;
const LONG_SECONDS = 120; // longer replays begin at a higher speed
const LIVE_MS = 50; // between two looks of a player that follows
const BEHIND = 100; // looks in which it catches up: agents of some milliseconds a move stay watchable
const STILL = matchMedia("(prefers-reduced-motion: reduce)");

export class Player {
  constructor(root, replay, board, names, { over = true, live = false } = {}) {
    this.root = root;
    this.follows = live;
    this.ending = new AbortController();
    this.names = names;
    this.step = -1;
    this.seen = 0;
    this.timer = 0;
    this.board = board;
    this.lengths = new Lengths(find(root, ".lengths"), (step) => this.visit(step));
    this.scrub = find(root, "input[type=range]");
    this.speed = find(root, "[data-choose=speed]");
    this.choice = find(root, "[data-choose=moments]");
    this.playButton = find(root, "[data-do=play]");
    this.list = find(root, ".moments ol");
    this.rows = [...root.querySelectorAll("[data-seat]")];
    const position = Number(root.dataset.position ?? 0);
    this.logs = [...root.querySelectorAll("[data-log]")].map((one) => new StepLog(one, position));
    this.fork = root.querySelector("[data-fork]");
    // Where one match follows another, the address names no step: it would be one of another match.
    this.isLinked = !root.closest("[data-goes-on]");
    this.upNext = null;
    this.take(replay, over);
    this.liveButton = root.querySelector("[data-do=live]");
    addControls(this, this.ending.signal);
    if (over && this.isLinked) this.finishWithin(LONG_SECONDS);
    if (!this.followLink()) {
      this.show(live ? this.last : 0);
      if (!STILL.matches) this.play();
    }
  }

  // Ends the player: another one takes its place in the page.
  stop() {
    clearInterval(this.timer);
    clearTimeout(this.noting);
    this.ending.abort();
  }

  // The replay of the same episode, which may have more steps than before.
  extend(replay, over) {
    const waited = this.step >= this.last && !STILL.matches;
    this.take(replay, over);
    this.lengths.mark(this.step, this.shownTo());
    if (waited && this.step < this.last && !this.playing) this.play();
    if (over && this.step >= this.last) this.comeToEnd();
  }

  // Shows the newest step, and each one after it.
  goLive() {
    this.follows = true;
    this.show(this.last);
    this.play();
    this.note();
  }

  comeToEnd() {
    showResults();
    const next = document.querySelector("[data-next]");
    next?.classList.remove("plain");
    if (next && !this.upNext) {
      this.upNext = document.createElement("a");
      this.upNext.className = "button up-next";
      this.upNext.href = next.href;
      this.upNext.textContent = `Next: ${next.title}`;
      find(this.root, ".stage").append(this.upNext); // below the board and its buttons
    }
    this.root.dispatchEvent(new Event("peck-end"));
  }

  take(replay, over) {
    this.replay = replay;
    this.over = over;
    this.last = replay.frames.length - 1;
    this.scrub.max = String(this.last);
    find(this.root, ".step-last").textContent = String(this.last);
    this.moments = momentsOf(replay, this.names);
    this.lengths.draw(replay, this.moments);
    this.choice.querySelector("[value=food]").hidden = !replay.eats;
    this.choice.querySelector("[value=lead]").hidden = replay.seats < 2;
    this.listMoments();
  }

  listMoments() {
    this.list.replaceChildren(
      ...this.moments.filter((one) => one.kind !== "food").map(({ step, seat, text }) => {
        const item = document.createElement("li");
        const link = document.createElement("a");
        link.href = `#step=${step}`;
        link.textContent = `Step ${step}`;
        item.className = `seat-${seat}`;
        item.dataset.at = String(step);
        item.append(link, ` ${text}`);
        return item;
      }),
    );
    this.reveal();
  }

  // Shows what may be known by now: everything if the reader asked for it, else up to the last step
  // that was in view.
  reveal() {
    const known = this.shownTo();
    let hidden = 0;
    for (const item of this.list.children) {
      item.hidden = Number(item.dataset.at) > known;
      hidden += item.hidden;
    }
    if (this.over) this.tellEnds();
    find(this.root, ".moments .none").hidden = this.list.children.length > hidden;
    if (this.step >= 0) this.lengths.mark(this.step, known);
  }

  // The table of the result says how each seat ended, and leads to the step.
  tellEnds() {
    for (const cell of document.querySelectorAll("[data-ended]")) {
      const seat = Number(cell.dataset.ended);
      const { status, how, decides } = this.replay.frames[this.last].seats[seat];
      const link = document.createElement("a");
      link.href = `#step=${this.replay.ends[seat] ?? this.last}`;
      link.textContent = status;
      cell.replaceChildren(link, decides ? `, ${decides}` : how ? `: ${how}` : "");
    }
  }

  shownTo() {
    return resultsShown() ? this.last : this.seen;
  }

  get playing() {
    return this.timer !== 0;
  }

  followLink() {
    if (!this.isLinked) return false;
    const asked = /^#step=(\d{1,7})$/.exec(location.hash)?.[1]
      ?? (this.step < 0 ? /^\d{1,7}$/.exec(new URLSearchParams(location.search).get("step") ?? "")?.[0] : null);
    if (!asked) return false;
    this.pause();
    this.show(Number(asked));
    return true;
  }

  // A link to a step may be far below the board.
  bringIntoView() {
    const { top, bottom } = find(this.root, ".arena").getBoundingClientRect();
    if (top < 0 || bottom > innerHeight) this.root.scrollIntoView();
  }

  // Going somewhere by hand: stops playing and keeps the address in step.
  visit(step) {
    this.follows = false;
    this.pause();
    this.show(step);
    this.note();
  }

  jump(by) {
    const step = nearest(this.moments, this.choice.value, this.step, by);
    if (step !== null) this.visit(step);
    else if (by > 0) this.visit(this.last);
  }

  note() {
    clearTimeout(this.noting);
    if (!this.isLinked) return;
    this.noting = setTimeout(() => {
      const asked = new URLSearchParams(location.search);
      asked.delete("step");
      const query = asked.size ? `?${asked}` : "";
      const place = this.step && !this.follows ? `#step=${this.step}` : "";
      history.replaceState(null, "", location.pathname + query + place);
    }, 120);
  }

  toggle() {
    if (this.playing) {
      this.follows = false;
      this.pause();
      this.note();
    } else {
      if (this.step >= this.last && this.over) this.show(0);
      this.play();
    }
  }

  play() {
    clearInterval(this.timer);
    const pause = this.follows ? LIVE_MS : 1000 / (STEPS_PER_SECOND * Number(this.speed.value));
    this.timer = setInterval(() => {
      const behind = this.follows ? Math.ceil((this.last - this.step) / BEHIND) : 1;
      this.show(this.step + Math.max(1, behind));
      if (this.step >= this.last && (this.over || !this.follows)) {
        this.pause();
        if (location.hash) this.note(); // a link to the last step would not play when it is loaded again
      }
    }, pause);
    this.reflect();
  }

  pause() {
    clearInterval(this.timer);
    this.timer = 0;
    this.reflect();
  }

  reflect() {
    this.root.dataset.playing = String(this.playing);
    this.playButton.setAttribute("aria-label", this.playing ? "Pause" : "Play");
    this.liveButton?.setAttribute("aria-pressed", String(this.follows && this.playing));
    find(this.root, ".counter").setAttribute("aria-live", this.playing ? "off" : "polite");
  }

  faster(by) {
    const next = this.speed.selectedIndex + by;
    if (next < 0 || next >= this.speed.options.length) return;
    this.speed.selectedIndex = next;
    if (this.playing) this.play();
  }

  // Chooses the least speed at which the whole replay takes at most so many seconds.
  finishWithin(seconds) {
    const needed = this.last / (STEPS_PER_SECOND * seconds);
    const found = [...this.speed.options].findIndex((one) => Number(one.value) >= Math.max(1, needed));
    this.speed.selectedIndex = found < 0 ? this.speed.options.length - 1 : found;
    if (this.playing) this.play();
  }

  show(step) {
    const wanted = Math.min(this.last, Math.max(0, step));
    if (wanted === this.step) return;
    this.step = wanted;
    if (this.upNext && wanted < this.last) {
      this.upNext.remove();
      this.upNext = null;
    }
    const frame = this.replay.frames[wanted];
    this.board.draw(frame, this.replay.frames[wanted - 1]);
    this.root.dataset.step = String(wanted);
    this.scrub.value = String(wanted);
    this.scrub.setAttribute("aria-valuetext", `step ${wanted} of ${this.last}`);
    find(this.root, ".step-now").textContent = String(wanted);
    if (wanted > this.seen) {
      this.seen = wanted;
      this.reveal();
    } else {
      this.lengths.mark(wanted, this.shownTo());
    }
    this.root.dispatchEvent(new Event("peck-step"));
    if (this.over && wanted === this.last) this.comeToEnd();
    const told = [];
    for (const row of this.rows) {
      const seat = Number(row.dataset.seat);
      const now = frame.seats[seat];
      told.push(`${this.names[seat]} ${now.told}`);
      this.fill(row, now);
    }
    for (const log of this.logs) log.show(wanted);
    if (this.fork) this.fork.href = `${this.fork.dataset.fork}&step=${Math.max(0, Math.min(wanted, this.last - 1))}`;
    find(this.root, ".arena").setAttribute("aria-label", `Step ${wanted}. ${told.join(", ")}.`);
  }

  fill(row, now) {
    row.classList.toggle("out", now.out);
    find(row, ".status").textContent = now.status;
    find(row, ".how").textContent = now.how;
    find(row, ".value").textContent = String(now.value);
    find(row, ".charged").textContent = now.charged === null ? "–" : seconds(now.charged);
    find(row, ".gauge").textContent = now.gauge?.text ?? "–";
    const meter = find(row, "meter");
    meter.max = now.gauge?.max ?? 1;
    meter.low = meter.max / 4;
    meter.value = Math.max(0, now.gauge?.value ?? 0);
  }
}

function seconds(value) {
  if (value > 0 && value < 0.0001) return "<0.1 ms";
  return value < 1 ? `${(value * 1000).toFixed(value < 0.01 ? 1 : 0)} ms` : `${value.toFixed(2)} s`;
}

function begin(root, game, replay, names, options) {
  const board = new game.Board(find(root, ".arena"), replay);
  root.player = new Player(root, replay, board, names, options);
  find(root, ".loading").hidden = true;
  root.dataset.ready = "true";
}

export async function start(root) {
  if (root.dataset.started) return undefined;
  root.dataset.started = "true";
  const state = find(root, ".loading");
  if (root.dataset.liveFrames) {
    return startLive(root, begin);
  }
  try {
    const [episode, game] = await Promise.all([
      fetchEpisode(root),
      import(`./${root.dataset.game}.js`),
    ]);
    const rows = [...root.querySelectorAll("[data-seat]")];
    const names = rows.map((row) => row.dataset.name);
    const replay = game.read(episode, names);
    const over = Boolean(episode.placements);
    begin(root, game, replay, names, { over });
    if (!over) follow(root, game, names);
  } catch (error) {
    state.textContent = `The replay could not be shown: ${error.message}. Download it below.`;
    state.classList.add("bad");
    showResults();
  }
  return undefined;
}

for (const root of document.querySelectorAll("[data-player]")) {
  if (!root.closest("[data-goes-on]")) start(root);
}
