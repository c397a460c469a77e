"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const portion = 500; // rows drawn at once: a browser lays them out without a pause
  const most = 3000; // rows that a browser lays out in a second

  // words explains the headings.
  const words = {
    name: "The field’s path: [] is an array, > a map, / a branch of a union, # a field or value inside",
    number: "Position of the column in the files",
    type: "Type of the values in the schema; [] marks columns with lengths: lists and optional values",
    as: "Type of the values in the files",
    encoding: "How the values of a block are written before compression",
    codec: "Compression of the column’s blocks",
    values: "Values in the column, without the lengths of lists and without missing values of optional fields",
    blocks: "Pieces of a column, each compressed, checked and read separately",
    raw: "Bytes of the values before compression",
    stored: "Bytes of the values in the files, after compression",
    ratio: "Raw to stored bytes: how many times smaller compression makes them",
    share: "Part of all stored bytes; the bar is scaled to the largest",
    file: "A row group: some rows, with all of their columns",
    rows: "Rows in the file; the bar is scaled to the largest",
    size: "Bytes of the file, including its header and block tables; the bar is scaled to the largest",
    perRow: "Size divided by rows",
  };

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

  // make creates an element. The text is never interpreted as HTML.
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

  // grid draws a table and redraws it after clicks. A column is {title, help,
  // value(row), cell(row), className, total}: rows are sorted by value, cell returns
  // text or an element, and total is in the last line. list(compare) returns the rows
  // in order.
  function grid(section, columns, sort, descending, list) {
    const head = section.querySelector("thead tr");
    const body = section.querySelector("tbody");
    const foot = section.querySelector("tfoot tr");
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
        const cell = make("td", "empty", "No name contains this text.");
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
      b.title = c.help;
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
    columns.forEach((c, i) => {
      const cell = make(i === 0 ? "th" : "td", c.className, c.total);
      if (i === 0) cell.scope = "row";
      foot.append(cell);
    });

    function mark() {
      for (const c of columns) {
        if (c === sort) c.th.setAttribute("aria-sort", descending ? "descending" : "ascending");
        else c.th.removeAttribute("aria-sort");
      }
    }

    // restart draws the first portion of rows, after their order or choice has changed.
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

  // The nodes are depth first. A sum covers a node and all nodes below it.
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

  // levels are the ratios at which the colour in the map changes.
  const levels = [1.2, 2, 4, 10];
  const level = (raw, size) => levels.filter((from) => raw >= from * size).length;

  // squarify divides a rectangle among items by their sizes, largest first, into
  // rectangles that are as square as possible (Bruls, Huizing and van Wijk, 2000).
  function squarify(items, x, y, w, h, place) {
    let total = items.reduce((sum, item) => sum + item.size, 0);
    for (let i = 0; i < items.length;) {
      const side = Math.min(w, h), scale = w * h / total;
      let end = i, sum = 0, worst = Infinity;
      for (; end < items.length; end++) {
        const area = (sum + items[end].size) * scale;
        const next = Math.max(side * side * items[i].size * scale / (area * area), area * area / (side * side * items[end].size * scale));
        if (next > worst) break;
        worst = next;
        sum += items[end].size;
      }
      const thick = sum * scale / side;
      let at = 0;
      for (; i < end; i++) {
        const length = items[i].size / sum * side;
        if (w >= h) place(items[i], x, y + at, thick, length);
        else place(items[i], x + at, y, length, thick);
        at += length;
      }
      if (w >= h) { x += thick; w -= thick; } else { y += thick; h -= thick; }
      total -= sum;
    }
  }

  // map draws all columns as areas, nested as in the schema. An area that is too
  // small to be divided is drawn whole.
  function map() {
    const section = document.getElementById("overview");
    const box = section.querySelector(".map");
    const smallest = 24; // square pixels of an area
    const named = {width: 48, height: 16}; // smallest area that shows its name
    const edge = 2;

    // parts returns the parts of a node's area: the nodes below it, and its own bytes.
    function parts(node) {
      const all = node.below.map((n) => ({node: n, size: n.sum.stored, raw: n.sum.raw, below: n.below}));
      if (all.length > 0 && node.stored > 0) all.push({node, size: node.stored, raw: node.raw, below: []});
      return all.filter((p) => p.size > 0).sort((a, b) => b.size - a.size);
    }

    function area(part, x, y, w, h) {
      const {node, size, raw} = part;
      const below = part.below.length > 0 ? parts(node) : [];
      const divided = below.length > 0 && w * h > smallest * below.length;
      const cell = make("div", divided ? "place" : "l" + level(raw, size));
      const at = {left: x, top: y, width: Math.max(w - 1, .5), height: Math.max(h - 1, .5)};
      for (const side in at) cell.style[side] = at[side] + "px";
      cell.title = [node.name || "(no name)", node.type, bytes(size) + ", " + percent(size, stored), "ratio " + ratio(raw, size)].filter(Boolean).join("\n");
      cell.addEventListener("click", () => choose(node.name));
      box.append(cell);
      const labelled = w >= named.width && h >= named.height;
      if (labelled) cell.append(make("bdi", "", node.label || "(no name)"));
      if (!divided) return;
      const top = labelled && h > 2 * named.height ? named.height : edge;
      squarify(below, x + edge, y + top, w - 2 * edge, h - top - edge, area);
    }

    let width = 0;
    new ResizeObserver(() => {
      if (box.clientWidth === width) return;
      width = box.clientWidth;
      box.replaceChildren();
      squarify(parts({below: tops}), 0, 0, width, box.clientHeight, area);
    }).observe(box);

    const legend = section.querySelector(".legend");
    [...levels, Infinity].forEach((to, i) => {
      const item = make("li");
      item.append(make("i", "l" + i), i === 0 ? "less than " + to : i === levels.length ? levels[i - 1] + " and more" : levels[i - 1] + " to " + to);
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
    const most = {tree: Math.max(...tops.map((n) => n.sum.stored)), flat: nodes.reduce((m, n) => Math.max(m, n.stored), 0)};
    const largest = () => (nested.checked ? most.tree : most.flat);

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

    // list returns the nodes to show: the columns that the filter matches, or in the
    // open part of the tree the nodes that it matches and those above them.
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

    // find opens the nodes above each match.
    function find() {
      const wanted = filter.value.trim().toLowerCase();
      for (const n of nodes) {
        if (wanted && n.search.includes(wanted)) for (let m = n.above; m && !m.open; m = m.above) m.open = true;
      }
      table.restart();
    }

    const all = tops.reduce((sum, n) => ({raw: sum.raw + n.sum.raw, blocks: sum.blocks + n.sum.blocks}), {raw: 0, blocks: 0});
    const columns = [
      {title: "Name", help: words.name, className: "", value: (n) => n.search, cell: name, total: "Total"},
      {title: "#", help: words.number, className: "number minor", value: (n) => n.order, cell: (n) => (n.column >= 0 ? n.column : "")},
      {title: "Type", help: words.type, className: "minor", value: (n) => n.type ?? "",
        cell: (n, cell) => {
          if (n.as !== n.type) cell.title = "Stored as " + n.as;
          return n.type ?? "";
        }},
      {title: "Values", help: words.values, className: "number minor", value: (n) => n.values ?? -1, largestFirst: true,
        cell: (n, cell) => {
          if (n.values !== undefined) return count(n.values);
          if (n.column >= 0) cell.title = "Known only after inspect --count";
          return n.column < 0 ? "" : "?";
        }},
      {title: "Blocks", help: words.blocks, className: "number minor", value: (n) => size(n).blocks, largestFirst: true,
        cell: (n) => count(size(n).blocks), total: count(all.blocks)},
      {title: "Raw", help: words.raw, className: "number minor", value: (n) => size(n).raw, largestFirst: true,
        cell: (n) => bytes(size(n).raw), total: bytes(all.raw)},
      {title: "Stored", help: words.stored, className: "number", value: (n) => size(n).stored, largestFirst: true, total: bytes(stored),
        cell: (n, cell) => {
          cell.title = count(size(n).stored) + " bytes" + (n.below.length > 0 && nested.checked ? ", " + count(n.stored) + " of them its own" : "");
          return bytes(size(n).stored);
        }},
      {title: "Ratio", help: words.ratio, className: "number", value: (n) => size(n).raw / (size(n).stored || Infinity), largestFirst: true,
        cell: (n) => ratio(size(n).raw, size(n).stored), total: ratio(all.raw, stored)},
      {title: "Share", help: words.share, className: "share", value: (n) => size(n).stored, largestFirst: true,
        cell: (n) => gauge(size(n).stored, largest(), percent(size(n).stored, stored))},
    ];
    const text = (title, help, value) => ({title, help, className: "minor", value, cell: value});
    const native = nodes.some((n) => n.encodings);
    const details = [];
    if (native) {
      details.push(text("Stored as", words.as, (n) => n.as ?? ""), text("Encoding", words.encoding, (n) => (n.encodings ?? []).join(", ")));
    }
    if (native || new Set(nodes.map((n) => n.codec).filter(Boolean)).size > 1) details.push(text("Codec", words.codec, (n) => n.codec ?? ""));
    columns.splice(3, 0, ...details);
    const table = grid(section, columns, columns.find((c) => c.title === "Stored"), true, list);

    const setOpen = (open) => { for (const n of nodes) n.open = open; table.draw(); };
    filter.addEventListener("input", find);
    nested.addEventListener("change", () => {
      expand.hidden = collapse.hidden = !nested.checked;
      table.redraw();
    });
    expand.addEventListener("click", () => setOpen(true));
    collapse.addEventListener("click", () => setOpen(false));
    return (wanted) => {
      filter.value = wanted;
      find();
      section.scrollIntoView();
    };
  }

  function groupsTable() {
    const groups = data.groups;
    if (groups.length < 2) return;
    groups.forEach((g, i) => { g.order = i; });
    const largest = (key) => groups.reduce((m, g) => Math.max(m, g[key]), 0);
    const rows = largest("rows"), size = largest("bytes");
    const sum = (key) => groups.reduce((total, g) => total + g[key], 0);
    const columns = [
      {title: "File", help: words.file, className: "", value: (g) => g.order, cell: (g) => make("bdi", "", g.name), total: "Total"},
      {title: "Rows", help: words.rows, className: "share", value: (g) => g.rows, largestFirst: true,
        cell: (g) => gauge(g.rows, rows, count(g.rows), true), total: count(sum("rows"))},
      {title: "Size", help: words.size, className: "share", value: (g) => g.bytes, largestFirst: true,
        cell: (g) => gauge(g.bytes, size, bytes(g.bytes), true), total: bytes(sum("bytes"))},
      {title: "Bytes per row", help: words.perRow, className: "number minor", value: (g) => g.bytes / g.rows || 0, largestFirst: true,
        cell: (g) => (g.rows > 0 ? (g.bytes / g.rows).toFixed(1) : "–"), total: (sum("bytes") / sum("rows") || 0).toFixed(1)},
    ];
    grid(document.getElementById("groups"), columns, columns[0], false, (compare) => groups.toSorted(compare));
  }

  for (const e of document.querySelectorAll("data.bytes")) {
    e.title = count(e.value) + " bytes";
    e.textContent = bytes(Number(e.value));
  }
  for (const e of document.querySelectorAll("data.count")) e.textContent = count(e.value);
  const choose = nodes.length > 0 ? columnsTable() : null;
  if (stored > 0) map();
  groupsTable();
})();
