// The interactive plots of a report: reads the data block, draws with uPlot, nothing else.
// Every label goes through text nodes; the page's policy forbids loading anything.
(() => {
  "use strict";
  const data = JSON.parse(document.getElementById("data").textContent);
  const plots = [];

  // -- looks: colours are the style sheet's variables, read when drawing --
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
  const font = "12px system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'Liberation Sans', sans-serif";
  const faded = (colour, alpha) => {
    const n = parseInt(colour.slice(1), 16);
    return `rgba(${n >> 16},${(n >> 8) & 255},${n & 255},${alpha})`;
  };
  const pixels = (n) => n * devicePixelRatio;

  // -- numbers --
  const trim = (x, digits) => String(Number(x.toPrecision(digits)));
  const minus = (text) => text.replace("-", "\u2212");
  const percent = (x) => (x == null ? "" : minus((x > 0 ? "+" : "") + (Math.abs(x) < 10 ? x.toFixed(2) : x.toFixed(1)) + " %"));
  // From twice as much on changes are factors, as in the sentences above; the labels of an axis are of one kind.
  const isFactor = (x) => x >= 100;
  const factor = (x) => trim(1 + x / 100, 3) + " x";
  const change = (x) => (x != null && isFactor(x) ? factor(x) : percent(x));
  const interval = ({ effect, low, high }) => {
    const of = isFactor(effect) ? factor : percent;
    return `${of(effect)} (${of(low).replace(/ [%x]$/, "")} to ${of(high)})`;
  };
  const tickPercent = (x) => minus((x > 0 ? "+" : "") + trim(x, 6) + " %");
  const tickChanges = (u, splits) => splits.map(splits.some(isFactor) ? factor : tickPercent);
  const share = (x) => (x == null ? "" : x.toFixed(1) + " %");
  const time = (ns) => {
    if (ns == null) return "";
    if (ns < 1e3) return trim(ns, 3) + " ns";
    if (ns < 1e6) return trim(ns / 1e3, 3) + " \u00b5s";
    if (ns < 1e9) return trim(ns / 1e6, 3) + " ms";
    return trim(ns / 1e9, 3) + " s";
  };
  // The tail axis: x = -log10(1 - q).
  const tail = (q) => -Math.log10(1 - q);
  const quantileName = (x) => {
    const q = 100 * (1 - Math.pow(10, -x));
    return trim(Number(q.toFixed(Math.max(1, Math.ceil(x)))), 8) + " %";
  };
  const tailSplits = (most) => [0, tail(0.5), 1, 2, 3, 4, 5, 6, 7].filter((x) => x <= most + 1e-9);

  // Of labels side by side those that have room: the first, then each that does not touch the last.
  const spaced = (texts) => (u, splits) => {
    u.ctx.save();
    u.ctx.font = font;
    let end = -Infinity;
    const kept = texts(u, splits).map((text, i) => {
      const half = u.ctx.measureText(text).width / 2 + 4;
      const at = u.valToPos(splits[i], "x");
      if (text === "" || at - half < end) return "";
      end = at + half;
      return text;
    });
    u.ctx.restore();
    return kept;
  };

  // -- what all plots share --
  const axis = (more) => ({
    stroke: () => css("ink-2"), font, ticks: { show: false },
    grid: { stroke: () => css("grid"), width: 1 }, ...more,
  });
  const xScale = { time: false, range: (u, low, high) => (low === high ? [low - 1, high + 1] : [low, high]) };
  const padded = (u, low, high) => {
    if (low == null || high == null) return [0, 1];
    const room = (high - low || Math.abs(high) || 1) * 0.1;
    return [low - room, high + room];
  };
  const horizontal = (u, y, colour, width, dash = []) => {
    const { left, width: wide, top, height } = u.bbox;
    const at = Math.round(u.valToPos(y, "y", true));
    if (at < top || at > top + height) return;
    u.ctx.save();
    u.ctx.strokeStyle = colour;
    u.ctx.lineWidth = pixels(width);
    u.ctx.setLineDash(dash.map(pixels));
    u.ctx.beginPath();
    u.ctx.moveTo(left, at);
    u.ctx.lineTo(left + wide, at);
    u.ctx.stroke();
    u.ctx.restore();
  };
  const band = (u, low, high, colour) => {
    const { left, width, top, height } = u.bbox;
    const clamp = (y) => Math.min(top + height, Math.max(top, u.valToPos(y, "y", true)));
    const [from, to] = [clamp(high), clamp(low)];
    u.ctx.save();
    u.ctx.fillStyle = colour;
    u.ctx.fillRect(left, from, width, to - from);
    u.ctx.restore();
  };

  const width = (element) => Math.max(240, Math.floor(element.clientWidth));
  const draw = (element, height, options, series) => {
    const hooks = { ...options.hooks, draw: [() => { element.dataset.drawn = "true"; }] };
    const plot = new uPlot({ width: width(element), height, ...options, hooks }, series, element);
    plots.push(plot);
    new ResizeObserver(() => {
      if (width(element) !== plot.width) plot.setSize({ width: width(element), height });
    }).observe(element);
    return plot;
  };
  const canvasIn = (parent, label) => {
    const canvas = document.createElement("div");
    canvas.className = "canvas";
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", label);
    parent.append(canvas);
    return canvas;
  };
  // A captioned frame in a grid of small plots.
  const frame = (parent, arm, key, note) => {
    const figure = document.createElement("figure");
    const caption = document.createElement("figcaption");
    const name = document.createElement("span");
    name.className = "arm " + key;
    name.style.color = "inherit";
    const swatch = document.createElement("i");
    swatch.className = "swatch";
    name.append(swatch, arm);
    const said = document.createElement("span");
    said.textContent = " " + note;
    caption.append(name, said);
    figure.append(caption);
    parent.append(figure);
    return canvasIn(figure, arm + ": " + note);
  };

  // -- change per round --
  const difference = (parent, one) => {
    const rounds = one.changes.map((_, i) => i + 1);
    const used = one.changes.map((y, i) => (i < one.used ? y : null));
    const later = one.changes.map((y, i) => (i < one.used ? null : y));
    const any = later.some((y) => y != null);
    const colour = () => css(one.key);
    const known = one.effect != null && one.low != null && one.high != null;
    const dots = (label, values, fill) => ({
      label, stroke: colour, paths: () => null, value: (u, y) => change(y),
      points: { show: true, size: rounds.length > 300 ? 2.5 : 6, width: 1.4, stroke: colour, fill },
    });
    const note = known ? interval(one) : "no estimate";
    const under = (u) => {
      band(u, -data.margin, data.margin, css("band"));
      if (known) band(u, one.low, one.high, faded(colour(), 0.16));
      horizontal(u, 0, css("ink-2"), 1);
      if (known) horizontal(u, one.effect, colour(), 1.6);
    };
    const within = known ? [one.low, one.high] : [];
    draw(frame(parent, one.arm, one.key, note), 190, {
      scales: { x: { ...xScale, range: () => [0.3, rounds.length + 0.7] }, y: { range: (u, low, high) => padded(u, Math.min(low, ...within), Math.max(high, ...within)) } },
      axes: [
        axis({ values: spaced((u, s) => s.map((n) => (Number.isInteger(n) ? String(n) : ""))), grid: { show: false }, size: 28 }),
        axis({ values: tickChanges, size: 62 }),
      ],
      series: [
        { label: "round" },
        dots("change", used, colour),
        ...(any ? [dots("after the verdict", later, () => css("paper"))] : []),
      ],
      legend: { markers: { stroke: () => `var(--${one.key})`, fill: (u, i) => (i === 2 ? "none" : `var(--${one.key})`) } },
      cursor: { y: false },
      hooks: { drawAxes: [under] },
    }, [rounds, used, ...(any ? [later] : [])]);
  };

  // -- quantile curves --
  const decades = (low, high) => {
    const all = [];
    const factors = high - low > 2.5 ? [1] : high - low > 1.2 ? [1, 3] : [1, 2, 5];
    for (let power = Math.floor(low); power <= Math.ceil(high); power += 1) {
      for (const factor of factors) all.push(power + Math.log10(factor));
    }
    return all.filter((y) => y >= low && y <= high);
  };
  const dashes = { "arm-base": [], "arm-twin": [3, 3] };
  const curves = (parent, all) => {
    const logs = (kind) => all.arms.map((line) => line[kind].map((ns) => (ns == null ? null : Math.log10(Math.max(1, ns)))));
    const both = { response: logs("response"), service: logs("service") };
    // The very fastest replies would stretch the scale downwards for nothing: it starts at 5 %.
    const known = (values) => values.filter((y) => y != null);
    const lines = [...both.response, ...both.service].filter((values) => known(values).length);
    const low = Math.min(...lines.map((values) => values[Math.min(1, known(values).length - 1)]));
    const high = Math.max(...lines.map((values) => Math.max(...known(values))));
    const most = all.axis[all.axis.length - 1];
    const doubtful = (u) => {
      const { left, width: wide, top, height } = u.bbox;
      const from = Math.max(left, u.valToPos(all.believed, "x", true));
      if (from >= left + wide) return;
      u.ctx.save();
      u.ctx.fillStyle = css("wash");
      u.ctx.fillRect(from, top, left + wide - from, height);
      u.ctx.restore();
    };
    const plot = draw(canvasIn(parent, "Quantile curves of every arm; the table below has the figures"), 380, {
      scales: { x: xScale, y: { range: () => [low - 0.05, high + 0.08] } },
      axes: [
        axis({ splits: () => tailSplits(most), values: spaced((u, s) => s.map(quantileName)), size: 34 }),
        axis({ splits: (u, i, from, to) => decades(from, to), values: (u, s) => s.map((y) => time(Math.pow(10, y))), size: 66 }),
      ],
      series: [
        { label: "replies up to", value: (u, x) => (x == null ? "" : quantileName(x)) },
        ...all.arms.map((line, i) => ({
          label: line.arm, stroke: () => css(line.key), width: line.key === "arm-base" ? 2.4 : 1.9,
          dash: dashes[line.key] || (i > 7 ? [8, 4] : []), points: { show: false },
          value: (u, y) => (y == null ? "" : time(Math.pow(10, y))),
        })),
      ],
      legend: { markers: { stroke: (u, i) => `var(--${all.arms[i - 1].key})`, fill: (u, i) => `var(--${all.arms[i - 1].key})` } },
      cursor: { y: false, points: { size: 7 } },
      hooks: { drawClear: [doubtful] },
    }, [all.axis, ...both.response]);
    for (const input of document.querySelectorAll("#kind input")) {
      input.addEventListener("change", () => plot.setData([all.axis, ...both[input.value]], false));
    }
    // Browsers keep a chosen radio button over a reload.
    const chosen = document.querySelector("#kind input:checked");
    if (chosen && chosen.value !== "response") plot.setData([all.axis, ...both[chosen.value]], false);
  };

  // -- shift of quantiles --
  const shift = (parent, one) => {
    const x = one.quantile.map(tail);
    const colour = () => css(one.key);
    const middle = one.quantile.indexOf(0.5);
    const note = middle < 0 ? "" : `${change(one.effect[middle])} at the median`;
    const under = (u) => {
      band(u, -data.margin, data.margin, css("band"));
      horizontal(u, 0, css("ink-2"), 1);
      const { left, width: wide, top, height } = u.bbox;
      const to = (y) => u.valToPos(y, "y", true);
      u.ctx.save();
      u.ctx.beginPath();
      u.ctx.rect(left, top, wide, height);
      u.ctx.clip();
      u.ctx.fillStyle = faded(colour(), 0.18);
      u.ctx.beginPath();
      x.forEach((at, i) => u.ctx[i ? "lineTo" : "moveTo"](u.valToPos(at, "x", true), to(one.low[i])));
      for (let i = x.length - 1; i >= 0; i -= 1) u.ctx.lineTo(u.valToPos(x[i], "x", true), to(one.high[i]));
      u.ctx.fill();
      u.ctx.restore();
    };
    draw(frame(parent, one.arm, one.key, note), 200, {
      scales: { x: { ...xScale, range: () => [0, x[x.length - 1] + 0.08] }, y: { range: (u) => padded(u, Math.min(0, ...one.low), Math.max(0, ...one.high)) } },
      axes: [
        axis({ splits: () => tailSplits(x[x.length - 1]).slice(1), values: spaced((u, s) => s.map(quantileName)), size: 30 }),
        axis({ values: tickChanges, size: 62 }),
      ],
      series: [
        { label: "quantile", value: (u, v) => (v == null ? "" : quantileName(v)) },
        { label: "change", stroke: colour, width: 1.8, points: { show: true, size: 5, fill: colour, stroke: colour }, value: (u, y) => change(y) },
      ],
      legend: { markers: { stroke: () => `var(--${one.key})`, fill: () => `var(--${one.key})` } },
      cursor: { y: false },
      hooks: { drawAxes: [under] },
    }, [x, one.effect]);
  };

  // -- the machine --
  const machine = (parent, all) => {
    const kinds = [["user", "us"], ["system", "sy"], ["iowait", "wa"], ["steal", "st"]];
    const names = { user: "user", system: "system", iowait: "I/O wait", steal: "stolen" };
    const sums = [];
    kinds.forEach(([kind], i) => sums.push(all[kind].map((y, at) => y + (i ? sums[i - 1][at] : 0))));
    const x = all.user.map((_, i) => i + 1);
    const place = (u, at) => {
      if (at == null) return "";
      const from = (at - 1) * all.group + 1;
      if (all.group > 1) return `${from} to ${from + all.group - 1}`;
      return all.arms[at - 1] ? `${at} (${all.arms[at - 1]})` : String(at);
    };
    // The highest pile is drawn first, the lower ones over it.
    const order = [3, 2, 1, 0];
    draw(canvasIn(parent, "Shares of user, system, I/O wait and stolen CPU time of the machine by slice"), 220, {
      scales: { x: { ...xScale, range: () => [0.3, x.length + 0.7] }, y: { range: () => [0, 100] } },
      axes: [
        axis({ values: spaced((u, s) => s.map((n) => (Number.isInteger(n) ? String(n * all.group - (all.group - 1)) : ""))), grid: { show: false }, size: 28 }),
        axis({ values: (u, s) => s.map((y) => y + " %"), size: 56 }),
      ],
      series: [
        { label: all.group > 1 ? "slices" : "slice", value: place },
        ...order.map((i) => ({
          label: names[kinds[i][0]], fill: () => css(kinds[i][1]), width: 0, points: { show: false },
          paths: uPlot.paths.bars({ size: [0.86, 24], gap: 0 }),
          value: (u, y, s, at) => (at == null ? "" : share(all[kinds[i][0]][at])),
        })),
      ],
      legend: { markers: { stroke: (u, i) => `var(--${kinds[order[i - 1]][1]})`, fill: (u, i) => `var(--${kinds[order[i - 1]][1]})` } },
      cursor: { y: false, points: { show: false } },
    }, [x, ...order.map((i) => sums[i])]);
  };

  // -- all of them --
  const into = (id, show) => {
    const parent = document.getElementById(id);
    if (parent) show(parent);
  };
  into("plot-differences", (parent) => data.differences.forEach((one) => difference(parent, one)));
  if (data.curves) into("plot-curves", (parent) => curves(parent, data.curves));
  into("plot-shift", (parent) => data.shift.forEach((one) => shift(parent, one)));
  if (data.machine) into("plot-machine", (parent) => machine(parent, data.machine));

  // -- light, dark, paper --
  const redraw = () => plots.forEach((plot) => plot.redraw(false, false));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  addEventListener("beforeprint", () => {
    document.documentElement.dataset.scheme = "light";
    document.querySelectorAll("details").forEach((details) => { details.dataset.was = details.open; details.open = true; });
    redraw();
  });
  addEventListener("afterprint", () => {
    delete document.documentElement.dataset.scheme;
    document.querySelectorAll("details").forEach((details) => { details.open = details.dataset.was === "true"; });
    redraw();
  });
  document.documentElement.dataset.plots = plots.length;
})();
