// A copy button on every <div class="copy"> that holds a <pre>.

export function addCopyButtons(root = document) {
  if (!navigator.clipboard) return;
  for (const box of root.querySelectorAll(".copy")) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Copy";
    button.setAttribute("aria-label", "Copy these lines");
    button.addEventListener("click", async () => {
      const lines = box.querySelector("pre").textContent.split("\n");
      const text = lines.filter((line) => !line.startsWith("#")).join("\n").trim();
      try {
        await navigator.clipboard.writeText(text);
        button.textContent = "Copied";
      } catch {
        button.textContent = "Press Ctrl+C";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
    box.append(button);
  }
}
