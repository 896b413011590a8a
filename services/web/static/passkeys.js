// Asks the device for a passkey, then sends the form with its answer.
//
// <form data-passkey="create" or "get" data-options="PATH"> has a hidden field "answer" and an element
// with data-message for what went wrong. A form that waits for this script is hidden at first.

const toBytes = (text) =>
  Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));
const toText = (buffer) =>
  btoa(String.fromCharCode(...new Uint8Array(buffer)))
    .replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
const withBytes = (list) => (list ?? []).map((one) => ({ ...one, id: toBytes(one.id) }));

async function readOptions(form) {
  const body = new URLSearchParams({ form_token: form.elements.form_token.value });
  const answer = await fetch(form.dataset.options, { method: "POST", body });
  if (!answer.ok || !answer.headers.get("content-type")?.startsWith("application/json")) {
    throw new Error("Load the page again: the site did not begin.");
  }
  const options = await answer.json();
  options.challenge = toBytes(options.challenge);
  return options;
}

async function create(options) {
  options.user.id = toBytes(options.user.id);
  options.excludeCredentials = withBytes(options.excludeCredentials);
  const made = await navigator.credentials.create({ publicKey: options });
  return described(made, {
    attestationObject: toText(made.response.attestationObject),
  });
}

async function get(options) {
  options.allowCredentials = withBytes(options.allowCredentials);
  const found = await navigator.credentials.get({ publicKey: options });
  const { authenticatorData, signature, userHandle } = found.response;
  return described(found, {
    authenticatorData: toText(authenticatorData),
    signature: toText(signature),
    userHandle: userHandle && toText(userHandle),
  });
}

function described(credential, response) {
  return {
    id: credential.id,
    rawId: toText(credential.rawId),
    type: credential.type,
    clientExtensionResults: {},
    response: { clientDataJSON: toText(credential.response.clientDataJSON), ...response },
  };
}

function messageOf(error) {
  if (error.name === "InvalidStateError") return "This device already has a passkey of yours.";
  if (error.name === "NotAllowedError") return "The device gave no passkey. Try again.";
  return error.message;
}

async function ask(event) {
  event.preventDefault();
  const form = event.target;
  const message = form.querySelector("[data-message]");
  message.hidden = true;
  try {
    const options = await readOptions(form);
    const made = form.dataset.passkey === "create" ? await create(options) : await get(options);
    form.elements.answer.value = JSON.stringify(made);
    form.submit();
  } catch (error) {
    message.textContent = messageOf(error);
    message.hidden = false;
  }
}

for (const form of document.querySelectorAll("form[data-passkey]")) {
  if (!window.PublicKeyCredential) continue;
  form.addEventListener("submit", ask);
  form.closest("[data-needs-passkeys]")?.removeAttribute("hidden");
}
