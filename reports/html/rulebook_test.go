package html_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/reports/html"
	"github.com/rdma-gauntlet/gauntlet/reports/model/modeltest"
)

// reader uses the rulebook like a reader and writes its observations into the title.
const reader = `<script>
(function () {
  var seen = [], $ = function (id) { return document.getElementById(id); };
  var shown = function () { return document.querySelectorAll("details.entry:not([hidden])").length + "/" + ` +
	`document.querySelectorAll("section.family:not([hidden])").length; };
  var search = function (s) { $("words").value = s; $("words").dispatchEvent(new Event("input")); ` +
	`seen.push(shown() + $("found").textContent); };
  search("");
  search("second nak");
  search("nothing of that kind");
  location.hash = "#WRK-POST-002";
  setTimeout(function () {
    seen.push(shown() + ($("WRK-POST-002").open ? "open" : "closed") + ($("RC-NAK-002").open ? "open" : "closed"));
    seen.push("overflow=" + (document.documentElement.scrollWidth > innerWidth));
    document.title = seen.join(" ");
  }, 100);
})();
</script></body>`

func TestBrowserSearchesTheRulebook(t *testing.T) {
	var b bytes.Buffer
	if err := html.Rulebook(&b, modeltest.Rulebook()); err != nil {
		t.Fatal(err)
	}
	// the policy of the page would stop the reader
	page := regexp.MustCompile(`<meta http-equiv[^>]*>`).ReplaceAllString(b.String(), "")
	dom, console := visit(t, strings.Replace(page, "</body>", reader, 1))
	if want := "<title>2/2 1/11 of 2 0/00 of 2 2/2openclosed " +
		"overflow=false</title>"; !strings.Contains(dom, want) || console != "" {
		t.Errorf("the page says %s, want %s; console %q",
			regexp.MustCompile(`<title>.*?</title>`).FindString(dom), want, console)
	}
	if dom, console := visit(t, b.String()); console != "" || strings.Contains(dom, `id="search" hidden`) {
		t.Errorf("as it is: the search is not shown; console %q", console)
	}
}
