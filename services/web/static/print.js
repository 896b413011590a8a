// Shows the buttons that print the page. Without script they stay hidden.

export function addPrintButtons(root = document) {
  for (const button of root.querySelectorAll("button[data-print]")) {
    button.hidden = false;
    button.addEventListener("click", () => window.print());
  }
}
