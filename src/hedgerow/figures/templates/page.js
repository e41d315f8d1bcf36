"use strict";
(() => {
  const root = document.documentElement;
  root.classList.add("js");

  // Pointing at a mark shows its numbers at once, also by touch; without this script the browser's own hint does.
  const hint = document.createElement("div");
  hint.className = "hint";
  hint.hidden = true;
  document.body.append(hint);
  const told = (mark) => {
    const title = mark.querySelector(":scope > title");
    if (title && !mark.dataset.said) { mark.dataset.said = title.textContent; }
    return mark.dataset.said || "";
  };
  const away = () => { hint.hidden = true; };
  document.addEventListener("pointermove", (event) => {
    const mark = event.target instanceof Element ? event.target.closest("svg g, svg circle") : null;
    const words = mark && mark.querySelector(":scope > title") ? told(mark) : "";
    if (!words) { away(); return; }
    hint.textContent = words;
    hint.hidden = false;
    const x = Math.min(event.clientX + 14, window.innerWidth - hint.offsetWidth - 8);
    const y = event.clientY - hint.offsetHeight - 10;
    hint.style.left = Math.max(4, x) + "px";
    hint.style.top = (y < 4 ? event.clientY + 18 : y) + "px";
  });
  document.addEventListener("scroll", away, { passive: true });
  document.addEventListener("pointerleave", away);

  // Choosing one of many cards; printing, and searching without a choice, show them all.
  for (const box of document.querySelectorAll("[data-choose]")) {
    const cards = [...box.querySelectorAll(":scope > [data-name]")];
    if (cards.length < 2) { continue; }
    const label = document.createElement("label");
    label.className = "chooser";
    label.textContent = box.dataset.choose + " ";
    const select = document.createElement("select");
    const all = new Option("all " + cards.length, "");
    select.append(all);
    cards.forEach((card, i) => select.append(new Option(card.dataset.name, String(i))));
    label.append(select);
    box.before(label);
    const show = () => {
      cards.forEach((card, i) => card.classList.toggle("off", select.value !== "" && select.value !== String(i)));
      box.classList.toggle("one", select.value !== "");
    };
    select.addEventListener("change", show);
    if (box.dataset.first !== undefined) { select.value = "0"; show(); }
    for (const link of document.querySelectorAll('a[href^="#"]')) {
      link.addEventListener("click", () => {
        const i = cards.findIndex((card) => card.querySelector(link.getAttribute("href")));
        if (i >= 0 && select.value !== "") { select.value = String(i); show(); }
      });
    }
  }

  // Sliding over cards that stand in an order, such as years: one is seen at a time; printing shows them all.
  for (const box of document.querySelectorAll("[data-slide]")) {
    const cards = [...box.querySelectorAll(":scope > [data-name]")];
    if (cards.length < 2) { continue; }
    const label = document.createElement("label");
    label.className = "chooser";
    const slider = document.createElement("input");
    Object.assign(slider, { type: "range", min: 0, max: cards.length - 1, step: 1, value: box.dataset.at || 0 });
    const said = document.createElement("output");
    label.append(box.dataset.slide + " ", slider, " ", said);
    box.before(label);
    const show = () => {
      cards.forEach((card, i) => card.classList.toggle("off", String(i) !== slider.value));
      said.textContent = cards[Number(slider.value)].dataset.name;
      slider.setAttribute("aria-valuetext", said.textContent);
    };
    slider.addEventListener("input", show);
    show();
  }

  // Picking a group of a scatter leaves the others faint.
  for (const box of document.querySelectorAll("[data-pick]")) {
    const dots = [...box.querySelectorAll("circle[data-group]")];
    const names = [...new Set(dots.map((dot) => dot.dataset.group))];
    if (names.length < 2) { continue; }
    const label = document.createElement("label");
    label.className = "chooser";
    label.textContent = box.dataset.pick + " ";
    const select = document.createElement("select");
    select.append(new Option("all " + names.length, ""), ...names.map((name) => new Option(name, name)));
    label.append(select);
    box.before(label);
    select.addEventListener("change", () => {
      for (const dot of dots) { dot.classList.toggle("away", select.value !== "" && select.value !== dot.dataset.group); }
    });
  }

  // A table sorts by the column whose head is pressed.
  const value = (row, i) => {
    const words = row.cells[i].textContent.trim();
    const number = Number(words.replace(/[,\s%]/g, "").replace("below", ""));
    return words !== "" && !Number.isNaN(number) ? number : words.toLowerCase();
  };
  for (const table of document.querySelectorAll("table.sorts")) {
    [...table.tHead.rows[0].cells].forEach((head, i) => {
      const press = document.createElement("button");
      press.type = "button";
      press.append(...head.childNodes);
      head.append(press);
      press.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") !== "ascending";
        for (const other of table.tHead.rows[0].cells) { other.removeAttribute("aria-sort"); }
        head.setAttribute("aria-sort", down ? "ascending" : "descending");
        const rows = [...table.tBodies[0].rows].sort((one, two) => {
          const a = value(one, i), b = value(two, i);
          const order = typeof a === typeof b ? (a < b ? -1 : a > b ? 1 : 0) : typeof a === "number" ? -1 : 1;
          return down ? order : -order;
        });
        table.tBodies[0].append(...rows);
      });
    });
  }
})();
