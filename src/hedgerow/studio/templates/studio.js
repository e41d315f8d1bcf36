"use strict";
(() => {
  document.documentElement.classList.add("js");
  const body = document.body;
  const at = body.dataset.job ? body.dataset.root + "/job/" + encodeURIComponent(body.dataset.job) + "/" : "";

  // A form that was begun is not lost when the file changes under it: the page says so and waits.
  let begun = false;
  for (const form of document.querySelectorAll("form[data-keep]")) {
    form.addEventListener("input", () => { begun = true; });
    form.addEventListener("submit", () => { begun = false; });
  }
  // What was filled in and refused stands in the form again, to be mended; nothing of it was saved.
  if (body.dataset.refused) {
    const sent = JSON.parse(body.dataset.refused);
    const told = (e) => (sent[e.name] || []).includes(e.value);
    const fits = (f) => [...f.querySelectorAll("input[type=hidden]")].every((e) => e.name === "digest" || told(e)) && [...f.elements].some((e) => e.name in sent && e.type !== "hidden" && e.tagName !== "BUTTON");
    const shared = (f) => new Set([...f.elements].map((e) => e.name).filter((n) => n in sent)).size;
    const form = [...document.querySelectorAll("form[method=post]")].filter(fits).sort((a, b) => shared(b) - shared(a))[0];
    if (form) {
      const left = {}, one = (e) => e.type === "radio" ? e.name : e;
      const ticked = new Set([...form.elements].filter((e) => "defaultChecked" in e && e.checked !== e.defaultChecked).map(one));
      for (const e of form.elements) {
        if (!e.name || e.type === "hidden" || e.tagName === "BUTTON") { continue; }
        const values = sent[e.name] || [];
        if (e.type === "checkbox" || e.type === "radio") { if (!ticked.has(one(e))) { e.checked = values.includes(e.value); } continue; }  // nor over what is ticked
        const i = left[e.name] || 0;
        if (i < values.length && (e.defaultValue === undefined || e.value === e.defaultValue)) { e.value = values[i]; }  // not over what is typed already
        left[e.name] = i + 1;
      }
      for (let up = form; up; up = up.parentElement) { if (up.tagName === "DETAILS") { up.open = true; } }
      for (const inner of form.querySelectorAll("details.change")) { inner.open = true; }
      const reason = document.querySelector("main > .refusal[role=alert]");
      if (reason) {  // the form may be far below
        const way = document.createElement("a");
        form.id = form.id || "again"; way.href = "#" + form.id; way.textContent = "To what you filled in";
        reason.append(" ", way);
      }
      begun = !body.dataset.waiting;  // what waits for tables to be listed is not lost when they are there
    }
  }
  for (const form of document.querySelectorAll("form[method=post]")) {
    form.addEventListener("submit", () => { window.setTimeout(() => { for (const b of form.querySelectorAll("button")) { b.disabled = true; } }, 0); });
  }

  // Whoever is leaving is not called back by a page that draws itself anew.
  let leaving = false;
  const leave = () => { leaving = true; window.setTimeout(() => { leaving = false; }, 8000); };
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a[href]") : null;
    if (link && !link.target && !link.hasAttribute("download") && !link.getAttribute("href").startsWith("#")) { leave(); }
  });
  document.addEventListener("submit", leave);
  window.addEventListener("pagehide", () => { leaving = true; });
  window.addEventListener("pageshow", () => { leaving = false; body.inert = false; });

  // The page as it is now. What answers a form is asked for anew: to reload it would send the form again.
  // Until it is there nothing can be ticked: it would be ticked on a page that is gone.
  const fresh = () => { body.inert = true; if (body.dataset.posted) { location.replace(location.pathname + location.search); } else { location.reload(); } };

  // Whoever goes by keyboard is not interrupted, and stands at the same place when the page was drawn anew.
  let typed = 0;
  document.addEventListener("keydown", () => { typed = Date.now(); });
  const mark = (e) => [e.tagName, e.name || "", e.value || "", e.getAttribute("href") || "", e.textContent.trim().slice(0, 60)].join("|");
  const again = () => {
    const here = document.activeElement;
    if (here && here !== body) { sessionStorage.setItem("place", location.pathname + "\n" + mark(here)); }
    fresh();
  };
  const [where, what] = (sessionStorage.getItem("place") || "").split("\n");
  sessionStorage.removeItem("place");
  if (where === location.pathname) {
    const same = [...document.querySelectorAll("a[href], button, input, select, summary, [tabindex]")].find((e) => mark(e) === what);
    if (same) { same.focus({ preventScroll: true }); }
  }

  // The page follows the files, and the work.
  const news = document.getElementById("news");
  const follow = async () => {
    let wait = 1500;
    try {
      const answer = await fetch(at + "state" + (body.dataset.top ? "?top=" + body.dataset.top : ""), { cache: "no-store" });
      if (answer.ok) {
        const now = await answer.json(), top = document.querySelector("header.top");
        if (now.top && !top.contains(document.activeElement)) {  // the ticks of the road, which were not known at once
          top.replaceChildren(...new DOMParser().parseFromString(now.top, "text/html").body.childNodes);
          delete body.dataset.top;
        }
        if (news.dataset.gone) { news.textContent = ""; delete news.dataset.gone; }
        for (const work of now.work) {
          const card = document.querySelector('[data-work="' + work.kind + '"]');
          if (!card) { continue; }
          const list = card.querySelector(".phases");
          if (list.children.length !== work.phases.length || (list.lastElementChild && list.lastElementChild.textContent !== work.phases[work.phases.length - 1])) {
            list.replaceChildren(...work.phases.map((p) => { const li = document.createElement("li"); li.textContent = p; return li; }));
            list.scrollTop = list.scrollHeight;
          }
          const step = card.querySelector(".step"), said = work.step || (work.phases.length ? "" : "It is starting.");
          if (step.textContent !== said) { step.textContent = said; }
          wait = 700;
        }
        if ((now.state !== body.dataset.state || document.querySelector("[data-soon]")) && !leaving) {
          if (!begun && Date.now() - typed > 1500) { again(); return; }
          if (begun && !news.firstChild) {
            news.textContent = "A file or the work has changed since this page was drawn. ";
            const press = document.createElement("button");
            press.type = "button"; press.className = "plain"; press.textContent = "Show it as it is now";
            press.addEventListener("click", fresh);
            news.append(press);
          }
        }
      }
    } catch (gone) {
      news.textContent = "The studio does not answer: start it again in the terminal, and this page goes on.";
      news.dataset.gone = "yes";
    }
    window.setTimeout(follow, wait);
  };
  if (at) { window.setTimeout(follow, 700); }

  // Epsilon: the slider, the number, the odds and the forecasts go together, from the curve that is on the page.
  const slider = document.getElementById("slider"), number = document.getElementById("epsilon");
  const held = document.getElementById("curve");
  const curve = held ? JSON.parse(held.textContent) : null;
  const between = (points, e, key) => {
    const known = points.filter((p) => p[key] !== null && p[key] > 0);
    if (!known.length) { return null; }
    if (e <= known[0].e) { return known[0][key]; }
    for (let i = 1; i < known.length; i += 1) {
      if (e <= known[i].e) {
        const a = known[i - 1], b = known[i], t = Math.log(e / a.e) / Math.log(b.e / a.e);
        return Math.exp(Math.log(a[key]) * (1 - t) + Math.log(b[key]) * t);
      }
    }
    return known[known.length - 1][key];
  };
  const percent = (x) => (x >= 0.1 ? (100 * x).toFixed(0) : (100 * x).toFixed(1)) + " %";
  const small = (x) => (Math.abs(x) >= 100 ? Math.round(x).toLocaleString("en") : x.toFixed(Math.abs(x) >= 0.01 ? 3 : Math.min(8, Math.ceil(-Math.log10(Math.abs(x) || 1)) + 1)));
  const of100 = (p) => (p < 0.995 ? (100 * p).toFixed(0) : p < 0.9995 ? (100 * p).toFixed(1) : "nearly 100");
  const forecast = (e) => {
    for (const odd of document.querySelectorAll(".odd")) {
      const prior = Number(odd.dataset.prior), after = prior / (prior + (1 - prior) * Math.exp(-e * Number(odd.dataset.times)));
      odd.querySelector(".after").textContent = of100(after);
      odd.querySelector(".after-bar").setAttribute("width", String(200 * after));
    }
    if (!curve) { return; }
    const table = document.getElementById("forecasts"), rows = table.querySelectorAll("tbody tr");
    const sure = Number(table.dataset.runs) >= Number(table.dataset.enough);
    curve.forEach((use, i) => {
      const show = use.share ? percent : small, tried = use.points.find((p) => Math.abs(p.e / e - 1) < 1e-9);
      const error = between(use.points, e, "error"), high = between(use.points, e, "high");
      const span = use.points.length ? [use.points[0].e, use.points[use.points.length - 1].e] : [0, 0];
      const beyond = e < span[0] * 0.999 || e > span[1] * 1.001;
      const met = tried ? tried.met : error === null || beyond ? null : (high === null ? error : high) <= use.tolerance;
      rows[i].querySelector(".error").textContent = error === null ? "-" : show(error);
      rows[i].querySelector(".high").textContent = high === null ? "" : show(high);
      const tag = rows[i].querySelector(".tag");
      tag.className = "tag " + (met === null || (met && !sure) ? "open" : met ? "met" : "missed");
      tag.textContent = beyond ? "beyond what was tried" : met === null ? "not judged" : sure ? (met ? "expected to be met" : "expected to be missed") : met ? "within it in all runs" : "beyond it in a run";
    });
    for (const figure of document.querySelectorAll(".curve figure")) {
      const low = Number(figure.dataset.low), high = Number(figure.dataset.high), mark = figure.querySelector("line.here");
      if (!mark) { continue; }
      const wide = figure.querySelector("svg").viewBox.baseVal.width;
      const x = 64 + Math.log(Math.min(Math.max(e, low), high) / low) / Math.log(high / low) * (wide - 12 - 64);
      mark.setAttribute("x1", x.toFixed(1)); mark.setAttribute("x2", x.toFixed(1));
    }
  };
  if (slider && number) {
    const low = Number(slider.dataset.low), high = Math.max(Number(slider.dataset.high), Number(slider.dataset.low) * 1.01);
    const place = (e) => String(Math.round(1000 * Math.log(Math.min(Math.max(e, low), high) / low) / Math.log(high / low)));
    const tell = (e) => { slider.setAttribute("aria-valuetext", "epsilon " + e); forecast(Number(e)); };
    slider.addEventListener("input", () => {
      const e = low * Math.pow(high / low, Number(slider.value) / 1000);
      number.value = String(Number(e.toPrecision(2)));
      tell(number.value);
    });
    number.addEventListener("input", () => { const e = Number(number.value); if (e > 0) { slider.value = place(e); tell(number.value); } });
    for (const press of document.querySelectorAll("[data-use]")) {
      press.addEventListener("click", () => { number.value = press.dataset.use; slider.value = place(Number(number.value)); tell(number.value); begun = true; });
    }
    slider.value = place(Number(number.value));
    tell(number.value);
  }

  // Bins: the fields of one way to say them; edges that are dragged, or moved by arrow keys.
  const EPOCH = 86400000;
  for (const select of document.querySelectorAll("select[name=mode]")) {
    const form = select.form, figure = form.querySelector(".bins");
    const turn = () => { form.dataset.bins = select.value; if (figure) { draw(form, figure, select); } };
    select.addEventListener("change", turn);
    for (const name of ["edges", "low", "high", "width"]) {
      const field = form.elements[name];
      if (field) { field.addEventListener("change", turn); }
    }
    turn();
  }
  function draw(form, figure, select) {
    const picture = figure.querySelector("svg"), low = Number(picture.dataset.low), high = Number(picture.dataset.high);
    const left = Number(picture.dataset.left), wide = picture.viewBox.baseVal.width, tall = picture.viewBox.baseVal.height;
    const dated = figure.dataset.date === "yes", whole = figure.dataset.whole === "yes" || dated;
    const read = (word) => (dated ? Date.parse(word.trim()) / EPOCH : Number(word.trim()));
    const write = (x) => (dated ? new Date(Math.round(x) * EPOCH).toISOString().slice(0, 10) : String(whole ? Math.round(x) : Number(x.toPrecision(6))));
    const fields = select.value === "edges" ? null : select.value === "equal" ? [form.elements.low, form.elements.high] : [];
    const edges = () => (fields ? fields.map((f) => read(f.value)) : form.elements.edges.value.split(",").filter((w) => w.trim()).map(read));
    const store = (list) => {
      if (fields) { fields.forEach((f, i) => { f.value = write(list[i]); }); } else { form.elements.edges.value = list.map(write).join(", "); }
      begun = true;
      form.querySelector("details.change").open = true;
    };
    figure.dataset.mode = select.value;
    figure.classList.add("live");
    const old = figure.querySelector(".handles");
    if (old) { old.remove(); }
    if (edges().some((e) => Number.isNaN(e)) || edges().length > 40) { return; }
    const space = "http://www.w3.org/2000/svg", layer = document.createElementNS(space, "svg");
    layer.setAttribute("viewBox", "0 0 " + wide + " " + tall);
    layer.setAttribute("class", "handles");
    layer.setAttribute("role", "group");
    layer.setAttribute("aria-label", "Edges of the bins of " + figure.dataset.name);
    const x = (e) => left + (Math.min(Math.max(e, low), high) - low) / (high - low) * (wide - 2 * left);
    edges().forEach((e, i) => {
      const g = document.createElementNS(space, "g");
      g.setAttribute("tabindex", "0");
      g.setAttribute("role", "slider");
      g.setAttribute("aria-label", "Edge " + (i + 1) + " of " + figure.dataset.name);
      const part = (kind, names) => { const p = document.createElementNS(space, kind); for (const [k, v] of Object.entries(names)) { p.setAttribute(k, String(v)); } g.append(p); return p; };
      const hit = part("rect", { y: 0, width: 14, height: tall - 16 }), line = part("line", { y1: 8, y2: tall - 18 }), knob = part("circle", { cy: 8, r: 5 });
      const past = whole && i === edges().length - 1 ? 1 : 0;  // the last whole number counts: its bin ends where the next would begin
      const show = (value) => {
        const px = x(value + past);
        hit.setAttribute("x", px - 7); line.setAttribute("x1", px); line.setAttribute("x2", px); knob.setAttribute("cx", px);
        g.setAttribute("aria-valuenow", String(value)); g.setAttribute("aria-valuetext", write(value));
      };
      const reach = (list) => [i > 0 ? list[i - 1] : -Infinity, i < list.length - 1 ? list[i + 1] : Infinity];
      const move = (value) => {
        const list = edges(), [least, most] = reach(list), gap = whole ? 1 : (high - low) / 1000;
        list[i] = Math.min(Math.max(whole ? Math.round(value) : value, least + gap), most - gap);
        store(list); show(list[i]);
      };
      g.setAttribute("aria-valuemin", String(low)); g.setAttribute("aria-valuemax", String(high));
      g.addEventListener("keydown", (event) => {
        const unit = whole ? Math.max(1, Math.round((high - low) / 200)) : (high - low) / 200;
        const by = { ArrowLeft: -unit, ArrowDown: -unit, ArrowRight: unit, ArrowUp: unit, PageDown: -10 * unit, PageUp: 10 * unit }[event.key];
        if (by) { event.preventDefault(); move(edges()[i] + by); }
        if (event.key === "Delete" && !fields && edges().length > 2) { event.preventDefault(); store(edges().filter((_, j) => j !== i)); draw(form, figure, select); }
      });
      g.addEventListener("pointerdown", (event) => {
        g.setPointerCapture(event.pointerId); g.focus(); event.preventDefault();
        const drag = (now) => { const box = layer.getBoundingClientRect(); move(low + ((now.clientX - box.left) / box.width * wide - left) / (wide - 2 * left) * (high - low) - past); };
        g.addEventListener("pointermove", drag);
        g.addEventListener("pointerup", () => g.removeEventListener("pointermove", drag), { once: true });
      });
      show(e);
      layer.append(g);
    });
    figure.append(layer);
  }
})();
