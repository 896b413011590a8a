// Whether this browser shows how matches ended before they are played to the end. Parts of a page
// with the class `spoiler` are hidden until then; the sheet does it before this runs.

const KEY = "peck-results";
const page = document.documentElement;

function remembered() {
  try {
    return localStorage.getItem(KEY) === "shown";
  } catch {
    return false; // storage is switched off
  }
}

export function resultsShown() {
  return page.dataset.results === "shown";
}

export function showResults() {
  if (resultsShown()) return;
  page.dataset.results = "shown";
  dispatchEvent(new Event("peck-results"));
}

function choose(state) {
  try {
    if (state === "shown") localStorage.setItem(KEY, state);
    else localStorage.removeItem(KEY);
  } catch {
    // the choice then counts for this page alone
  }
  page.dataset.results = state;
  dispatchEvent(new Event("peck-results"));
}

// Hides the results of the next match on this page, unless the reader always wants them.
export function hideResults() {
  if (remembered()) return;
  delete page.dataset.results;
  dispatchEvent(new Event("peck-results"));
}

// Lets the buttons in a part of the page show and hide results.
export function offerChoice(part) {
  for (const button of part.querySelectorAll("[data-results-choice]")) {
    button.addEventListener("click", () => {
      choose(button.dataset.resultsChoice);
      const other = button.dataset.resultsChoice === "shown" ? "hidden" : "shown";
      document.querySelector(`[data-results-choice=${other}]`)?.focus();
    });
  }
}

// A list of lost matches has told the result; its link asks for the table of results.
const isAsked = new URLSearchParams(location.search).get("results") === "shown";
if (remembered() || isAsked) page.dataset.results = "shown";
if (isAsked && !location.hash) document.getElementById("result-title")?.scrollIntoView();
offerChoice(document);
