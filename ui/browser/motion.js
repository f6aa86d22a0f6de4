// Moves the points of maps from layer to layer, after the layer's slider.
//
// A map holds its points of every layer. A parameter of Vega says where between the layers they are drawn, and is bound
// to a hidden field of the page (`core.results.drawing.maps`). The field follows the slider, however it is moved: evenly,
// or at once in a browser that prefers less motion. No chart is drawn again, and nothing is sent to the server.
//
// A slider that turns one map turns those beside it, too.
(() => {
  if (window.palimpsestMotion) return;
  window.palimpsestMotion = true;
  const SLIDER = __SLIDER__;
  const EACH = 600, LONGEST = 1000; // milliseconds from one layer to the next, and to any
  const still = window.matchMedia("(prefers-reduced-motion: reduce)");
  const box = document.body.appendChild(document.createElement("input"));
  box.type = "hidden";
  box.id = __BOX__;
  let slider = null, target = 0, turn = 0;

  function put(stage) {
    box.value = String(stage);
    box.dispatchEvent(new Event("input"));
  }

  function move() {
    const from = Number(box.value), began = performance.now(), own = (turn += 1);
    const time = still.matches ? 0 : Math.min(LONGEST, EACH * Math.abs(target - from));
    const step = (now) => {
      if (own !== turn) return; // the slider has moved on
      const part = time ? Math.min(Math.max(now - began, 0) / time, 1) : 1;
      put(from + (target - from) * part * part * (3 - 2 * part));
      if (part < 1) requestAnimationFrame(step);
    };
    step(began);
  }

  function look() {
    const found = document.querySelector(SLIDER);
    if (!found) return;
    const stage = Number(found.value);
    if (found !== slider) { // another map
      [slider, target] = [found, stage];
      turn += 1;
      put(stage);
    } else if (stage !== target) {
      target = stage;
      move();
    }
  }

  document.addEventListener("input", ({ target, isTrusted }) => { // maps beside each other are turned together
    if (!isTrusted || !target.closest?.(".vega-bind")) return;
    for (const other of document.querySelectorAll(`.vega-bind input[name="${target.name}"]`)) {
      if (other === target) continue;
      other.value = target.value;
      other.dispatchEvent(new Event("input", { bubbles: true })); // the page draws its track
    }
  });

  const changes = { childList: true, subtree: true, attributes: true, attributeFilter: ["aria-valuetext"] };
  new MutationObserver(look).observe(document.body, changes);
  look();
})();
