// The frames of a match that is being played: a stream of server-sent events, or the same frames
// asked for every two seconds where streams are cut. Knows nothing of the player.
//
// heard = { frames(document), next(position), end(state), state(text) }. `document` is a frames
// document without result; the same object grows with each call. A page in the background closes
// its stream, since a browser keeps few connections to one site.

const POLL_MS = 2000;
const SILENT_MS = 6000;
const AGAIN_MS = 60_000;
const REFUSED = [401, 403, 404];

export class LiveMatch {
  constructor(address, heard) {
    this.address = address;
    this.heard = heard;
    this.episode = null;
    this.id = "";
    this.failures = 0;
    this.streamsAt = 0;
    this.isOver = false;
    this.hiding = () => (document.hidden ? this.close() : this.open());
    document.addEventListener("visibilitychange", this.hiding);
    this.open();
  }

  // Ends for good.
  stop() {
    this.isOver = true;
    this.close();
    document.removeEventListener("visibilitychange", this.hiding);
  }

  close() {
    clearTimeout(this.timer);
    clearTimeout(this.silence);
    this.source?.close();
    this.source = null;
  }

  open() {
    this.close();
    if (this.isOver || document.hidden) return;
    if (Date.now() < this.streamsAt || !globalThis.EventSource) this.poll();
    else this.stream();
  }

  // Address of the frames after those that are here.
  where() {
    return this.id ? `${this.address}&after=${this.id}` : this.address;
  }

  stream() {
    const source = new EventSource(this.where());
    this.source = source;
    const told = (event) => {
      clearTimeout(this.silence);
      this.failures = 0;
      return JSON.parse(event.data);
    };
    this.silence = setTimeout(() => this.pollForAWhile(), SILENT_MS);
    source.addEventListener("open", () => this.heard.state(""));
    source.addEventListener("frames", (event) => {
      this.id = event.lastEventId;
      this.take(told(event));
    });
    source.addEventListener("next", (event) => this.heard.next(told(event).position));
    source.addEventListener("end", (event) => this.finish(told(event).state));
    source.addEventListener("error", () => {
      this.failures += 1;
      // A closed source was refused: asking tells why.
      if (source.readyState === EventSource.CLOSED || this.failures > 2) this.pollForAWhile();
      else this.heard.state("Connection lost, trying again");
    });
  }

  pollForAWhile() {
    this.streamsAt = Date.now() + AGAIN_MS;
    this.open();
  }

  async poll() {
    let pause = POLL_MS;
    try {
      const answer = await fetch(this.where(), { headers: { Accept: "application/json" }, cache: "no-store" });
      if (REFUSED.includes(answer.status)) {
        this.heard.state("You may not watch this match any more. Reload this page to see why.");
        this.stop();
        return;
      }
      if (!answer.ok) throw new Error(`status ${answer.status}`);
      const { state, id, position, episodes, ...growth } = await answer.json();
      if (growth.frames.length) {
        this.id = id;
        this.take(growth);
      }
      if (episodes > position + 1) this.heard.next(episodes - 1);
      if (state !== "running") {
        this.finish(state);
        return;
      }
      this.heard.state("");
    } catch {
      pause *= 2;
      this.heard.state("Connection lost, trying again");
    }
    if (!this.isOver) this.timer = setTimeout(() => this.open(), pause);
  }

  take({ first, frames, steps, ...head }) {
    if (first === 0) {
      this.episode = { ...head, frames, steps };
    } else if (this.episode && first <= this.episode.frames.length) {
      const known = this.episode.frames.length - first;
      this.episode.frames.push(...frames.slice(known));
      this.episode.steps.push(...steps.slice(known));
    } else {
      this.begin();
      return;
    }
    this.heard.frames(this.episode);
  }

  // From the first frame on: another attempt plays, or frames are missing.
  begin() {
    this.id = "";
    this.episode = null;
    this.close();
    this.timer = setTimeout(() => this.open(), POLL_MS);
  }

  finish(state) {
    if (state === "queued" || state === "running") {
      this.heard.state("A machine failed. The match is played again from its start.");
      this.begin();
      return;
    }
    this.stop();
    this.heard.end(state);
  }
}
