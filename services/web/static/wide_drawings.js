// Says of a drawing that is wider than its place that it scrolls sideways, until its end is in view.

export function markWideDrawings(root = document) {
  for (const drawing of root.querySelectorAll(".drawing")) {
    const hint = drawing.parentElement.querySelector("[data-wide]");
    const look = () => {
      const hidden = drawing.scrollWidth - drawing.clientWidth;
      if (hint) hint.hidden = hidden <= 1;
      drawing.classList.toggle("continues", drawing.scrollLeft < hidden - 1);
    };
    drawing.addEventListener("scroll", look, { passive: true });
    new ResizeObserver(look).observe(drawing);
  }
}
