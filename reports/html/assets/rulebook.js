// Searching in the rulebook, and opening the rule that an address names. Without it the page shows all rules, closed.
(function () {
  "use strict";
  var $ = function (id) { return document.getElementById(id); };
  var entries = Array.prototype.slice.call(document.querySelectorAll("details.entry"));
  var families = Array.prototype.slice.call(document.querySelectorAll("section.family"));
  var texts = entries.map(function (e) { return (e.id + " " + e.textContent).toLowerCase(); });
  var words = $("words"), found = $("found");

  // filter shows the entries that say every word.
  function filter() {
    var wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean), n = 0;
    entries.forEach(function (e, i) {
      e.hidden = !wanted.every(function (w) { return texts[i].indexOf(w) >= 0; });
      n += e.hidden ? 0 : 1;
    });
    families.forEach(function (f) { f.hidden = !f.querySelector("details.entry:not([hidden])"); });
    found.textContent = wanted.length ? n + " of " + entries.length : "";
  }

  // open shows the rule of the address, also when a search hides it.
  function open() {
    var e = $(decodeURIComponent(location.hash.slice(1)));
    if (!e || entries.indexOf(e) < 0) { return; }
    if (e.hidden) { words.value = ""; filter(); }
    e.open = true;
    e.scrollIntoView();
  }

  $("search").hidden = false;
  words.addEventListener("input", filter);
  window.addEventListener("hashchange", open);
  open();
  filter();
})();
