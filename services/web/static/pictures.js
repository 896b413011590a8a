// Pictures of matches that a worker still draws: <img data-drawn> shows the placeholder of a first
// answer with status 202. It is asked for again until it is drawn.

const AGAIN_MS = 4000; // as the header Retry-After of the answer says, and a little more
const MOST = 30; // requests for a picture

async function waitFor(image) {
  const address = image.src;
  for (let number = 1; number <= MOST && image.isConnected; number += 1) {
    try {
      const answer = await fetch(address);
      if (answer.status !== 202) {
        // A new address, so the image loads again: from the browser's cache, which has this answer.
        if (answer.ok) image.src = `${address}#drawn`;
        return;
      }
    } catch {
      // The server is away: ask again.
    }
    await new Promise((done) => setTimeout(done, AGAIN_MS));
  }
}

for (const image of document.querySelectorAll("img[data-drawn]")) {
  if (image.complete) waitFor(image);
  else image.addEventListener("load", () => waitFor(image), { once: true });
}
