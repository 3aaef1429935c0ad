"use strict";
const sides = JSON.parse(document.getElementById("data").textContent);
const main = document.querySelector("main"), tip = document.getElementById("tip"), find = document.getElementById("find"), said = document.getElementById("said");
const el = (tag, cls, text) => { const e = document.createElement(tag); if (cls) e.className = cls; if (text !== undefined) e.textContent = text; return e; };
const time = (ps) => { const a = Math.abs(ps); return a >= 1e9 ? (ps / 1e9).toFixed(3) + " ms" : a >= 1e6 ? (ps / 1e6).toFixed(3) + " µs" : (ps / 1e3).toFixed(2) + " ns"; };
const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name);
// A region has the same colour on both sides: by its name.
const hues = new Map();
const hue = (name) => { if (!hues.has(name)) hues.set(name, (hues.size * 137.5) % 360); return hues.get(name); };
const LEFT = 190, ROW = 16, OVER = 6, AXIS = 18, CAUSES = 6;
// One axis for all sides: they begin at 0; the host called before that, perhaps long before.
const whole = Math.max(1, ...sides.map((s) => s.time)), lead = Math.max(0, ...sides.map((s) => s.lead));
const full = () => [-lead, whole];
let view = [-Math.min(lead, whole), whole], measured = null;
const views = sides.map((side) => {
  main.append(el("h1", "", side.name + ": " + time(side.time)));
  for (const note of side.notes) main.append(el("div", "doubt", note));
  const named = (all) => {
    const table = el("table");
    for (const [share, kind, text] of all) {
      const row = el("tr");
      row.append(el("td", "num", (share * 100).toFixed(1) + " %"), el("td", "faint kind", kind), el("td", "", text));
      table.append(row);
    }
    return table;
  };
  const causes = el("div"), more = side.causes.slice(CAUSES);
  causes.append(named(side.causes.slice(0, CAUSES)));
  if (more.length) {
    const rest = el("details");
    rest.append(el("summary", "faint", more.length + " more"), named(more));
    causes.append(rest);
  }
  const path = el("table");
  for (const [name, role, t, share, gain] of side.path) {
    const row = el("tr");
    row.append(el("td", "", name), el("td", "faint", role), el("td", "num", t), el("td", "num", (share * 100).toFixed(1) + " %"),
      el("td", "faint", gain === null ? "" : "10 % faster: launch −" + gain.toFixed(1) + " %"));
    path.append(row);
  }
  const canvas = el("canvas");
  main.append(causes, canvas, el("div", "faint", "critical path"), path);
  let y = AXIS;
  for (const row of side.rows) {
    row.deep = row.spans.reduce((d, s) => Math.max(d, s[3] + 1), 1);
    row.y = y;
    y += row.flight ? ROW : Math.max(ROW, row.deep * (ROW - 2)) + 3;
  }
  side.top = y + 8;
  side.height = side.top + side.overview.length * OVER + 4;
  return { side, canvas };
});
const wanted = (name) => { const words = find.value.toLowerCase().split(/\s+/).filter(Boolean); return !words.length || words.some((w) => name.toLowerCase().includes(w)); };
const x = (width, at) => LEFT + ((at - view[0]) / (view[1] - view[0])) * (width - LEFT);
function draw({ side, canvas }) {
  const width = canvas.clientWidth, ratio = devicePixelRatio || 1;
  canvas.style.height = side.height + "px";
  canvas.width = width * ratio; canvas.height = side.height * ratio;
  const c = canvas.getContext("2d");
  c.scale(ratio, ratio);
  c.font = "11px ui-monospace, monospace"; c.textBaseline = "middle";
  const fg = style("--fg"), faint = style("--faint"), line = style("--line");
  const span = view[1] - view[0];
  let step = 10 ** Math.floor(Math.log10(span / 5));
  if (span / step > 20) step *= 5; else if (span / step > 10) step *= 2;
  c.fillStyle = faint;
  for (let at = Math.ceil(view[0] / step) * step; at <= view[1]; at += step) {
    const at_x = x(width, at);
    if (at_x + 60 < width) c.fillText(time(at), at_x + 3, 8);
    c.fillRect(at_x, 0, 0.5, side.height);
  }
  for (const row of side.rows) {
    c.fillStyle = row.flight ? faint : fg;
    c.fillText(row.name, row.flight ? 24 : 2, row.y + ROW / 2, LEFT - 8);
    let last = -1, lastDepth = -1;
    for (const [region, begin, lasts, depth] of row.spans) {
      if (begin + lasts < view[0] || begin > view[1]) continue;
      const [name, wait] = side.regions[region];
      const from = Math.max(LEFT, x(width, begin)), w = Math.max(1, Math.min(width, x(width, begin + lasts)) - from);
      // What falls on one pixel is drawn once.
      if (w <= 1 && Math.floor(from) === last && depth === lastDepth) continue;
      last = Math.floor(from); lastDepth = depth;
      c.globalAlpha = wanted(name) ? 1 : 0.12;
      const y = row.y + (row.flight ? 0 : depth * (ROW - 2));
      c.fillStyle = `hsl(${hue(name)} ${wait ? 15 : 60}% ${wait ? 75 : 62}%)`;
      c.fillRect(from, y, w, row.flight ? ROW - 5 : ROW - 3);
      if (w > 30) { c.fillStyle = "#111"; c.fillText(name, from + 3, y + ROW / 2 - 1, w - 5); }
    }
    c.globalAlpha = 1;
    c.fillStyle = fg;
    for (const [region, at] of row.moments) if (at >= view[0] && at <= view[1] && wanted(side.regions[region][0])) c.fillRect(x(width, at), row.y, 1, 5);
  }
  c.strokeStyle = fg; c.globalAlpha = 0.35;
  const shown = side.arrows.filter((a) => a[1] <= view[1] && a[3] >= view[0]);
  if (shown.length <= 2000) for (const [from, at, to, end] of shown) {
    c.beginPath(); c.moveTo(Math.max(LEFT, x(width, at)), side.rows[from].y + ROW / 2); c.lineTo(Math.min(width, x(width, end)), side.rows[to].y + ROW / 2); c.stroke();
  }
  c.globalAlpha = 1;
  side.overview.forEach(([sm, ctas], i) => {
    const y = side.top + i * OVER;
    if (i % 11 === 0) { c.fillStyle = faint; c.fillText("SM " + sm, 2, y + 3); }
    for (const [cta, begin, end] of ctas) {
      if (end < view[0] || begin > view[1]) continue;
      const from = Math.max(LEFT, x(width, begin));
      c.fillStyle = `hsl(210 45% ${cta % 2 ? 55 : 68}%)`;
      c.fillRect(from, y, Math.max(1, Math.min(width, x(width, end)) - from), OVER - 1);
    }
  });
  if (measured) {
    const [a, b] = measured;
    c.globalAlpha = 0.15; c.fillStyle = fg;
    c.fillRect(x(width, Math.min(a, b)), 0, x(width, Math.max(a, b)) - x(width, Math.min(a, b)), side.height);
    c.globalAlpha = 1;
  }
}
const redraw = () => views.forEach(draw);
function at(canvas, event) {
  const box = canvas.getBoundingClientRect();
  return view[0] + ((event.clientX - box.left - LEFT) / (box.width - LEFT)) * (view[1] - view[0]);
}
function under({ side, canvas }, event) {
  const now = at(canvas, event), y = event.clientY - canvas.getBoundingClientRect().top;
  if (y >= side.top) {
    const over = side.overview[Math.floor((y - side.top) / OVER)];
    const cta = over && over[1].find(([, b, e]) => b <= now && now <= e);
    return cta && `SM ${over[0]}, CTA ${cta[0]}\n${time(cta[1])} to ${time(cta[2])}: ${time(cta[2] - cta[1])}`;
  }
  const row = side.rows.filter((r) => r.y <= y).at(-1);
  if (!row) return;
  const depth = row.flight ? 0 : Math.floor((y - row.y) / (ROW - 2));
  const hit = row.spans.find((s) => s[1] <= now && now <= s[1] + s[2] && (row.flight || s[3] === depth));
  return hit && `${side.regions[hit[0]][0]}\n${time(hit[1])} to ${time(hit[1] + hit[2])}: ${time(hit[2])}${hit[6] ? ", " + hit[6] + " cycles" : ""}\n${row.host ? "launch" : "iteration"} ${hit[4]}${hit[5] ? ", word 0x" + hit[5].toString(16) : ""}\n${row.name}`;
}
for (const v of views) {
  let held = null;
  v.canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const here = at(v.canvas, event), factor = Math.exp(event.deltaY * 0.002);
    view = [here - (here - view[0]) * factor, here + (view[1] - here) * factor];
    if (view[1] - view[0] > (whole + lead) * 1.2) view = full();
    redraw();
  }, { passive: false });
  v.canvas.addEventListener("mousedown", (event) => { held = { from: at(v.canvas, event), measure: event.shiftKey }; if (!held.measure) measured = null; });
  v.canvas.addEventListener("mousemove", (event) => {
    if (held) {
      const now = at(v.canvas, event);
      if (held.measure) { measured = [held.from, now]; said.textContent = "measured: " + time(Math.abs(now - held.from)); }
      else view = view.map((edge) => edge + held.from - now);
      redraw();
    }
    const text = under(v, event);
    tip.hidden = !text;
    if (text) { tip.textContent = text; tip.style.left = event.clientX + 14 + "px"; tip.style.top = event.clientY + 14 + "px"; }
  });
  v.canvas.addEventListener("mouseleave", () => { tip.hidden = true; });
  v.canvas.addEventListener("click", (event) => { const text = under(v, event); if (text && !event.shiftKey) said.textContent = text.replaceAll("\n", " · "); });
  addEventListener("mouseup", () => { held = null; });
}
find.addEventListener("input", redraw);
document.getElementById("all").addEventListener("click", () => { view = full(); measured = null; redraw(); });
addEventListener("resize", redraw);
redraw();
document.documentElement.dataset.ready = "yes";
