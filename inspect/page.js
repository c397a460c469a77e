"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const portion = 500; // rows drawn at once: what a browser lays out without a pause
  const most = 3000; // rows that it lays out in a second

  const digits = new Intl.NumberFormat("en");
  const count = (n) => digits.format(n);
  const percent = (part, whole) => (part > 0 && part < whole / 1000 ? "< 0.1" : (100 * part / (whole || 1)).toFixed(1)) + " %";
  const ratio = (raw, stored) => (stored > 0 ? (raw / stored).toFixed(2) : "–");

  function bytes(n) {
    const units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let unit = 0;
    for (; unit < 4 && n >= 1000; unit++) n /= 1024;
    return (unit === 0 ? n : n.toFixed(n < 10 ? 2 : n < 100 ? 1 : 0)) + " " + units[unit];
  }

  // make creates an element; text is never taken as HTML.
  function make(name, className, text) {
    const e = document.createElement(name);
    if (className) e.className = className;
    if (text !== undefined) e.textContent = text;
    return e;
  }

  function gauge(part, whole, text, wide) {
    const e = make("div", "gauge");
    const track = make("div", "track");
    const fill = make("div", "fill");
    fill.style.width = (whole > 0 ? 100 * part / whole : 0) + "%";
    track.setAttribute("aria-hidden", "true");
    track.append(fill);
    e.append(make("span", wide ? "wide" : "", text), track);
    return e;
  }

  // grid keeps a table drawn. A column is {title, value(row), cell(row),
  // className}: cell gives text or an element, value what sorts. list(compare)
  // gives the rows in order.
  function grid(section, columns, sort, descending, list) {
    const head = section.querySelector("thead tr");
    const body = section.querySelector("tbody");
    const more = section.querySelector(".more");
    let limit = portion;
    let drawn = new Map();

    const compare = (a, b) => {
      const x = sort.value(a), y = sort.value(b);
      return (x < y ? -1 : x > y ? 1 : 0) * (descending ? -1 : 1) || a.order - b.order;
    };

    function drawRow(row) {
      const tr = make("tr");
      columns.forEach((c, i) => {
        const cell = make(i === 0 ? "th" : "td", c.className);
        if (i === 0) cell.scope = "row";
        cell.append(c.cell(row, cell));
        tr.append(cell);
      });
      return tr;
    }

    function draw() {
      const rows = list(compare);
      const focused = document.activeElement;
      const shown = rows.slice(0, limit).map((row) => {
        if (!drawn.has(row)) drawn.set(row, drawRow(row));
        return drawn.get(row);
      });
      if (rows.length === 0) {
        const cell = make("td", "empty", "Nothing has this in its name.");
        cell.colSpan = columns.length;
        shown.push(make("tr"));
        shown[0].append(cell);
      }
      body.replaceChildren(...shown);
      if (body.contains(focused)) focused.focus();
      more.replaceChildren();
      const left = rows.length - limit;
      if (left > 0) {
        button("Show " + count(Math.min(left, portion)) + " more", () => { limit += portion; });
        if (left > portion && rows.length <= most) button("Show all " + count(rows.length), () => { limit = rows.length; });
      }
    }

    function button(text, act) {
      const b = make("button", "", text);
      b.type = "button";
      b.addEventListener("click", () => {
        const next = body.rows.length;
        act();
        draw();
        const first = body.rows[next];
        if (first) { first.tabIndex = -1; first.focus({preventScroll: true}); }
      });
      more.append(b);
    }

    columns.forEach((c) => {
      const th = make("th", c.className);
      const b = make("button", "", c.title);
      b.type = "button";
      th.scope = "col";
      b.addEventListener("click", () => {
        descending = sort === c ? !descending : Boolean(c.largestFirst);
        sort = c;
        mark();
        restart();
      });
      th.append(b);
      head.append(th);
      c.th = th;
    });

    function mark() {
      for (const c of columns) {
        if (c === sort) c.th.setAttribute("aria-sort", descending ? "descending" : "ascending");
        else c.th.removeAttribute("aria-sort");
      }
    }

    // restart draws the first portion of another order or choice.
    function restart() {
      limit = portion;
      draw();
    }

    mark();
    draw();
    section.hidden = false;
    return {
      draw,
      restart,
      redraw() { drawn = new Map(); restart(); },
    };
  }

  // The nodes come depth first; sums are what a node and all below it store.
  const nodes = data.nodes;
  const tops = [];
  let columnCount = 0;
  const path = [];
  nodes.forEach((n, i) => {
    n.order = i;
    n.below = [];
    n.raw ??= 0;
    n.stored ??= 0;
    n.blocks ??= 0;
    n.sum = {raw: n.raw, stored: n.stored, blocks: n.blocks};
    n.above = n.depth > 0 ? path[n.depth - 1] : null;
    path[n.depth] = n;
    (n.above ? n.above.below : tops).push(n);
    n.search = n.name.toLowerCase();
    if (n.column >= 0) columnCount++;
  });
  for (let i = nodes.length - 1; i >= 0; i--) {
    const {above, sum} = nodes[i];
    if (above) for (const k in sum) above.sum[k] += sum[k];
  }
  const stored = tops.reduce((total, n) => total + n.sum.stored, 0);

  function overview() {
    const section = document.getElementById("overview");
    const stack = section.querySelector(".stack");
    const legend = section.querySelector(".legend");
    const order = tops.toSorted((a, b) => b.sum.stored - a.sum.stored);
    const large = order.slice(0, order.length === 9 ? 9 : 8).map((n) => [n.name || "(no name)", n.sum.stored]);
    const rest = order.slice(large.length);
    if (rest.length > 0) large.push([count(rest.length) + " others", rest.reduce((total, n) => total + n.sum.stored, 0)]);
    large.forEach(([name, size], i) => {
      const part = make("span", "c" + i);
      part.style.flexGrow = size / stored;
      part.style.flexBasis = 0;
      part.title = name + ": " + percent(size, stored);
      stack.append(part);
      const item = make("li");
      item.append(make("i", "c" + i), make("bdi", "", name), make("span", "quiet", percent(size, stored)));
      legend.append(item);
    });
    section.hidden = false;
  }

  function columnsTable() {
    const section = document.getElementById("columns");
    const filter = document.getElementById("filter");
    const nested = document.getElementById("nested");
    const shown = document.getElementById("shown");
    const expand = document.getElementById("expand");
    const collapse = document.getElementById("collapse");
    const deep = nodes.length > tops.length;
    nested.checked = deep;
    for (const e of section.querySelectorAll(".nesting")) e.hidden = !deep;
    for (const n of nodes) n.open = nodes.length <= 60;

    const size = (n) => (nested.checked ? n.sum : n);

    function name(n, cell) {
      const e = make("div", "name");
      if (nested.checked && deep) {
        e.style.paddingLeft = Math.min(n.depth, 12) + "rem";
        e.append(n.below.length > 0 ? opener(n) : make("span", "leaf"));
        if (n.below.length > 0) cell.classList.add("place");
        if (n.depth > 0) e.append(make("span", "hidden", "level " + (n.depth + 1) + ": "));
      }
      const text = make("bdi", "", (nested.checked ? n.label : n.name) || "(no name)");
      text.title = n.name;
      e.append(text);
      return e;
    }

    function opener(n) {
      const b = make("button");
      b.type = "button";
      b.setAttribute("aria-label", "What is in " + (n.name || "(no name)"));
      b.setAttribute("aria-expanded", String(n.open));
      b.addEventListener("click", () => { n.open = !n.open; table.draw(); });
      n.opener = b;
      return b;
    }

    // list gives the nodes to show: all columns, or the open part of the tree,
    // of it what the filter matches and what leads there.
    function list(compare) {
      const wanted = filter.value.trim().toLowerCase();
      let found = 0;
      for (const n of nodes) n.shown = false;
      for (const n of nodes) {
        if (!n.search.includes(wanted)) continue;
        if (n.column >= 0) found++;
        for (let m = n; m && !m.shown; m = m.above) m.shown = true;
      }
      shown.textContent = count(found) + (wanted ? " of " + count(columnCount) : "") + (columnCount === 1 ? " column" : " columns");
      if (!nested.checked) return nodes.filter((n) => n.column >= 0 && n.search.includes(wanted)).sort(compare);
      const rows = [];
      const stack = tops.filter((n) => n.shown).sort(compare).reverse();
      while (stack.length > 0) {
        const n = stack.pop();
        rows.push(n);
        n.opener?.setAttribute("aria-expanded", String(n.open));
        if (n.open) stack.push(...n.below.filter((b) => b.shown).sort(compare).reverse());
      }
      return rows;
    }

    // find opens what leads to a match.
    function find() {
      const wanted = filter.value.trim().toLowerCase();
      for (const n of nodes) {
        if (wanted && n.search.includes(wanted)) for (let m = n.above; m && !m.open; m = m.above) m.open = true;
      }
      table.restart();
    }

    const columns = [
      {title: "Name", className: "", value: (n) => n.search, cell: name},
      {title: "#", className: "number minor", value: (n) => n.order, cell: (n) => (n.column >= 0 ? n.column : "")},
      {title: "Type", className: "minor", value: (n) => n.type ?? "", cell: (n) => n.type ?? ""},
      {title: "Values", className: "number minor", value: (n) => n.values ?? -1, largestFirst: true,
        cell: (n, cell) => {
          if (n.values !== undefined) return count(n.values);
          if (n.column >= 0) cell.title = "Known only after inspect --count";
          return n.column < 0 ? "" : "?";
        }},
      {title: "Blocks", className: "number minor", value: (n) => size(n).blocks, largestFirst: true, cell: (n) => count(size(n).blocks)},
      {title: "Raw", className: "number minor", value: (n) => size(n).raw, largestFirst: true, cell: (n) => bytes(size(n).raw)},
      {title: "Stored", className: "number", value: (n) => size(n).stored, largestFirst: true, cell: (n, cell) => {
        cell.title = count(size(n).stored) + " bytes" + (n.below.length > 0 && nested.checked ? ", " + count(n.stored) + " of them its own" : "");
        return bytes(size(n).stored);
      }},
      {title: "Ratio", className: "number", value: (n) => size(n).raw / (size(n).stored || Infinity), largestFirst: true,
        cell: (n) => ratio(size(n).raw, size(n).stored)},
      {title: "Share", className: "share", value: (n) => size(n).stored, largestFirst: true,
        cell: (n) => gauge(size(n).stored, stored, percent(size(n).stored, stored))},
    ];
    if (new Set(nodes.map((n) => n.codec).filter(Boolean)).size > 1) {
      columns.splice(3, 0, {title: "Codec", className: "minor", value: (n) => n.codec ?? "", cell: (n) => n.codec ?? ""});
    }
    const table = grid(section, columns, columns.find((c) => c.title === "Stored"), true, list);

    const setOpen = (open) => { for (const n of nodes) n.open = open; table.draw(); };
    filter.addEventListener("input", find);
    nested.addEventListener("change", () => {
      expand.hidden = collapse.hidden = !nested.checked;
      table.redraw();
    });
    expand.addEventListener("click", () => setOpen(true));
    collapse.addEventListener("click", () => setOpen(false));
  }

  function groupsTable() {
    const groups = data.groups;
    if (groups.length < 2) return;
    groups.forEach((g, i) => { g.order = i; });
    const largest = (key) => groups.reduce((m, g) => Math.max(m, g[key]), 0);
    const rows = largest("rows"), size = largest("bytes");
    const columns = [
      {title: "File", className: "", value: (g) => g.order, cell: (g) => make("bdi", "", g.name)},
      {title: "Rows", className: "share", value: (g) => g.rows, largestFirst: true, cell: (g) => gauge(g.rows, rows, count(g.rows), true)},
      {title: "Size", className: "share", value: (g) => g.bytes, largestFirst: true, cell: (g) => gauge(g.bytes, size, bytes(g.bytes), true)},
      {title: "Bytes per row", className: "number minor", value: (g) => g.bytes / g.rows || 0, largestFirst: true,
        cell: (g) => (g.rows > 0 ? (g.bytes / g.rows).toFixed(1) : "–")},
    ];
    grid(document.getElementById("groups"), columns, columns[0], false, (compare) => groups.toSorted(compare));
  }

  for (const e of document.querySelectorAll("data.bytes")) {
    e.title = count(e.value) + " bytes";
    e.textContent = bytes(Number(e.value));
  }
  for (const e of document.querySelectorAll("data.count")) e.textContent = count(e.value);
  if (stored > 0) overview();
  if (nodes.length > 0) columnsTable();
  groupsTable();
})();
