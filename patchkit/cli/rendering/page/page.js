"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const matrix = $("matrix"), panel = $("panel"), filters = $("filters");
  const fields = { patch: $("by-patch"), verdict: $("by-verdict"), text: $("by-text"), news: $("by-news") };
  const links = [...matrix.querySelectorAll("td a")];
  const columns = [...matrix.tHead.rows[0].cells];
  let opener = null;

  document.documentElement.classList.add("scripted");
  filters.hidden = false;

  // The grid pattern of WAI-ARIA: one stop for the Tab key, arrows inside.
  matrix.setAttribute("role", "grid");
  for (const link of links) {
    link.tabIndex = -1;
    link.closest("td").setAttribute("role", "gridcell");
  }
  const rove = (link) => {
    for (const other of matrix.querySelectorAll('td a[tabindex="0"]')) other.tabIndex = -1;
    link.tabIndex = 0;
  };
  const visible = (element) => !element.hidden && !element.closest("[hidden]");
  const rows = () => [...matrix.querySelectorAll("tbody tr")].filter(visible);
  const cellsOf = (row) => [...row.cells].map((cell) => (visible(cell) ? cell.querySelector("a") : null));

  const step = (link, down, right) => {
    const all = rows();
    let row = all.indexOf(link.closest("tr"));
    let column = link.closest("td").cellIndex;
    for (;;) {
      row += down;
      column += right;
      if (row < 0 || row >= all.length || column < 0 || column >= columns.length) return null;
      const found = cellsOf(all[row])[column];
      if (found) return found;
    }
  };
  const edge = (link, last) => {
    const found = cellsOf(link.closest("tr")).filter(Boolean);
    return last ? found[found.length - 1] : found[0];
  };
  const keys = {
    ArrowUp: (link) => step(link, -1, 0), ArrowDown: (link) => step(link, 1, 0),
    ArrowLeft: (link) => step(link, 0, -1), ArrowRight: (link) => step(link, 0, 1),
    Home: (link) => edge(link, false), End: (link) => edge(link, true),
  };
  matrix.addEventListener("keydown", (event) => {
    const link = event.target.closest("td a");
    if (!link || event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key === " ") { event.preventDefault(); open(link); return; }
    const move = keys[event.key];
    if (!move) return;
    event.preventDefault();
    const next = move(link);
    if (!next) return;
    rove(next);
    next.focus();
    next.scrollIntoView({ block: "nearest", inline: "nearest" });
  });

  // The answer of a cell, beside the matrix.
  const mark = (link) => {
    for (const other of matrix.querySelectorAll("[aria-current]")) other.removeAttribute("aria-current");
    if (link) link.setAttribute("aria-current", "true");
  };
  const open = (link) => {
    const answer = document.querySelector(link.getAttribute("href"));
    const body = answer.cloneNode(true);
    const title = body.querySelector("h3");
    $("panel-title").textContent = link.dataset.place.replace(/@[^@]*$/, "") + " on " + columns[link.closest("td").cellIndex].querySelector(".name").textContent;
    title.remove();
    $("panel-body").replaceChildren(...body.childNodes);
    panel.hidden = false;
    panel.scrollTop = 0;
    opener = link;
    rove(link);
    mark(link);
    panel.focus();
    remember(link.dataset.place);
  };
  const close = () => {
    if (panel.hidden) return;
    panel.hidden = true;
    mark(null);
    remember("");
    if (opener) opener.focus();
  };
  matrix.addEventListener("click", (event) => {
    const link = event.target.closest("td a");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    open(link);
  });
  $("close").addEventListener("click", close);
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") close(); });

  // Filters.
  const answerText = (link) => document.querySelector(link.getAttribute("href")).textContent.toLowerCase();
  const filter = () => {
    const patch = fields.patch.value, verdict = fields.verdict.value;
    const words = fields.text.value.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = (link) => link.dataset.verdict === verdict || link.dataset.state === verdict;
    for (const column of columns) {
      if (!column.dataset.target) continue;
      const at = column.cellIndex;
      const hide = fields.news.checked && column.classList.contains("fine");
      column.hidden = hide;
      for (const row of matrix.querySelectorAll("tbody tr")) row.cells[at].hidden = hide;
    }
    let shown = 0;
    for (const block of matrix.tBodies) {
      const wanted = !patch || block.dataset.patch === patch;
      let left = 0;
      for (const row of block.rows) {
        if (row.classList.contains("patch")) continue;
        const found = [...row.querySelectorAll("td a")].filter((link) => !link.closest("td").hidden);
        const told = words.length ? (row.textContent + " " + row.dataset.path + " " + row.title + " " + found.map(answerText).join(" ")).toLowerCase() : "";
        const fit = wanted && (!verdict || found.some(fits)) && words.every((word) => told.includes(word));
        row.hidden = !fit;
        left += fit;
        for (const link of row.querySelectorAll("td a")) link.classList.toggle("other", Boolean(verdict) && !fits(link));
      }
      block.hidden = !wanted || (left === 0 && (Boolean(verdict) || words.length > 0));
      shown += left;
    }
    $("shown").textContent = shown + " of " + matrix.querySelectorAll("tr[data-hunk]").length + " hunks";
    const stop = links.find((link) => link.tabIndex === 0 && visible(link)) || links.find(visible);
    if (stop) rove(stop);
  };

  // The address remembers filters and the open cell, so that a link leads to both.
  const remember = (place) => {
    const found = new URLSearchParams();
    if (fields.patch.value) found.set("patch", fields.patch.value);
    if (fields.verdict.value) found.set("verdict", fields.verdict.value);
    if (fields.text.value) found.set("text", fields.text.value);
    if (fields.news.checked) found.set("news", "1");
    if (place) found.set("cell", place);
    const hash = found.toString();
    history.replaceState(null, "", hash ? "#" + hash : location.pathname + location.search);
  };
  const recall = () => {
    const found = new URLSearchParams(location.hash.slice(1));
    fields.patch.value = found.get("patch") || "";
    fields.verdict.value = found.get("verdict") || "";
    fields.text.value = found.get("text") || "";
    fields.news.checked = found.has("news");
    filter();
    const link = links.find((each) => each.dataset.place === found.get("cell"));
    if (link) open(link);
  };
  const changed = () => { filter(); remember(panel.hidden || !opener ? "" : opener.dataset.place); };
  for (const kind of ["input", "change"]) filters.addEventListener(kind, changed);
  filters.addEventListener("reset", () => setTimeout(changed));
  filters.addEventListener("submit", (event) => event.preventDefault());
  window.addEventListener("hashchange", () => { if (/(^|[#&])(cell|patch|verdict|text|news)=/.test(location.hash)) recall(); });
  recall();
})();
