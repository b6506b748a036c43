// The zoomable sequence plot. Everything it says is also in the page without it.
(function () {
  "use strict";
  var $ = function (id) { return document.getElementById(id); };
  var plots = JSON.parse($("plot-data").textContent);
  var classes = ["k-first", "k-again", "k-lost", "k-ack", "k-nak"];
  var colors = ["--first", "--again", "--lost", "--ack", "--nak"];
  var drawOrder = [3, 0, 1, 4, 2]; // losses on top
  var area = $("plot-area"), select = $("plot-conn"), readout = $("plot-readout");
  var legend = Array.prototype.slice.call($("plot-legend").children);
  var hint = readout.textContent;
  var shown = [true, true, true, true, true];
  var current = 0, chart = null, lossAt = -1;

  function color(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }

  // Each shape adds one mark at x, y to the path; s is the device pixel ratio. Shapes differ so that colours need not.
  var shapes = [
    function (c, x, y, s) { c.rect(x - 0.9 * s, y - 0.9 * s, 1.8 * s, 1.8 * s); },
    function (c, x, y, s) { c.moveTo(x, y - 3.4 * s); c.lineTo(x + 3 * s, y + 2.2 * s); c.lineTo(x - 3 * s, y + 2.2 * s); c.closePath(); },
    function (c, x, y, s) { c.moveTo(x - 4 * s, y - 4 * s); c.lineTo(x + 4 * s, y + 4 * s); c.moveTo(x + 4 * s, y - 4 * s); c.lineTo(x - 4 * s, y + 4 * s); },
    function (c, x, y, s) { c.moveTo(x - 2 * s, y); c.lineTo(x + 2 * s, y); },
    function (c, x, y, s) { c.rect(x - 3.4 * s, y - 3.4 * s, 6.8 * s, 6.8 * s); }
  ];
  var filled = [true, true, false, false, false];
  var width = [1, 1, 1.8, 1.3, 1.8];

  function lowerBound(times, t) {
    var lo = 0, hi = times.length;
    while (lo < hi) {
      var mid = (lo + hi) >> 1;
      if (times[mid] < t) { lo = mid + 1; } else { hi = mid; }
    }
    return lo;
  }

  // drawMarks draws the kinds one after the other, each only within the visible range.
  function drawMarks(u) {
    var c = u.ctx, s = devicePixelRatio || 1, b = u.bbox;
    c.save();
    c.beginPath();
    c.rect(b.left, b.top, b.width, b.height);
    c.clip();
    drawOrder.forEach(function (k) {
      var times = plots[current].marks[k][0] || [], offsets = plots[current].marks[k][1] || [];
      if (!shown[k] || !times.length) { return; }
      c.beginPath();
      for (var i = lowerBound(times, u.scales.x.min), n = lowerBound(times, u.scales.x.max + 1e-9); i < n; i++) {
        shapes[k](c, u.valToPos(times[i], "x", true), u.valToPos(offsets[i], "y", true), s);
      }
      c.lineWidth = width[k] * s;
      c.strokeStyle = c.fillStyle = color(colors[k]);
      if (filled[k]) { c.fill(); } else { c.stroke(); }
    });
    c.restore();
  }

  function extent() {
    var e = [0, 0, 0, 0], first = true; // x, x, y, y
    plots[current].marks.forEach(function (m) {
      (m[0] || []).forEach(function (t, i) {
        var o = m[1][i];
        if (first) { e = [t, t, o, o]; first = false; }
        e = [Math.min(e[0], t), Math.max(e[1], t), Math.min(e[2], o), Math.max(e[3], o)];
      });
    });
    var px = (e[1] - e[0]) * 0.01 || 1, py = (e[3] - e[2]) * 0.03 || 1;
    return [Math.min(0, e[0]), e[1] + px, e[2] - py, e[3] + py];
  }

  function whole() {
    var e = extent();
    lossAt = -1;
    chart.batch(function () {
      chart.setScale("x", { min: e[0], max: e[1] });
      chart.setScale("y", { min: e[2], max: e[3] });
    });
  }

  function zoom(factor) {
    chart.batch(function () {
      ["x", "y"].forEach(function (k) {
        var sc = chart.scales[k], mid = (sc.min + sc.max) / 2, half = (sc.max - sc.min) / 2 * factor;
        chart.setScale(k, { min: mid - half, max: mid + half });
      });
    });
  }

  // nextLoss shows the next lost transmission with what repaired it.
  function nextLoss() {
    var lost = plots[current].marks[2], times = lost[0] || [];
    if (!times.length) { readout.textContent = "Nothing was lost on this connection."; return; }
    lossAt = (lossAt + 1) % times.length;
    var t = times[lossAt], w = plots[current].window, lo = Infinity, hi = -Infinity;
    plots[current].marks.forEach(function (m) {
      var ts = m[0] || [];
      for (var i = lowerBound(ts, t - w / 4), n = lowerBound(ts, t + w); i < n; i++) {
        lo = Math.min(lo, m[1][i]);
        hi = Math.max(hi, m[1][i]);
      }
    });
    var pad = (hi - lo) * 0.05 || 1;
    chart.batch(function () {
      chart.setScale("x", { min: t - w / 4, max: t + w });
      chart.setScale("y", { min: lo - pad, max: hi + pad });
    });
    readout.textContent = "Loss " + (lossAt + 1) + " of " + times.length + ": PSN +" + lost[1][lossAt] + " at " + t + " " + plots[current].unit;
  }

  function point(u) {
    var x = u.cursor.left, y = u.cursor.top;
    if (x == null || x < 0) { if (lossAt < 0) { readout.textContent = hint; } return; }
    var best = null, reach = 14 * 14;
    plots[current].marks.forEach(function (m, k) {
      if (!shown[k]) { return; }
      var ts = m[0] || [];
      for (var i = lowerBound(ts, u.posToVal(x - 14, "x")), n = lowerBound(ts, u.posToVal(x + 14, "x")); i < n; i++) {
        var dx = u.valToPos(ts[i], "x") - x, dy = u.valToPos(m[1][i], "y") - y, d = dx * dx + dy * dy;
        if (d < reach) { reach = d; best = [k, ts[i], m[1][i]]; }
      }
    });
    if (best) { readout.textContent = legend[best[0]].firstChild.nextSibling.textContent + ": PSN +" + best[2] + " at " + best[1] + " " + plots[current].unit; }
  }

  // labels prints axis values with as many decimals as their distance needs, and groups of three digits.
  function labels(u, values, axis, space, step) {
    var decimals = Math.max(0, Math.ceil(-Math.log10(step) - 1e-9));
    return values.map(function (v) {
      var parts = v.toFixed(decimals).split(".");
      parts[0] = parts[0].replace(/\B(?=(\d{3})+$)/g, "\u2009");
      return parts.join(".");
    });
  }

  function build() {
    if (chart) { chart.destroy(); }
    var p = plots[current], e = extent(), muted = function () { return color("--muted"); };
    var grid = { stroke: function () { return color("--rule"); }, width: 1 };
    var ticks = { stroke: muted, width: 1, size: 4 };
    chart = new uPlot({
      width: area.clientWidth, height: area.clientHeight, legend: { show: false }, padding: [10, 22, 0, 0],
      cursor: { drag: { x: true, y: true, uni: 20 }, points: { show: false } },
      scales: { x: { time: false, min: e[0], max: e[1] }, y: { min: e[2], max: e[3] } },
      series: [{}, { paths: function () { return null; }, points: { show: false } }],
      axes: [
        { stroke: muted, grid: grid, ticks: ticks, font: "12px " + color("--sans"), labelFont: "12px " + color("--sans"), label: "time since the first packet, " + p.unit, labelSize: 22, size: 34, space: 70, values: labels },
        { stroke: muted, grid: grid, ticks: ticks, font: "12px " + color("--sans"), labelFont: "12px " + color("--sans"), label: "PSN, counted from the first request", labelSize: 22,
          size: function (u, values) { return 16 + 7.2 * Math.max.apply(null, (values || ["0"]).map(function (v) { return String(v).length; })); },
          incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6, 2e6, 5e6, 1e7, 2e7, 5e7, 1e8, 1e9, 1e10], values: labels }
      ],
      hooks: { draw: [drawMarks], setCursor: [point] }
    }, [[e[0], e[1]], [e[2], e[3]]], area);
    chart.over.addEventListener("dblclick", function (ev) { ev.stopImmediatePropagation(); whole(); }, true);
    whole();
    legend.forEach(function (b, k) { b.lastChild.textContent = (p.marks[k][0] || []).length; });
  }

  document.documentElement.classList.add("scripted");
  $("plot").hidden = false;
  build();
  select.addEventListener("change", function () { current = +select.value; lossAt = -1; build(); });
  $("plot-loss").addEventListener("click", nextLoss);
  $("plot-in").addEventListener("click", function () { zoom(0.5); });
  $("plot-out").addEventListener("click", function () { zoom(2); });
  $("plot-all").addEventListener("click", whole);
  legend.forEach(function (b, k) {
    b.addEventListener("click", function () {
      shown[k] = !shown[k];
      b.setAttribute("aria-pressed", shown[k]);
      chart.redraw();
    });
  });
  new ResizeObserver(function () {
    if (area.clientWidth !== chart.width) { chart.setSize({ width: area.clientWidth, height: area.clientHeight }); }
  }).observe(area);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", function () { chart.redraw(); });
})();
