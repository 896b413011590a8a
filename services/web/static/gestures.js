// A finger or a mouse on the board: a tap plays or pauses, a drag to the left or right goes through
// the steps. Dragging up and down scrolls the page as elsewhere.

const STEP_PIXELS = 28;
const TAP_PIXELS = 8;

export function addGestures(board, { toggle, visitFrom, stepNow }) {
  let began = null;
  board.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    began = { x: event.clientX, y: event.clientY, step: stepNow(), moved: false };
    board.setPointerCapture(event.pointerId);
  });
  board.addEventListener("pointermove", (event) => {
    if (!began) return;
    const across = began.x - event.clientX;
    if (Math.hypot(across, began.y - event.clientY) > TAP_PIXELS) began.moved = true;
    const steps = Math.trunc(across / STEP_PIXELS);
    if (steps !== 0 || began.dragging) {
      began.dragging = true;
      visitFrom(began.step + steps);
    }
  });
  board.addEventListener("pointerup", () => {
    if (began && !began.moved) toggle();
    began = null;
  });
  board.addEventListener("pointercancel", () => {
    began = null;
  });
}
