package htmltest

// examine is what a script finds wrong in a page: what is too wide, and what a screen reader would stumble over.
const examine = `(() => {
  const bad = [], all = (s) => [...document.querySelectorAll(s)];
  if (document.documentElement.scrollWidth > innerWidth) {
    bad.push("wider than the window by " + (document.documentElement.scrollWidth - innerWidth) + ": " +
      all("main *").filter(e => !e.parentElement.closest(".scroll, pre, svg"))
        .filter(e => e.getBoundingClientRect().right > innerWidth + 1)
        .slice(0, 3).map(e => e.tagName + "." + (e.className.baseVal ?? e.className)).join(", "));
  }
  if (!document.documentElement.lang) bad.push("no language");
  if (!document.title) bad.push("no title");
  if (all("main").length !== 1) bad.push("not one main");
  let level = 0;
  for (const h of all("h1, h2, h3, h4")) {
    const n = +h.tagName[1];
    if (n > level + 1) bad.push("heading " + h.textContent + " skips a level");
    if (!h.textContent.trim()) bad.push("an empty heading");
    level = n;
  }
  if (all("h1").length !== 1) bad.push("not one h1");
  for (const e of all("svg")) {
    const named = e.getAttribute("aria-label") || e.getAttribute("aria-labelledby");
    const shown = e.getAttribute("aria-hidden") !== "true";
    if (shown && !(named && e.getAttribute("role") === "img")) bad.push("a drawing without a name");
    for (const id of (e.getAttribute("aria-labelledby") || "").split(" ")) {
      if (id && !document.getElementById(id)) bad.push("nothing is called " + id);
    }
  }
  const ids = all("[id]").map(e => e.id);
  if (new Set(ids).size !== ids.length) bad.push("two elements of one name");
  for (const e of all("th")) if (!e.scope) bad.push("a table header without scope: " + e.textContent);
  for (const e of all("table")) if (!e.querySelector("th")) bad.push("a table without headers");
  for (const e of all("a")) if (!e.closest("svg") && !e.textContent.trim()) bad.push("a link without text: " + e.href);
  for (const e of all(".scroll, pre")) {
    if (e.scrollWidth > e.clientWidth && e.tabIndex < 0) bad.push("keys do not scroll " + e.className);
  }
  return [...new Set(bad)];
})()`

// faint is text whose contrast with what is behind it is under 4.5 to 1 (WCAG 2.1, 1.4.3).
const faint = `(() => {
  const rgb = (s) => { const m = s.match(/[\d.]+/g).map(Number); return [m[0], m[1], m[2], m.length > 3 ? m[3] : 1]; };
  const linear = (v) => v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4;
  const light = (c) => { const [r, g, b] = c.map(linear);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const behind = (e) => {
    for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c[3] > 0.99) return c; }
    return [255, 255, 255, 1]; };
  const bad = new Set();
  for (const e of document.querySelectorAll("main *, header *, footer *")) {
    if (e.closest("svg") || ![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())) continue;
    const a = light(rgb(getComputedStyle(e).color).slice(0, 3)), b = light(behind(e).slice(0, 3));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) bad.add(e.tagName + "." + e.className + " " + ratio.toFixed(2));
  }
  return [...bad].slice(0, 5);
})()`

// Faults returns what is wrong with the page for a reader: what is too wide for the window, what a screen reader or the
// keyboard stumbles over, and text that is too faint.
func (p *Page) Faults() (wrong, weak []string) {
	p.Eval(examine, &wrong)
	p.Eval(faint, &weak)
	return wrong, weak
}
