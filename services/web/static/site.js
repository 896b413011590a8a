// What every page loads. All of it is additional: pages are complete without script.

import { addCopyButtons } from "./copy.js";
import { keepLive } from "./live.js";
import { addPrintButtons } from "./print.js";
import { sendOnce } from "./send_once.js";
import { refreshTimes } from "./times.js";
import { markWideDrawings } from "./wide_drawings.js";
import { chooseZone } from "./zone.js";

addCopyButtons();
addPrintButtons();
markWideDrawings();
refreshTimes();
setInterval(refreshTimes, 10_000);
for (const part of document.querySelectorAll("[data-live]")) keepLive(part);
for (const select of document.querySelectorAll("select[data-zone]")) chooseZone(select);
for (const form of document.querySelectorAll("form[data-once]")) sendOnce(form);
