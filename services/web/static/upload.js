// The upload page: drop a file, several files or a folder; or take the template. Several files become
// one .tar. A file that the site would refuse is not sent: it is too large, neither Python nor an
// archive, or a .zip without a file that starts the agent. Without script the page has a plain field
// for one file.

const BLOCK = 512;

function header(name, size) {
  const bytes = new Uint8Array(BLOCK);
  const put = (text, at) => bytes.set(new TextEncoder().encode(text), at);
  const octal = (value, length) => value.toString(8).padStart(length - 1, "0") + "\0";
  put(name, 0);
  put(octal(0o644, 8), 100);
  put(octal(0, 8), 108);
  put(octal(0, 8), 116);
  put(octal(size, 12), 124);
  put(octal(0, 12), 136);
  put("        ", 148);
  put("0", 156);
  put("ustar\0" + "00", 257);
  put(octal(bytes.reduce((sum, byte) => sum + byte, 0), 7) + " ", 148);
  return bytes;
}

// files: [{ path, file }]. Names longer than 100 bytes do not fit into this format.
async function tar(files) {
  const parts = [];
  for (const { path, file } of files) {
    if (new TextEncoder().encode(path).length > 100) throw new Error(`the name ${path} is too long`);
    parts.push(header(path, file.size), file);
    parts.push(new Uint8Array((BLOCK - (file.size % BLOCK)) % BLOCK));
  }
  parts.push(new Uint8Array(2 * BLOCK));
  return new File(parts, "agent.tar", { type: "application/x-tar" });
}

const read = (reader) => new Promise((done, fail) => reader.readEntries(done, fail));

async function walk(entry, base) {
  if (entry.isFile) {
    const file = await new Promise((done, fail) => entry.file(done, fail));
    return [{ path: base + entry.name, file }];
  }
  const found = [];
  const reader = entry.createReader();
  for (let some = await read(reader); some.length; some = await read(reader)) {
    for (const inner of some) found.push(...(await walk(inner, `${base}${entry.name}/`)));
  }
  return found;
}

// A dropped folder alone is the bundle's root.
function withoutCommonFolder(files) {
  const first = files[0]?.path.split("/")[0];
  const isFolder = files.every(({ path }) => path.startsWith(`${first}/`));
  return isFolder ? files.map((one) => ({ ...one, path: one.path.slice(first.length + 1) })) : files;
}

async function dropped(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (!entries.length) return [...transfer.files].map((file) => ({ path: file.name, file }));
  const found = [];
  for (const entry of entries) found.push(...(await walk(entry, "")));
  return withoutCommonFolder(found).filter(({ path }) => !/(^|\/)(\.|__pycache__)/.test(path));
}

function sizeText(bytes) {
  if (bytes < 1 << 20) return `${Math.ceil(bytes / 1024)} kB`;
  return `${(bytes / (1 << 20)).toFixed(1).replace(".0", "")} MB`;
}

// Why files of these names cannot be an agent; empty if they can.
function missingStart(what, names) {
  if (names.some((name) => /^(\.\/+)*(main\.py|peck\.json)$/.test(name))) return "";
  const found = names.find((name) => /\/(main\.py|peck\.json)$/.test(name));
  const remedy = found ? `There is ${found}: pack the content of its folder.` : "One of them starts the agent: add it.";
  return `${what} no main.py and no peck.json at the root. ${remedy}`;
}

// Names in the list at the end of a .zip; none if the file has no such list.
async function namesInZip(file) {
  const tail = new DataView(await file.slice(-65557).arrayBuffer());
  let end = tail.byteLength - 22;
  while (end >= 0 && tail.getUint32(end, true) !== 0x06054b50) end -= 1;
  if (end < 0) return [];
  const from = tail.getUint32(end + 16, true);
  const list = new DataView(await file.slice(from, from + tail.getUint32(end + 12, true)).arrayBuffer());
  const names = [];
  for (let at = 0; at + 46 <= list.byteLength && list.getUint32(at, true) === 0x02014b50; ) {
    const length = list.getUint16(at + 28, true);
    names.push(new TextDecoder().decode(new Uint8Array(list.buffer, at + 46, length)));
    at += 46 + length + list.getUint16(at + 30, true) + list.getUint16(at + 32, true);
  }
  return names;
}

// Whether the first bytes are those of an archive; for a .tar by its checksum, as on the site.
async function isArchive(file) {
  const start = new Uint8Array(await file.slice(0, BLOCK).arrayBuffer());
  if ((start[0] === 0x1f && start[1] === 0x8b) || (start[0] === 0x50 && start[1] === 0x4b)) return true;
  const checksum = parseInt(new TextDecoder().decode(start.slice(148, 156)), 8);
  return checksum === start.fill(0x20, 148, 156).reduce((sum, byte) => sum + byte, 0);
}

// Why the site would refuse this file; empty if it may take it. The site checks again.
async function refusal(file, limit) {
  if (file.size > limit) {
    return `${file.name} has ${sizeText(file.size)}; this league takes at most ${sizeText(limit)}. Leave out what the agent does not need to play.`;
  }
  const suffix = file.name.match(/.(\.[^.]+)$/)?.[1] ?? "";
  if (suffix && !/^\.(py|zip|tar|gz|tgz)$/i.test(suffix) && !(await isArchive(file).catch(() => false))) {
    return `${file.name} is neither a Python file nor an archive. Choose a .py file, or a .tar.gz, .tar or .zip with main.py or peck.json at its root.`;
  }
  const names = /\.zip$/i.test(file.name) ? await namesInZip(file).catch(() => []) : [];
  return names.length ? missingStart(`${file.name} has`, names) : "";
}

function start(zone) {
  const input = zone.querySelector("input[type=file]");
  const told = zone.querySelector("[data-told]");
  const limits = JSON.parse(zone.dataset.limits);
  let ready = "";
  const show = (wrong) => {
    input.setCustomValidity(wrong);
    input.setAttribute("aria-invalid", Boolean(wrong));
    told.textContent = wrong || ready;
    told.classList.toggle("wrong", Boolean(wrong));
  };
  const check = async () => {
    const [file] = input.files;
    const wrong = file ? await refusal(file, limits[season.value]) : "";
    if (file === input.files[0]) show(wrong); // else another file was chosen meanwhile
  };
  const put = (file, text) => {
    const transfer = new DataTransfer();
    transfer.items.add(file);
    input.files = transfer.files;
    ready = text;
    check();
  };
  input.addEventListener("change", () => {
    ready = "";
    check();
  });
  season.addEventListener("change", check);
  zone.addEventListener("dragover", (event) => {
    event.preventDefault();
    zone.classList.add("over");
  });
  zone.addEventListener("dragleave", () => zone.classList.remove("over"));
  zone.addEventListener("drop", async (event) => {
    event.preventDefault();
    zone.classList.remove("over");
    try {
      const files = await dropped(event.dataTransfer);
      if (!files.length) return;
      const wrong = files.length > 1 ? missingStart("The dropped files have", files.map(({ path }) => path)) : "";
      if (wrong) {
        input.value = "";
        show(wrong);
      } else if (files.length === 1) put(files[0].file, `${files[0].file.name} is ready to upload.`);
      else put(await tar(files), `${files.length} files are ready to upload as agent.tar.`);
    } catch (error) {
      told.textContent = `This cannot be read: ${error.message}.`;
    }
  });
  for (const button of document.querySelectorAll("[data-template]")) {
    button.hidden = false;
    button.addEventListener("click", () => {
      const source = document.getElementById(button.dataset.template).textContent;
      put(new File([source], "main.py"), "The template is ready to upload as main.py.");
      const name = document.getElementById("name");
      if (name && !name.value) name.value = "My first agent";
      input.form.querySelector("button[type=submit]").focus();
    });
  }
}

// A new version of an agent needs neither a name nor a template.
const season = document.getElementById("season");
const agent = document.querySelector("select[name=agent]");
function showWhatIsNeeded() {
  const isVersion = Boolean(agent?.value);
  for (const id of ["name", "team"]) {
    const field = document.getElementById(id)?.closest(".field");
    if (field) field.hidden = isVersion;
  }
  for (const sample of document.querySelectorAll("[data-sample]")) {
    sample.hidden = isVersion || !sample.dataset.sample.split(" ").includes(season.value);
  }
}
for (const choice of [season, agent]) choice?.addEventListener("change", showWhatIsNeeded);
if (agent?.value) showWhatIsNeeded();
for (const zone of document.querySelectorAll("[data-drop]")) start(zone);
