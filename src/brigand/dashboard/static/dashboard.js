// What is live is fetched again and again; where the server is lost, that is said, and tried less often.
"use strict";

const live = document.getElementById("live");
const lost = document.getElementById("lost");
const SLOWEST = 15000;
const SOON = 500;
let etag = null;
let failures = 0;
let timer = null;
let looking = false;

/** Put new content into the parts that changed; what is open stays open, and the focus where it was. */
function renew(text) {
  const fresh = new DOMParser().parseFromString(text, "text/html");
  const names = root => [...root.querySelectorAll("[data-part]")].map(part => part.dataset.part).join();
  if (names(fresh) !== names(live)) {
    live.replaceChildren(...[...fresh.body.children].map(part => document.importNode(part, true)));
    showButtons(live);
    return;
  }
  for (const part of fresh.querySelectorAll("[data-part]")) {
    const old = live.querySelector(`[data-part="${CSS.escape(part.dataset.part)}"]`);
    if (old.dataset.stamp === part.dataset.stamp) continue;
    const open = [...old.querySelectorAll("details[open]")].map(one => one.id);
    const scrolled = [...old.querySelectorAll(".scroll")].map(one => [one.id, one.scrollLeft, one.scrollTop]);
    const focus = old.contains(document.activeElement) ? document.activeElement.id : null;
    const put = document.importNode(part, true);
    old.replaceWith(put);
    for (const id of open) document.getElementById(id)?.setAttribute("open", "");
    for (const [id, left, top] of scrolled) document.getElementById(id)?.scrollTo(left, top);
    if (focus) document.getElementById(focus)?.focus({preventScroll: true});
    showButtons(put);
  }
}

/** Return how long to wait before the next look: not long for what is being counted. */
function patience() {
  return live.querySelector("[data-counting]") ? SOON : +live.dataset.every;
}

function say(text, link) {
  lost.replaceChildren(text);
  if (link) {
    const anchor = document.createElement("a");
    anchor.href = link;
    anchor.textContent = "Sign in again";
    lost.append(" ", anchor);
  }
}

async function look() {
  if (looking) return;
  looking = true;
  timer = null;
  let wait = 0;
  try {
    const answer = await fetch(live.dataset.live, {
      headers: etag ? {"If-None-Match": etag} : {},
      signal: AbortSignal.timeout(10000),
      cache: "no-store",
    });
    if (answer.status === 401 || answer.status === 403) {
      say("You are signed out.", "/sign-in?next=" + encodeURIComponent(location.pathname + location.search));
      return;
    }
    if (answer.status === 404) {
      say("This bandit is not there any more.");
      return;
    }
    if (!answer.ok && answer.status !== 304) throw new Error(answer.status);
    if (answer.status === 200) {
      etag = answer.headers.get("ETag");
      renew(await answer.text());
    }
    failures = 0;
    say("");
    wait = patience();
  } catch {
    failures += 1;
    wait = Math.min(SLOWEST, 1000 * 2 ** Math.min(failures - 1, 10));
    say(`The connection to the server is lost: what you see is old. Trying again every ${Math.round(wait / 1000)} s.`);
  }
  looking = false;
  if (!document.hidden) timer = setTimeout(look, wait);
}

/** Charts are saved as PNG from their SVG files, at twice their size. */
async function savePng(button) {
  const text = await (await fetch(button.dataset.png)).text();
  const image = new Image();
  const url = URL.createObjectURL(new Blob([text], {type: "image/svg+xml"}));
  image.src = url;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = 2 * image.naturalWidth;
  canvas.height = 2 * image.naturalHeight;
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(url);
  const blob = await new Promise(done => canvas.toBlob(done, "image/png"));
  const anchor = document.createElement("a");
  anchor.href = URL.createObjectURL(blob);
  anchor.download = button.dataset.file;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(anchor.href), 10000);
}

function showButtons(root) {
  for (const button of root.querySelectorAll("button[data-png]")) button.hidden = false;
}

document.addEventListener("click", event => {
  const button = event.target.closest("button[data-png]");
  if (button) savePng(button);
});
showButtons(document);

if (live) {
  document.addEventListener("visibilitychange", () => {
    clearTimeout(timer);
    timer = null;
    if (!document.hidden) look();
  });
  if (!document.hidden) timer = setTimeout(look, patience());
}
