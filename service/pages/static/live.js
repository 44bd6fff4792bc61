// Keeps the regions of a page current. Without it pages say the same after a reload; a job that has
// not ended reloads by itself then (the refresh in its <noscript>).
"use strict";

const status = document.getElementById("status");
let loading = false;
let wanted = false;

async function load() {
  if (loading) {
    wanted = true;
    return;
  }
  loading = true;
  try {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
    if (answer.ok) show(new DOMParser().parseFromString(await answer.text(), "text/html"));
  } catch {
    // The service is away: the next event, or the next round, tries again.
  } finally {
    loading = false;
    if (wanted) {
      wanted = false;
      load();
    }
  }
}

function show(page) {
  const focused = document.activeElement?.id;
  for (const region of document.querySelectorAll("[data-region]")) {
    const fresh = page.getElementById(region.id);
    if (fresh && fresh.outerHTML !== region.outerHTML) region.replaceWith(fresh);
  }
  document.title = page.title;
  if (focused && document.activeElement?.id !== focused) {
    (document.getElementById(focused) ?? document.getElementById("main")).focus();
  }
  const said = document.querySelector("[data-says]")?.dataset.says ?? "";
  if (status.textContent !== said) status.textContent = said;
}

function follow(address) {
  const source = new EventSource(address);
  const look = async () => {
    await load();
    if (!document.querySelector("[data-events]")) source.close();
  };
  source.addEventListener("state", look);
  source.addEventListener("progress", look);
  source.addEventListener("error", look);
}

const events = document.querySelector("[data-events]");
const every = document.querySelector("[data-every-s]");
if (events) follow(events.dataset.events);
if (every) {
  setInterval(() => document.hidden || load(), 1000 * Number(every.dataset.everyS));
}
