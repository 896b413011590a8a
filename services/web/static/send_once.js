// Sends a form once. A second click would replace the answer, which shows its codes only once.

export function sendOnce(form) {
  const buttons = form.querySelectorAll("button[type=submit]");
  const mark = (isSent) => {
    for (const button of buttons) button.setAttribute("aria-disabled", String(isSent));
  };
  let isSent = false;
  form.addEventListener("submit", (event) => {
    if (isSent) event.preventDefault();
    isSent = true;
    mark(true);
  });
  addEventListener("pageshow", () => { // also after the browser's button Back
    isSent = false;
    mark(false);
  });
}
