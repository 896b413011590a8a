// Keeps the relative times of a page true: <time data-ago datetime="...">.

const UNITS = [["d", 86400], ["h", 3600], ["min", 60]];

export function ago(seconds) {
  if (seconds < 0) return "just now";
  for (const [unit, size] of UNITS) {
    if (seconds >= size) return `${Math.floor(seconds / size)} ${unit} ago`;
  }
  return seconds < 10 ? "just now" : `${Math.floor(seconds)} s ago`;
}

export function refreshTimes(root = document) {
  for (const node of root.querySelectorAll("time[data-ago]")) {
    const text = ago((Date.now() - Date.parse(node.dateTime)) / 1000);
    if (node.textContent !== text) node.textContent = text;
  }
}
