// The guide of a first visit: a box in the corner, and an outline at the form, the figure and the views of the first
// figure that is shown.
//
// Whether it has been shown is kept in the browser (localStorage); a browser that keeps nothing is not guided, because it
// would be at every visit. Nothing is sent to the server.
(() => {
  if (window.palimpsestGuide) return;
  window.palimpsestGuide = true;
  const KEY = __KEY__;
  const STEPS = __STEPS__; // [selector, sentence]
  const FIGURE = "[data-testid='stVegaLiteChart'] svg .role-mark", VIEWS = ".st-key-views", POINTED = "guided";
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

    function point() {
      if (!target?.isConnected) target = document.querySelector(steps[step][0]);
      if (!target || !document.querySelector(VIEWS)) return end(); // the reader went to another page
      target.classList.add(POINTED);
    }

    function show() {
      target?.classList.remove(POINTED);
      target = null;
      text.textContent = steps[step][1];
      count.textContent = `${step + 1} of ${steps.length}`;
      box.setAttribute("aria-label", `Guide, ${count.textContent}`);
      skip.hidden = step + 1 === steps.length;
      next.textContent = skip.hidden ? "Done" : "Next";
      point();
    }

    function end() {
      target?.classList.remove(POINTED);
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
    const clock = window.setInterval(point, 250); // what it speaks of is drawn again
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
