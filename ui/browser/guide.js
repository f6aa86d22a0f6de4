// The guide of a first visit: callouts at the form, the figure and the views of the first figure that is shown.
//
// Whether it has been shown is kept in the browser (localStorage); a browser that keeps nothing is not guided, because it
// would be at every visit. Nothing is sent to the server.
(() => {
  if (window.palimpsestGuide) return;
  window.palimpsestGuide = true;
  const KEY = __KEY__;
  const STEPS = __STEPS__; // [selector, sentence]
  const FIGURE = "[data-testid='stVegaLiteChart'] svg .role-mark", VIEWS = ".st-key-views";
  const READ = "h1, h2.headline, .st-key-views"; // what it leaves free: question, finding, and the views to choose from
  const HEADER = "[data-testid='stHeader']"; // lies over everything, on a telephone
  const EDGE = 16, GAP = 8; // pixels
  const asked = () => new URLSearchParams(window.location.search);

  try {
    if (window.localStorage.getItem(KEY)) return;
  } catch {
    return;
  }

  function guide() {
    const steps = STEPS.filter(([selector]) => document.querySelector(selector)); // not every view has a form or lines
    const box = document.createElement("div");
    box.className = "guide";
    box.setAttribute("role", "dialog");
    const text = box.appendChild(document.createElement("p"));
    const row = box.appendChild(document.createElement("div"));
    const count = row.appendChild(document.createElement("span"));
    const skip = row.appendChild(document.createElement("button"));
    const next = row.appendChild(document.createElement("button"));
    skip.textContent = "Skip";
    let step = 0, target = null;

    function place() {
      if (!target?.isConnected) target = document.querySelector(steps[step][0]);
      if (!target || !document.querySelector(VIEWS)) return end(); // the reader went to another page
      const at = target.getBoundingClientRect(), own = box.getBoundingClientRect();
      const inside = (value, size, room, least = EDGE) => Math.max(least, Math.min(value, room - size - EDGE));
      const below = Math.max(EDGE, document.querySelector(HEADER)?.getBoundingClientRect().bottom ?? 0);
      const free = [...document.querySelectorAll(READ), target].map((node) => node.getBoundingClientRect());
      const lowest = Math.max(...free.slice(0, -1).map((each) => each.bottom));
      const places = [ // below the target, above it, below all that is read, beside it, at the window's end
        [at.left, at.bottom + GAP], [at.left, at.top - own.height - GAP], [at.left, lowest + GAP],
        [at.right + GAP, at.top], [at.left - own.width - GAP, at.top], [at.left, window.innerHeight],
      ].map(([x, y]) => [inside(x, own.width, window.innerWidth), inside(y, own.height, window.innerHeight, below)]);
      // of a figure, which may be as large as a telephone's screen, a part may be covered rather than of the rest
      const covered = ([x, y]) => free.reduce((sum, each, number) => sum + (number + 1 < free.length ? 100 : 1)
        * Math.max(0, Math.min(x + own.width, each.right) - Math.max(x, each.left))
        * Math.max(0, Math.min(y + own.height, each.bottom) - Math.max(y, each.top)), 0);
      const [left, top] = places.reduce((best, each) => (covered(each) < covered(best) ? each : best));
      box.style.left = `${left}px`;
      box.style.top = `${top}px`;
    }

    function show() {
      target = document.querySelector(steps[step][0]);
      text.textContent = steps[step][1];
      count.textContent = `${step + 1} of ${steps.length}`;
      box.setAttribute("aria-label", `Guide, ${count.textContent}`);
      skip.hidden = step + 1 === steps.length;
      next.textContent = skip.hidden ? "Done" : "Next";
      place();
    }

    function end() {
      box.remove();
      window.clearInterval(clock);
      document.removeEventListener("keydown", leave);
    }

    function leave(event) {
      if (event.key === "Escape") end();
    }

    skip.onclick = end;
    next.onclick = () => {
      step += 1;
      if (step === steps.length) end();
      else show();
    };
    document.addEventListener("keydown", leave);
    document.body.appendChild(box);
    const clock = window.setInterval(place, 250); // the page grows while it is drawn, and scrolls within itself
    show();
  }

  const watch = new MutationObserver(() => {
    if (!document.querySelector(FIGURE) || !document.querySelector(VIEWS)) return;
    if (asked().has("present") || asked().has("lesson")) return;
    watch.disconnect();
    try {
      window.localStorage.setItem(KEY, "shown");
    } catch { // read, but not written: full, or denied
      return;
    }
    guide();
  });
  watch.observe(document.body, { childList: true, subtree: true });
})();
