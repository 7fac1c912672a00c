"""What the status page is in: its style, its script, and the headers that allow no other.

There is no build step and nothing is loaded from elsewhere. Without the script the page is the
same, and loads itself anew every 5 s.
"""

import base64
import hashlib

STYLE = """\
:root{color-scheme:light dark;--ink:#1c2330;--paper:#fbfbf9;--line:#d8dade;--soft:#5b6473;
--good:#1d6b3a;--bad:#a3261b;--warn:#8a5a00}
@media (prefers-color-scheme:dark){:root{--ink:#e6e8ec;--paper:#14171c;--line:#343a44;
--soft:#a2abba;--good:#6fd095;--bad:#ff9185;--warn:#f0c060}}
body{margin:0 auto;max-width:60rem;padding:1.5rem;background:var(--paper);color:var(--ink);
font:1rem/1.5 system-ui,sans-serif}
h1{font-size:1.1rem;margin:0;color:var(--soft);font-weight:600}
h2{font-size:1.1rem;margin:2rem 0 .5rem}
.verdict{font-size:1.9rem;line-height:1.25;margin:.3rem 0 .5rem;font-weight:700}
.good{color:var(--good)}.bad{color:var(--bad)}.warn{color:var(--warn)}.soft{color:var(--soft)}
.drill{border:2px solid var(--warn);padding:.5rem 1rem;margin:1rem 0;font-weight:600}
.wide{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{text-align:left;padding:.3rem .8rem .3rem 0;border-bottom:1px solid var(--line);
vertical-align:top;overflow-wrap:anywhere}
th{font-weight:600;color:var(--soft)}
"""

SCRIPT = """\
"use strict";
let ahead = 0;
function lasting(s) {
  s = Math.max(0, Math.floor(s));
  if (s < 60) return s + " s";
  if (s < 3600) return Math.floor(s / 60) + " min " + s % 60 + " s";
  return Math.floor(s / 3600) + " h " + Math.floor(s % 3600 / 60) + " min";
}
function set() { ahead = Date.now() / 1000 - Number(document.querySelector("main").dataset.now); }
function tick() {
  const now = Date.now() / 1000 - ahead;
  for (const one of document.querySelectorAll("[data-until]"))
    if (one.dataset.until > now) one.textContent = lasting(one.dataset.until - now) + " left";
}
async function look() {
  const old = document.querySelector("main"), lost = document.querySelector("#lost");
  try {
    const answer = await fetch("/", {cache: "no-store", signal: AbortSignal.timeout(5000)});
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    old.replaceWith(page.querySelector("main"));
    document.title = page.title;
    lost.hidden = true;
    set();
  } catch { lost.hidden = false; }
}
set();
setInterval(tick, 1000);
setInterval(look, 3000);
"""


def _hashed(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


HEADERS = {
    "Content-Security-Policy": "; ".join(
        (
            "default-src 'none'",
            f"style-src {_hashed(STYLE)}",
            f"script-src {_hashed(SCRIPT)}",
            "connect-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        )
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
"""Only our own style and script run, whatever else might get into the page."""


def framed(title: str, main: str, now_unix_s: float) -> str:
    """Return the whole page; ``title`` and ``main`` are HTML already."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{title}</title><style>{STYLE}</style>"
        '<noscript><meta http-equiv="refresh" content="5"></noscript></head><body>'
        '<p id="lost" class="drill" role="alert" hidden>The watcher does not answer: what you see '
        "is what it said last.</p>"
        f'<main data-now="{now_unix_s:.3f}">{main}</main>'
        f"<script>{SCRIPT}</script></body></html>\n"
    )
