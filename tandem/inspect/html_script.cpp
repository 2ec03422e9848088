#include "tandem/inspect/formats_detail.h"

/// What runs in the browser. layout() is place.cpp in another language, number by number, so that a
/// page and a picture of the same graph agree; tests/inspect compares the two where node is
/// installed. What it is given: see html.cpp.
namespace tandem::inspect {

const char* const kPageScript = R"JS('use strict';
const BOX = 0, GROUP = 1, IN = 2, OUT = 3, BEND = 4;

// Coordinates for everything that is shown if the groups in `open` are open.
function layout(data, open) {
  const spots = [];
  const offset = (level, item, port) => {
    if (port < 0) return 0;
    const g = level.ref[item];
    return open[g] ? spots[g].x[port] - spots[g].w / 2 : 0;
  };

  // Of functions and arguments; see Kind.
  const strength = l => l.dashed ? 0.25 : data.kinds[data.boxes[l.source].kind].flows ? 2 : 0.5;

  function settle(level, s, near, row, above, below) {
    const blocks = [], shift = [];
    let sum = 0;
    for (let i = 0; i < row.length; ++i) {
      if (i) sum += distance(level, s, row[i - 1], row[i]);
      shift.push(sum);
      let weight = 0, wish = 0;
      const add = ends => {
        for (const [item, w, off] of ends) {
          weight += w;
          wish += w * (s.x[item] + off);
        }
      };
      if (above) add(near.up[row[i]]);
      if (below) add(near.down[row[i]]);
      if (weight === 0) { weight = 0.01; wish = weight * s.x[row[i]]; }
      blocks.push({wish: wish / weight - sum, weight, begin: i});
      while (blocks.length > 1 && blocks[blocks.length - 2].wish >= blocks[blocks.length - 1].wish) {
        const last = blocks.pop(), b = blocks[blocks.length - 1];
        b.wish = (b.wish * b.weight + last.wish * last.weight) / (b.weight + last.weight);
        b.weight += last.weight;
      }
    }
    blocks.forEach((b, k) => {
      const end = k + 1 < blocks.length ? blocks[k + 1].begin : row.length;
      for (let i = b.begin; i < end; ++i) s.x[row[i]] = b.wish + shift[i];
    });
  }

  function distance(level, s, left, right) {
    const thin = i => level.what[i] >= IN;
    const gap = thin(left) && thin(right) ? 12 : thin(left) || thin(right) ? 14 : 20;
    return s.sizes[left][0] / 2 + s.sizes[right][0] / 2 + gap;
  }

  function space(g) {
    const level = data.levels[g], n = level.rows.length;
    const s = spots[g] = {x: level.what.map(() => 0), top: [], bottom: []};
    s.sizes = level.what.map((what, i) => {
      const ref = level.ref[i];
      if (what === BOX) return [data.boxes[ref].w, data.boxes[ref].h];
      if (what !== GROUP) return [2, 0];
      return open[ref] ? [spots[ref].w, spots[ref].h] : [data.groups[ref].w, data.groups[ref].h];
    });
    const near = {up: level.what.map(() => []), down: level.what.map(() => [])};
    for (const l of level.links) {
      if (level.row[l.to] !== level.row[l.from] + 1) continue;
      const bends = (level.what[l.from] === BEND) + (level.what[l.to] === BEND);
      const weight = strength(l) * (bends === 2 ? 16 : bends === 1 ? 2 : 1);
      const a = offset(level, l.from, l.fromPort), b = offset(level, l.to, l.toPort);
      near.down[l.from].push([l.to, weight, b - a]);
      near.up[l.to].push([l.from, weight, a - b]);
    }
    for (const row of level.rows) {
      let width = 0;
      for (let i = 1; i < row.length; ++i) width += distance(level, s, row[i - 1], row[i]);
      let at = -width / 2;
      row.forEach((item, i) => {
        if (i) at += distance(level, s, row[i - 1], item);
        s.x[item] = at;
      });
    }
    const rounds = level.what.length < 20000 ? 12 : 4;
    for (let round = 0; round < rounds; ++round) {
      const both = round >= rounds - 2;
      for (let r = 0; r < n; ++r) settle(level, s, near, level.rows[r], true, both);
      for (let r = n; r-- > 0;) settle(level, s, near, level.rows[r], both, true);
    }
    straighten(level, s, near);
    gather(level, s, near);
    s.sink = level.what.map(() => 0.5);
    const enters = level.what.map(() => 0), leaves = level.what.map(() => 0);
    for (const l of level.links) leaves[l.from] = enters[l.to] = 1;
    level.what.forEach((_, i) => { if (enters[i] !== leaves[i]) s.sink[i] = leaves[i]; });
    widths(g, s);
    heights(g, level, s);
  }

  function straighten(level, s, near) {
    const any = 1e9, bend = i => level.what[i] === BEND;
    const next = level.what.map(() => -1), first = level.what.map(() => true);
    level.what.forEach((_, i) => {
      if (bend(i)) for (const [to] of near.down[i]) if (bend(to)) { next[i] = to; first[to] = false; }
    });
    const place = places(level);
    const align = (run, low, high) => {
      const sum = run.reduce((a, b) => a + s.x[b], 0);
      const x = Math.min(Math.max(sum / run.length, low), high);
      for (const b of run) s.x[b] = x;
      run.length = 0;
    };
    for (let round = 0; round < 2; ++round)
      for (let i = 0; i < next.length; ++i) {
        if (!bend(i) || !first[i]) continue;
        let low = -any, high = any;
        const run = [];
        for (let b = i; b >= 0; b = next[b]) {
          const row = level.rows[level.row[b]], at = place[b];
          let left = -any, right = any;
          if (at > 0) left = s.x[row[at - 1]] + distance(level, s, row[at - 1], b);
          if (at + 1 < row.length) right = s.x[row[at + 1]] - distance(level, s, b, row[at + 1]);
          right = Math.max(left, right);
          if (Math.max(low, left) > Math.min(high, right)) {
            align(run, low, high);
            low = -any;
            high = any;
          }
          low = Math.max(low, left);
          high = Math.min(high, right);
          run.push(b);
        }
        align(run, low, high);
      }
  }

  function places(level) {
    const place = level.what.map(() => 0);
    for (const row of level.rows) row.forEach((item, i) => { place[item] = i; });
    return place;
  }

  function gather(level, s, near) {
    const part = level.what.map(() => -1), members = [];
    level.what.forEach((_, start) => {
      if (part[start] >= 0) return;
      const stack = [start], p = members.length;
      members.push([]);
      part[start] = p;
      while (stack.length) {
        const item = stack.pop();
        for (const ends of [near.up[item], near.down[item]])
          for (const [other] of ends) if (part[other] < 0) { part[other] = p; stack.push(other); }
      }
    });
    part.forEach((p, i) => members[p].push(i));
    if (members.length < 2) return;
    let largest = 0;
    const away = members.map((m, p) => {
      if (m.length > members[largest].length) largest = p;
      return m.reduce((sum, i) => sum + s.x[i], 0) / m.length;
    });
    const middle = away[largest], place = places(level);
    away.forEach((_, p) => { away[p] -= middle; });
    const order = members.map((_, p) => p).filter(p => p !== largest);
    order.sort((a, b) => Math.abs(away[a]) - Math.abs(away[b]));
    for (const p of order) {
      const left = away[p] > 0;
      let room = Math.abs(away[p]);
      for (const i of members[p]) {
        const row = level.rows[level.row[i]], at = place[i];
        if (left ? at === 0 : at + 1 === row.length) continue;
        const other = left ? row[at - 1] : row[at + 1];
        if (part[other] === p) continue;
        const least = left ? distance(level, s, other, i) : distance(level, s, i, other);
        room = Math.min(room, Math.max(0, Math.abs(s.x[i] - s.x[other]) - least));
      }
      for (const i of members[p]) s.x[i] -= left ? room : -room;
    }
  }

  function widths(g, s) {
    let left = 0, right = 0;
    s.x.forEach((x, i) => {
      const l = x - s.sizes[i][0] / 2, r = x + s.sizes[i][0] / 2;
      left = i ? Math.min(left, l) : l;
      right = i ? Math.max(right, r) : r;
    });
    s.w = Math.max(right - left, g ? data.groups[g].label : 0) + 2 * data.side;
    const shift = (s.w - (right - left)) / 2 - left;
    s.x = s.x.map(x => x + shift);
  }

  function heights(g, level, s) {
    const n = level.rows.length, reach = level.rows.map(() => 0);
    for (const l of level.links) {
      const r = level.row[l.from];
      reach[r] = Math.max(reach[r], Math.abs(s.x[l.to] + offset(level, l.to, l.toPort) -
                                             s.x[l.from] - offset(level, l.from, l.fromPort)));
    }
    const ports = (r, what) => r >= 0 && r < n && level.rows[r].length > 0 &&
                               level.what[level.rows[r][0]] === what;
    let y = ports(0, IN) ? 0 : g ? data.header : data.side;
    for (let r = 0; r < n; ++r) {
      let h = 0;
      for (const i of level.rows[r]) h = Math.max(h, s.sizes[i][1]);
      s.top.push(y);
      s.bottom.push(y + h);
      y += h;
      if (r + 1 < n && level.rows[r].length)
        y += Math.max(Math.min(22 + 0.06 * reach[r], 90), ports(r, IN) ? data.header + 6 : 0);
    }
    s.h = y + (ports(n - 1, OUT) ? 0 : data.foot);
  }

  const result = {boxes: data.boxes.map(() => null), groups: data.groups.map(() => null), wires: []};
  function put(g) {
    const level = data.levels[g], s = spots[g], x0 = result.groups[g].x, y0 = result.groups[g].y;
    const upper = i => y0 + s.top[level.row[i]] +
        s.sink[i] * (s.bottom[level.row[i]] - s.top[level.row[i]] - s.sizes[i][1]);
    level.what.forEach((what, i) => {
      if (what > GROUP) return;
      (what === BOX ? result.boxes : result.groups)[level.ref[i]] =
          {x: x0 + s.x[i] - s.sizes[i][0] / 2, y: upper(i), w: s.sizes[i][0], h: s.sizes[i][1]};
    });
    const ends = i => level.what[i] === BOX || (level.what[i] === GROUP && !open[level.ref[i]]);
    for (const l of level.links) {
      const a = level.row[l.from], b = level.row[l.to];
      const y3 = y0 + s.top[b];
      result.wires.push({
        x1: x0 + s.x[l.from] + offset(level, l.from, l.fromPort),
        y1: level.what[l.from] === BEND ? y0 + s.top[a] : upper(l.from) + s.sizes[l.from][1],
        y2: y0 + s.bottom[a],
        x2: x0 + s.x[l.to] + offset(level, l.to, l.toPort), y3,
        y4: level.what[l.to] === BEND ? y3 : upper(l.to),
        source: l.source, dashed: l.dashed,
        arrow: !l.upwards && ends(l.to), upwards: l.upwards && ends(l.from)});
    }
  }

  for (let g = data.levels.length; g-- > 0;) if (open[g]) space(g);
  result.w = spots[0].w;
  result.h = spots[0].h;
  result.groups[0] = {x: 0, y: 0, w: result.w, h: result.h};
  data.levels.forEach((_, g) => { if (open[g] && result.groups[g]) put(g); });
  return result;
}

// The page's data with its lists taken apart.
function unpack(data) {
  for (const level of data.levels) {
    const items = level.items, links = level.links;
    level.what = []; level.ref = []; level.row = []; level.links = [];
    for (let i = 0; i < items.length; i += 2) {
      level.what.push(items[i]);
      level.ref.push(items[i + 1]);
      level.row.push(0);
    }
    level.rows.forEach((row, r) => { for (const i of row) level.row[i] = r; });
    for (let i = 0; i < links.length; i += 6)
      level.links.push({from: links[i], to: links[i + 1], fromPort: links[i + 2],
                        toPort: links[i + 3], source: links[i + 4],
                        dashed: (links[i + 5] & 1) > 0, upwards: (links[i + 5] & 2) > 0});
  }
  return data;
}

function show(data) {
  const open = data.groups.map(g => g.open === 1);
  const svg = document.getElementById('graph'), tip = document.getElementById('tip');
  const make = (name, attributes, parent) => {
    const e = document.createElementNS('http://www.w3.org/2000/svg', name);
    for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
    if (parent) parent.appendChild(e);
    return e;
  };
  const view = make('g', {}, svg);
  let scale = 1, tx = 0, ty = 0, placed = null, wiresOf = new Map();
  const move = () => view.setAttribute('transform', `translate(${tx},${ty}) scale(${scale})`);
  const text = (parent, words, attributes) => { make('text', attributes, parent).textContent = words; };
  const rect = (parent, r, attributes) =>
      make('rect', {x: r.x, y: r.y, width: r.w, height: r.h, ...attributes}, parent);

  function explain(e, words) {
    e.addEventListener('mousemove', event => {
      tip.textContent = words;
      tip.style.display = 'block';
      const w = tip.offsetWidth, h = tip.offsetHeight;
      tip.style.left = Math.max(0, Math.min(event.clientX + 14, innerWidth - w - 6)) + 'px';
      tip.style.top = Math.max(0, Math.min(event.clientY + 16, innerHeight - h - 6)) + 'px';
    });
    e.addEventListener('mouseleave', () => { tip.style.display = 'none'; });
  }

  function toggle(g) {
    // What was clicked stays where it is on the screen.
    const before = placed.groups[g];
    open[g] = !open[g];
    draw();
    const after = placed.groups[g];
    tx += scale * (before.x + before.w / 2 - after.x - after.w / 2);
    ty += scale * (before.y - after.y);
    move();
  }

  function drawGroup(g, r) {
    const group = data.groups[g], kind = group.fused ? 'fused' : 'module';
    const e = make('g', {class: 'group'}, view);
    rect(e, r, {class: kind, rx: 6});
    explain(e, group.tip + (open[g] ? '\n(click its name to close it)' : '\n(click to open it)'));
    if (!open[g]) e.addEventListener('click', () => { if (!dragged) toggle(g); });
  }
  function drawLabel(g, r) {
    const group = data.groups[g], kind = group.fused ? 'fused' : 'module';
    const e = make('g', {class: 'label'}, view);
    if (open[g]) {
      rect(e, {x: r.x + 5, y: r.y + 3, w: group.label + 8, h: 17}, {class: kind, style: 'stroke:none', rx: 3});
      text(e, group.name, {class: 'l ' + kind, x: r.x + 9, y: r.y + 16});
    } else {
      text(e, group.name, {class: 't closed ' + kind, x: r.x + r.w / 2, y: r.y + r.h / 2 + 4});
    }
    explain(e, group.tip + (open[g] ? '\n(click to close it)' : '\n(click to open it)'));
    e.addEventListener('click', () => { if (!dragged) toggle(g); });
  }
  function drawWire(w) {
    const y1 = w.y1 + (w.upwards ? 6 : 0), y4 = w.y4 - (w.arrow ? 6 : 0);
    const y2 = Math.max(y1, w.y2), y3 = Math.min(y4, w.y3), middle = (y2 + y3) / 2;
    const kind = w.dashed ? ' dashed' : '';
    let d = `M${w.x1} ${y1}`;
    if (Math.abs(w.x1 - w.x2) > 0.01) d += `V${y2}C${w.x1} ${middle} ${w.x2} ${middle} ${w.x2} ${y3}`;
    const parts = [make('path', {class: 'wire' + kind, d: d + `V${y4}`}, view)];
    if (w.arrow) parts.push(make('path', {class: 'head' + kind, d: `M${w.x2} ${w.y4}l-3.5 -6h7z`}, view));
    if (w.upwards) parts.push(make('path', {class: 'head' + kind, d: `M${w.x1} ${w.y1}l-3.5 6h7z`}, view));
    if (!wiresOf.has(w.source)) wiresOf.set(w.source, []);
    wiresOf.get(w.source).push(...parts);
  }
  function drawBox(b, r) {
    const box = data.boxes[b];
    const e = make('g', {class: data.kinds[box.kind].name}, view);
    rect(e, r, {rx: 4});
    let y = r.y + 4 + 12 * 1.3 * 0.75;
    box.lines.forEach((line, i) => {
      text(e, line, {class: i ? 's' : 't', x: r.x + r.w / 2, y});
      y += 13 + (i ? 0 : 1);
    });
    explain(e, box.tip);
    const light = on => (wiresOf.get(b) || []).forEach(w => w.classList.toggle('lit', on));
    e.addEventListener('mouseenter', () => light(true));
    e.addEventListener('mouseleave', () => light(false));
  }

  function draw() {
    placed = layout(data, open);
    view.replaceChildren();
    wiresOf = new Map();
    tip.style.display = 'none';
    placed.groups.forEach((r, g) => { if (r && g) drawGroup(g, r); });
    placed.wires.forEach(w => { if (w.dashed) drawWire(w); });
    placed.wires.forEach(w => { if (!w.dashed) drawWire(w); });
    placed.groups.forEach((r, g) => { if (r && g) drawLabel(g, r); });
    placed.boxes.forEach((r, b) => { if (r) drawBox(b, r); });
  }
  function fit() {
    const w = svg.clientWidth, h = svg.clientHeight;
    scale = Math.min(1.5, w / placed.w, Math.max(h / placed.h, 0.35));
    tx = (w - scale * placed.w) / 2;
    ty = Math.max(0, (h - scale * placed.h) / 2);
    move();
  }
  function zoom(factor, x, y) {
    const next = Math.max(0.01, Math.min(8, scale * factor));
    tx = x - (x - tx) * next / scale;
    ty = y - (y - ty) * next / scale;
    scale = next;
    move();
  }

  let held = null, dragged = false;
  svg.addEventListener('pointerdown', e => { held = [e.clientX - tx, e.clientY - ty]; dragged = false; });
  addEventListener('pointermove', e => {
    if (!held) return;
    const x = e.clientX - held[0], y = e.clientY - held[1];
    if (Math.abs(x - tx) + Math.abs(y - ty) > 3 || dragged) { dragged = true; tx = x; ty = y; move(); }
  });
  addEventListener('pointerup', () => { held = null; });
  svg.addEventListener('wheel', e => {
    e.preventDefault();
    const r = svg.getBoundingClientRect();
    zoom(Math.exp(-e.deltaY * (e.deltaMode ? 0.05 : 0.0015)), e.clientX - r.left, e.clientY - r.top);
  }, {passive: false});
  const press = (id, action) => document.getElementById(id).addEventListener('click', action);
  const all = on => { open.forEach((_, g) => { if (g) open[g] = on; }); draw(); fit(); };
  press('fit', fit);
  press('open', () => all(true));
  press('close', () => all(false));
  press('in', () => zoom(1.3, svg.clientWidth / 2, svg.clientHeight / 2));
  press('out', () => zoom(1 / 1.3, svg.clientWidth / 2, svg.clientHeight / 2));
  if (data.groups.length < 2) for (const id of ['open', 'close']) document.getElementById(id).hidden = true;
  draw();
  fit();
}
)JS"
                                R"JS(
if (typeof document !== 'undefined')
  show(unpack(JSON.parse(document.getElementById('data').textContent)));
)JS";

}  // namespace tandem::inspect
