"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;
  const css = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  const slug = (name) => name.replace(/ /g, "-");
  const drawn = []; // what has to be drawn again when the colours change

  // --- light and dark -----------------------------------------------------------------------
  const scheme = document.getElementById("scheme");
  const preferred = matchMedia("(prefers-color-scheme: dark)");
  const setScheme = (isDark) => {
    root.dataset.scheme = isDark ? "dark" : "light";
    scheme.setAttribute("aria-pressed", String(isDark));
    drawn.forEach((draw) => draw());
  };
  scheme.addEventListener("click", () => setScheme(root.dataset.scheme !== "dark"));
  preferred.addEventListener("change", (event) => setScheme(event.matches));
  root.dataset.scheme = preferred.matches ? "dark" : "light";
  scheme.setAttribute("aria-pressed", String(preferred.matches));

  // --- tables that sort ---------------------------------------------------------------------
  const number = (text) => {
    const found = text.replace(/[<,]/g, "").match(/^[+-]?\d+(\.\d+)?/);
    return found ? Number(found[0]) : null;
  };
  const compare = (one, two) => {
    const [left, right] = [number(one), number(two)];
    if (left !== null && right !== null && left !== right) return left - right;
    if (left !== null && right === null) return -1;
    if (left === null && right !== null) return 1;
    return one.localeCompare(two);
  };
  const sortBy = (table, at, isDown) => {
    for (const body of table.tBodies) {
      const rows = [...body.rows].filter((row) => !row.classList.contains("block"));
      const absent = (row) => ["–", ""].includes(row.cells[at].textContent);
      rows.sort((one, two) => {
        if (absent(one) !== absent(two)) return absent(one) ? 1 : -1;
        const order = compare(one.cells[at].textContent, two.cells[at].textContent);
        return isDown ? -order : order;
      });
      body.append(...rows);
    }
  };
  document.querySelectorAll("button.sort").forEach((button) => {
    button.addEventListener("click", () => {
      const head = button.closest("th");
      const isDown = head.getAttribute("aria-sort") === "ascending";
      for (const other of head.parentElement.cells) other.setAttribute("aria-sort", "none");
      head.setAttribute("aria-sort", isDown ? "descending" : "ascending");
      sortBy(head.closest("table"), head.cellIndex, isDown);
    });
  });

  // --- files --------------------------------------------------------------------------------
  document.querySelectorAll("button.download").forEach((button) => {
    button.addEventListener("click", () => {
      const text = button.dataset.of === "cases" ? data.cases : data.samples[button.dataset.run];
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
      link.download = button.dataset.name;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    });
  });

  // --- charts -------------------------------------------------------------------------------
  const look = () => ({
    paper_bgcolor: css("--back"),
    plot_bgcolor: css("--back"),
    font: { color: css("--ink"), size: 13, family: getComputedStyle(document.body).fontFamily },
    hoverlabel: { bgcolor: css("--raised"), font: { color: css("--ink") }, align: "left" },
    margin: { l: 70, r: 15, t: 15, b: 55 },
  });
  const axisLook = () => ({ gridcolor: css("--line"), zerolinecolor: css("--line"), linecolor: css("--line") });
  const config = { displaylogo: false, responsive: true, displayModeBar: false, scrollZoom: false };
  const whenSeen = (element, draw) => {
    let isDrawn = false;
    const first = () => { isDrawn = true; draw(); };
    const watch = new IntersectionObserver((found) => {
      if (found.some((one) => one.isIntersecting)) { watch.disconnect(); first(); }
    }, { rootMargin: "400px" });
    watch.observe(element);
    addEventListener("beforeprint", () => { if (!isDrawn) { watch.disconnect(); first(); } });
    drawn.push(() => { if (isDrawn) draw(); });
  };
  document.querySelectorAll(".chart").forEach((element) => {
    const figure = data.charts[element.dataset.run][element.dataset.chart];
    whenSeen(element, () => {
      const layout = { ...figure.layout, ...look(), height: 360 };
      for (const name of ["xaxis", "yaxis"]) layout[name] = { ...figure.layout[name], ...axisLook(), automargin: true };
      layout.xaxis.type = "category";
      Plotly.react(element, figure.data, layout, config);
    });
  });

  // --- timelines ----------------------------------------------------------------------------
  const THICK = { "explicit wait": 5, held: 5, call: 9, blocked: 9, growth: 13, failed: 13 };
  const DASH = { "inserted wait": "3px,2px", held: "2px,4px", "explicit wait": "6px,3px" };

  // Everything of one kind is one path: from the begin over the middle to the end of each span.
  const tracesOf = (timeline, axes, least) => {
    const lanes = timeline.lanes.map((lane) => lane.name);
    const bins = timeline.reduced ? [0.25, 0.5, 0.75, 1] : [1];
    const every = data.kinds.flatMap((kind, number) => bins.map((bin, at) => [kind, number, bin, bins[at - 1] || 0]));
    return every.map(([kind, number, most, least_share]) => {
      const [x, y, text] = [[], [], []];
      timeline.lanes.forEach((lane, at) => {
        lane.kind.forEach((own, k) => {
          if (own !== number) return;
          const begin = lane.begin[k];
          const length = lane.length[k];
          const share = lane.busy.length && length > 0 ? Math.min(1, lane.busy[k] / length) : 1;
          if (share > most || (share <= least_share && least_share > 0)) return;
          const end = begin + Math.max(length, least);
          const told = `${timeline.texts[lane.text[k]]}<br>${kind.name}, ${lanes[at]}<br>` +
            `at ${begin} us for ${length} us${share < 1 ? `, busy for ${lane.busy[k]} us of it` : ""}`;
          x.push(begin, (begin + end) / 2, end, null);
          y.push(at, at, at, null);
          text.push(told, told, told, "");
        });
      });
      return {
        type: "scatter", mode: "lines", x, y, text, hoverinfo: "text", showlegend: false,
        name: kind.name, xaxis: "x", yaxis: axes.streams,
        line: { color: css(`--${slug(kind.name)}`), width: Math.max(3, (THICK[kind.name] || 18) * most), dash: DASH[kind.name] || "solid" },
      };
    }).filter((trace) => trace.x.length);
  };
  const memoryOf = (timeline, axes) => ["reserved", "used"].map((key, at) => ({
    type: "scatter", mode: "lines", showlegend: false, name: key, xaxis: "x", yaxis: axes.memory,
    x: [...timeline.levels.at, timeline.end],
    y: [...timeline.levels[key], timeline.levels[key].at(-1)],
    hovertemplate: `${key} %{y:.1f} MiB<extra></extra>`, fill: at ? "tozeroy" : "none",
    line: { shape: "hv", width: 1.5, color: css(at ? "--kernel" : "--copy"), dash: at ? "solid" : "dot" },
  }));
  const arrowsOf = (timeline, axes) => {
    const at = (name) => timeline.lanes.slice(0, -1).findIndex((lane) => lane.name === name);
    return timeline.links.filter((link) => at(link.from) >= 0 && at(link.to) >= 0).map((link) => ({
      x: link.at, y: at(link.to), ax: link.at, ay: at(link.from), xref: "x", axref: "x",
      yref: axes.streams, ayref: axes.streams, text: "", showarrow: true, arrowhead: 2,
      arrowsize: 1.2, arrowwidth: 1.5, arrowcolor: css("--inserted-wait"),
    }));
  };
  // A wait that is wide enough says in the picture what it waited for.
  const wordsOf = (timeline, axes, low, high) => timeline.links
    .filter((link) => Math.min(high, link.begin + link.wait) - Math.max(low, link.begin) > (high - low) / 5)
    .map((link) => ({
      x: (Math.max(low, link.begin) + Math.min(high, link.begin + link.wait)) / 2,
      y: timeline.lanes.findIndex((lane) => lane.name === link.to), xref: "x", yref: axes.streams,
      text: link.text.replace(/[<&]/g, " "), showarrow: false, bgcolor: css("--back"),
      bordercolor: css("--inserted-wait"), borderpad: 2, font: { size: 12, color: css("--ink") },
    }));
  const list = (items) => {
    const found = document.createElement("ul");
    for (const text of items) {
      const item = document.createElement("li");
      item.textContent = text;
      found.append(item);
    }
    return found;
  };

  document.querySelectorAll(".timeline").forEach((element) => {
    const own = data.timelines.filter((timeline) => timeline.run === Number(element.dataset.run));
    if (!own.length) return;
    element.hidden = false;
    element.parentElement.querySelector(".untraced").hidden = true;
    const plot = element.querySelector(".plot");
    const [upper, lower] = [element.querySelector(".upper"), element.querySelector(".lower")];
    for (const select of [upper, lower]) own.forEach((one, at) => select.add(new Option(one.title, at)));
    lower.add(new Option("nothing", -1));
    // The row with everything on and the one without internal dependencies, where something waited.
    const isRow = (one, row) => one.title.startsWith(`row ${row},`);
    const first = own.find((one) => isRow(one, "111") && one.waits.length) || own.find((one) => isRow(one, "111"));
    const beside = own.findIndex((one) => isRow(one, "110") && (!first || one.axes === first.axes));
    upper.value = String(Math.max(0, own.indexOf(first)));
    lower.value = String(beside);
    let range = null;

    const shown = () => [own[upper.value], own[lower.value]].filter(Boolean);
    const draw = () => {
      const timelines = shown();
      const end = Math.max(...timelines.map((one) => one.end)) * 1.01 || 1;
      const [low, high] = range || [0, end];
      const least = (high - low) / 4000;
      const layout = {
        ...look(), hovermode: "closest", dragmode: "zoom", annotations: [],
        xaxis: {
          ...axisLook(), title: { text: "us from the first call" }, range: [low, high],
          anchor: "free", position: 0,
        },
      };
      const heights = timelines.map((one) => one.lanes.length * 34 + (one.levels.at.length ? 110 : 30));
      layout.height = heights.reduce((sum, height) => sum + height, 90);
      const traces = [];
      let top = 1;
      timelines.forEach((timeline, k) => {
        const axes = { streams: `y${2 * k + 1 > 1 ? 2 * k + 1 : ""}`, memory: `y${2 * k + 2}` };
        const key = (name) => name.replace("y", "yaxis");
        const share = heights[k] / heights.reduce((sum, height) => sum + height, 0);
        const hasMemory = timeline.levels.at.length > 0;
        const bottom = top - share;
        const split = hasMemory ? bottom + share * 70 / heights[k] : bottom + share * 10 / heights[k];
        const n = timeline.lanes.length;
        layout[key(axes.streams)] = {
          ...axisLook(), domain: [split, top - share * 22 / heights[k]], range: [n - 0.4, -0.6], fixedrange: true,
          tickvals: timeline.lanes.map((_, lane) => lane), ticktext: timeline.lanes.map((lane) => lane.name),
          showgrid: false, zeroline: false,
        };
        traces.push(...tracesOf(timeline, axes, least));
        if (hasMemory) {
          layout[key(axes.memory)] = {
            ...axisLook(), domain: [bottom + share * 10 / heights[k], split - share * 8 / heights[k]],
            rangemode: "tozero", fixedrange: true, nticks: 3, title: { text: "MiB", standoff: 4 },
          };
          traces.push(...memoryOf(timeline, axes));
        }
        layout.annotations.push(...arrowsOf(timeline, axes), ...wordsOf(timeline, axes, low, high), {
          text: `<b>${timeline.title.replace(/[<&]/g, " ")}</b>`, x: 0, xref: "paper", xanchor: "left",
          y: top, yref: "paper", yanchor: "top", showarrow: false,
        });
        top = bottom;
      });
      plot.style.height = `${layout.height}px`;
      Plotly.react(plot, traces, layout, config);
      tell(timelines);
    };
    const tell = (timelines) => {
      const told = element.querySelector(".told");
      told.replaceChildren();
      for (const timeline of timelines) {
        const head = document.createElement("h3");
        head.textContent = timeline.title;
        const items = [
          ...timeline.waits.slice(0, 9),
          ...(timeline.waits.length > 9 ? [`and ${timeline.waits.length - 9} more inserted waits or more`] : []),
          ...timeline.failures.slice(0, 5).map((one) => `${one.text}, at ${one.at} us`),
          ...(timeline.failures.length > 5 ? [`and ${timeline.failures.length - 5} more failures`] : []),
          ...(timeline.reduced ? [timeline.reduced] : []),
        ];
        told.append(head, list(items.length ? items : ["no inserted wait, no failure"]));
      }
      const used = new Set(timelines.flatMap((one) => one.lanes.flatMap((lane) => lane.kind)));
      const key = element.querySelector(".key");
      key.replaceChildren();
      data.kinds.forEach((kind, number) => {
        if (!used.has(number)) return;
        const item = document.createElement("li");
        const swatch = document.createElement("span");
        swatch.className = "swatch";
        const color = `var(--${slug(kind.name)})`;
        swatch.style.background = DASH[kind.name]
          ? `repeating-linear-gradient(90deg, ${color} 0 3px, transparent 3px 5px)` : color;
        item.title = kind.meaning;
        item.append(swatch, kind.name);
        key.append(item);
      });
      if (timelines.some((one) => one.levels.at.length)) {
        for (const [name, border] of [["used", "solid var(--kernel)"], ["reserved", "dotted var(--copy)"]]) {
          const item = document.createElement("li");
          const swatch = document.createElement("span");
          swatch.className = "swatch";
          swatch.style.height = "0";
          swatch.style.borderTop = `2px ${border}`;
          swatch.style.verticalAlign = "middle";
          item.append(swatch, name);
          key.append(item);
        }
      }
    };
    const zoom = (how) => {
      const end = Math.max(...shown().map((one) => one.end)) * 1.01 || 1;
      let [low, high] = plot.layout ? plot.layout.xaxis.range : [0, end];
      const span = high - low;
      if (how === "in") { low += span / 4; high -= span / 4; }
      if (how === "out") { low -= span / 2; high += span / 2; }
      if (how === "left") { low -= span / 4; high -= span / 4; }
      if (how === "right") { low += span / 4; high += span / 4; }
      range = how === "all" ? null : [low, high];
      draw();
    };
    element.querySelectorAll("[data-zoom]").forEach((button) => {
      button.addEventListener("click", () => zoom(button.dataset.zoom));
    });
    for (const select of [upper, lower]) select.addEventListener("change", () => { range = null; draw(); });
    whenSeen(element, draw);
  });

  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((one) => { one.open = true; }));
  root.dataset.ready = "yes";
})();
