// Highlights what is under the pointer in every chart of the page: marks of the same `who` stay, the others fade.
//
// A click on a name, beside a line or in a legend, switches its marks off, and on again, in every chart of the page.
//
// Each chart is a separate Vega view, so a selection of Vega would not reach the others, and it would also be in the
// downloaded files. Every mark drawn as SVG has its row of data (`__data__`), so the marks themselves are faded: no
// chart is drawn again, and nothing is sent to the server.
(() => {
  if (window.palimpsestHover) return;
  window.palimpsestHover = true;
  const CHART = "[data-testid='stVegaLiteChart']";
  const FADED = 0.18, LIFTED = 0.85;
  const NEAR = [0, 4, 8]; // pixels around the pointer: a line is two pixels wide
  const LINES = new Set(["line", "symbol", "rule"]);
  const off = new Set(); // names that are switched off
  let shown = "", touched = [], asked = null, page = window.location.pathname, faint = [], due = false;

  const item = (node) => (node && node.__data__ && node.__data__.mark ? node.__data__ : null);
  const kind = (node) => item(node)?.mark.marktype ?? "";
  const whose = (node) => {
    const found = item(node);
    if (!found || kind(node) === "group") return "";
    const row = found.datum ?? {};
    if (legend(node)) return String(row.value ?? "");
    return typeof row.who === "string" ? row.who : "";
  };
  const legend = (node) => String(item(node).mark.role).startsWith("legend");

  function named(chart, x, y) { // the name at a line's end may ignore the pointer
    for (const text of chart.querySelectorAll("svg text")) {
      const box = text.getBoundingClientRect();
      if (x >= box.left && x <= box.right && y >= box.top && y <= box.bottom && whose(text)) return whose(text);
    }
    return "";
  }

  function pointed(x, y) {
    let band = "";
    for (const far of NEAR) {
      for (let turn = 0; turn < (far ? 8 : 1); turn += 1) {
        const angle = (turn * Math.PI) / 4;
        const node = document.elementFromPoint(x + far * Math.cos(angle), y + far * Math.sin(angle));
        if (!node || !node.closest(CHART) || !whose(node)) continue;
        if (kind(node) !== "area") return whose(node);
        band = band || whose(node);
      }
    }
    const chart = document.elementFromPoint(x, y)?.closest(CHART);
    return (chart && named(chart, x, y)) || band;
  }

  function show(who) {
    if (who === shown) return;
    touched.forEach((node) => node.style.removeProperty("opacity"));
    [shown, touched] = [who, []];
    if (!who) return;
    const wanted = new Set(who.split("\n"));
    const same = (node) => whose(node).split("\n").some((one) => wanted.has(one));
    for (const chart of document.querySelectorAll(CHART)) {
      const all = marksOf(chart);
      const marks = all.filter((node) => !legend(node));
      if (!marks.some(same)) continue; // another kind of chart
      const known = new Set(marks.flatMap((node) => whose(node).split("\n")));
      for (const node of all.filter((one) => !legend(one) || known.has(whose(one)))) {
        const own = Number(node.getAttribute("opacity") ?? 1);
        const opacity = same(node) ? (LINES.has(kind(node)) ? Math.max(own, LIFTED) : own) : FADED * own;
        node.style.opacity = String(opacity);
        touched.push(node);
      }
    }
  }

  // A line's own name comes first, then the model's; a number in brackets belongs to one chart.
  const series = (who) => who.split("\n")[0].replace(/ \([^)]*\)$/, "");
  const marksOf = (chart) => [...chart.querySelectorAll("svg :is(path, text, line)")].filter(whose);

  function switchable(chart, x, y) { // the name of a line, where the pointer is on it
    const node = document.elementFromPoint(x, y);
    const who = series(named(chart, x, y) || (node && item(node) && legend(node) ? whose(node) : ""));
    const drawn = (mark) => kind(mark) === "line" && !legend(mark) && series(whose(mark)) === who;
    return who && marksOf(chart).some(drawn) ? who : "";
  }

  function follow() { // another page begins with every line
    if (page !== window.location.pathname) off.clear();
    page = window.location.pathname;
  }

  function hide() { // names stay, struck through, to be clicked again
    due = false;
    follow();
    faint.forEach((node) => ["visibility", "text-decoration"].forEach((name) => node.style.removeProperty(name)));
    faint = [];
    if (!off.size) return;
    for (const node of [...document.querySelectorAll(CHART)].flatMap(marksOf)) {
      if (!off.has(series(whose(node)))) continue;
      if (kind(node) === "text") node.style.textDecoration = "line-through";
      else if (!legend(node)) node.style.visibility = "hidden";
      faint.push(node);
    }
  }

  document.addEventListener("click", (event) => {
    const chart = event.target.closest?.(CHART);
    const who = chart ? switchable(chart, event.clientX, event.clientY) : "";
    if (!who) return;
    event.stopPropagation(); // no click on a point
    follow(); // before this click counts: nothing looks at the address while no line is off
    if (!off.delete(who)) off.add(who);
    hide();
  }, true);
  new MutationObserver(() => { // a chart that is drawn again has lost its styles
    if (!off.size || due) return;
    due = true;
    requestAnimationFrame(hide);
  }).observe(document.body, { childList: true, subtree: true });

  // Keyboard: a chart with points is a stop of the tab key. Left and right go along a line, up and down from line to
  // line (between points without lines: to the nearest in that direction); what a point says is shown and read out.
  const KEYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1], Enter: null, Escape: null };
  const HELP = "Arrow keys read its points one by one, Enter clicks.";
  let said = null, at = null;
  const points = (chart) => marksOf(chart).filter((node) => kind(node) === "symbol" && !legend(node)
    && node.getAttribute("opacity") !== "0" && getComputedStyle(node).visibility !== "hidden");
  const centre = (node) => {
    const box = node.getBoundingClientRect();
    return [box.x + box.width / 2, box.y + box.height / 2];
  };
  const words = (node) => (node.getAttribute("aria-label") ?? whose(node)).replaceAll("; ", ", ");

  function step(chart, [right, down]) { // the next point from `at`, or the first
    const all = points(chart).map((node) => ({ node, line: series(whose(node)), x: centre(node)[0], y: centre(node)[1] }));
    const here = all.find(({ node }) => node === at);
    if (!here) return all.sort((a, b) => a.x - b.x || a.y - b.y)[0]?.node;
    const own = all.filter(({ line }) => line === here.line);
    if (right) {
      const row = own.length > 1 ? own : all;
      const ahead = row.filter(({ node, x }) => node !== at && (x - here.x) * right > 0.5);
      return ahead.sort((a, b) => (a.x - b.x) * right || Math.abs(a.y - here.y) - Math.abs(b.y - here.y))[0]?.node;
    }
    const near = new Map(); // of every line, its point that is nearest across
    for (const point of all.filter(({ node, line }) => node !== at && !(own.length > 1 && line === here.line))) {
      const best = near.get(point.line);
      if (!best || Math.abs(point.x - here.x) < Math.abs(best.x - here.x)) near.set(point.line, point);
    }
    const ahead = [...near.values()].filter(({ y }) => (y - here.y) * down > 0.5);
    return ahead.sort((a, b) => (a.y - b.y) * down)[0]?.node;
  }

  function say(node) {
    at = node;
    show(node ? whose(node) : "");
    if (!said) {
      said = document.body.appendChild(document.createElement("div"));
      said.className = "point-said";
      said.setAttribute("role", "status");
    }
    said.hidden = !node;
    said.textContent = node ? words(node) : "";
    if (!node) return;
    const [x, y] = centre(node);
    const left = Math.max(8, Math.min(x + 14, innerWidth - said.offsetWidth - 8));
    said.style.left = `${left}px`;
    said.style.top = `${Math.max(8, y - said.offsetHeight - 10)}px`;
  }

  const stopOf = (target) => target.closest?.(`${CHART} [data-points]`);
  window.addEventListener("keydown", (event) => { // before the page's own shortcuts
    const stop = stopOf(event.target);
    if (!stop || !(event.key in KEYS) || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && !at) return; // leaves the presentation
    event.preventDefault();
    event.stopImmediatePropagation();
    const node = at?.isConnected && stop.contains(at) ? at : null;
    if (event.key === "Escape") say(null);
    else if (event.key !== "Enter") say(step(stop.closest(CHART), KEYS[event.key]) ?? node);
    else if (node) {
      const [clientX, clientY] = centre(node);
      for (const type of ["pointerdown", "pointerup", "click"])
        node.dispatchEvent(new PointerEvent(type, { bubbles: true, clientX, clientY, pointerType: "mouse" }));
    }
  }, true);
  document.addEventListener("focusout", (event) => { if (stopOf(event.target)) say(null); });
  document.addEventListener("scroll", () => { if (at) say(null); }, { passive: true, capture: true });

  function reachable() { // a chart that has been drawn
    arriving = false;
    if (at && !at.isConnected) say(null);
    for (const svg of document.querySelectorAll(`${CHART} svg:not([data-points])`)) {
      const chart = svg.closest(CHART);
      if (!chart || !points(chart).length) continue;
      svg.dataset.points = "";
      svg.setAttribute("tabindex", "0");
      svg.setAttribute("aria-description", HELP);
    }
  }
  let arriving = false;
  new MutationObserver(() => {
    if (arriving) return;
    arriving = true;
    requestAnimationFrame(reachable);
  }).observe(document.body, { childList: true, subtree: true });

  document.addEventListener("pointermove", (event) => {
    if (asked === null) requestAnimationFrame(() => {
      const [x, y] = asked;
      asked = null;
      const chart = document.elementFromPoint(x, y)?.closest(CHART);
      show(chart ? pointed(x, y) : "");
      if (chart) chart.style.cursor = switchable(chart, x, y) ? "pointer" : "";
    });
    asked = [event.clientX, event.clientY];
  }, { passive: true });
  document.addEventListener("pointerleave", () => show(""));
})();
