package html_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rdma-gauntlet/gauntlet/conformance/judging"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/sim"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/impls/gbn"
	"github.com/rdma-gauntlet/gauntlet/perf/metrics"
	"github.com/rdma-gauntlet/gauntlet/reports/html"
	"github.com/rdma-gauntlet/gauntlet/reports/html/htmltest"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
	"github.com/rdma-gauntlet/gauntlet/reports/model/modeltest"
)

// visit opens a page from the disk and returns its final DOM and the output of the console.
func visit(t *testing.T, page string) (dom, console string) {
	t.Helper()
	b := htmltest.Find(t)
	dir, err := os.MkdirTemp("", "gauntlet-browser-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // the browser may still be writing to its profile
	file := filepath.Join(dir, "report.html")
	if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, b, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
		"--window-size=1280,1600",
		"--user-data-dir="+filepath.Join(dir, "profile"), "--enable-logging=stderr", "--virtual-time-budget=3000",
		"--dump-dom", "file://"+file)
	var out, log bytes.Buffer
	c.Stdout, c.Stderr = &out, &log
	if err := c.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", b, err, log.String())
	}
	for l := range strings.Lines(log.String()) {
		if strings.Contains(l, "CONSOLE") {
			console += l
		}
	}
	return out.String(), console
}

// simulated returns the result of a run of go-back-N with losses.
func simulated(t *testing.T) *model.Result {
	t.Helper()
	s := scenario.Default()
	for _, l := range []string{"seed 7", "link rate=1G delay=5ms queue=3000", "loss random p=5e-4", "qp count=2 qd=64",
		"load write msg=64KiB count=100"} {
		if err := s.Line(l); err != nil {
			t.Fatal(err)
		}
	}
	s.FitTimeout()
	var numbers *metrics.Collector
	g := gbn.Implementation()
	job, err := bench.NewJob(s, [2]engine.Implementation{g, g})
	if err != nil {
		t.Fatal(err)
	}
	job.Bytes = true
	run := judging.Run{Job: job, Bench: sim.Bench{}, Rules: rules.All(),
		Sink: func(h trace.Header, judge trace.Viewer) (trace.Sink, error) {
			numbers = metrics.NewCollector(&h, metrics.Options{Rates: [2]unit.Rate{s.Link.AB.Rate, s.Link.BA.Rate}})
			return trace.NewTimeline(&h, trace.Views{judge, numbers}), nil
		}}
	o, err := run.Play(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r := &model.Result{Format: model.FormatVersion, Started: "2026-01-31T12:00:00Z", Bench: "sim", Impl: s.Impl,
		Spec: s.String(), SpecHash: s.Hash(), Seed: s.Seed,
		Summary: numbers.Summary(), Timeline: numbers.Timeline(), Sequences: numbers.Sequences(), Verdicts: o.Verdicts,
		Status: rule.Pass.String(),
		Notes:  o.Evidence.Notes, Environment: facts(o.Evidence.Environment), Counters: facts(o.Evidence.Counters),
		Warnings: s.Warnings()}
	if r.Lost == 0 || len(r.Sequences) != 2 || len(o.Failed()) > 0 {
		t.Fatalf("%d lost, %d plots, %d broken: not the run that this test needs", r.Lost,
			len(r.Sequences), len(o.Failed()))
	}
	return r
}

func facts(pairs [][2]string) (out []model.Fact) {
	for _, p := range pairs {
		out = append(out, model.Fact{Name: p[0], Value: p[1]})
	}
	return out
}

func text(t *testing.T, r *model.Result) string {
	t.Helper()
	var b bytes.Buffer
	if err := html.Write(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestBrowserDrawsTheReport(t *testing.T) {
	for name, r := range map[string]*model.Result{"simulated": simulated(t), "sample": modeltest.Result(),
		"hostile": html.Hostile()} {
		dom, console := visit(t, text(t, r))
		if console != "" {
			t.Errorf("%s: console: %s", name, console)
		}
		for what, want := range map[string]int{`<tr class="v-`: len(r.Verdicts), "<canvas": 1, `class="u-wrap"`: 1,
			"<option": len(r.Sequences), "<img": 0} {
			if n := strings.Count(dom, what); n != want {
				t.Errorf("%s: %d of %s, want %d", name, n, what, want)
			}
		}
		if !strings.Contains(dom, `<html lang="en" class="scripted">`) || strings.Contains(dom, `id="plot" hidden`) {
			t.Errorf("%s: the plot is not shown", name)
		}
	}
}

// probe uses the page like a reader and writes its observations into the title.
const probe = `<script>
(function () {
  var seen = [], $ = function (id) { return document.getElementById(id); };
  var visible = function () { return Array.prototype.filter.call(document.querySelectorAll(".verdicts tbody ` +
	`tr"), function (r) { return getComputedStyle(r).display !== "none"; }).length; };
  var ink = function () { return document.querySelector("canvas").toDataURL(); };
  var later = function (f) { setTimeout(f, 50); };
  later(function () {
    var all = ink();
    seen.push("rows=" + visible());
    $("f-fail").click();
    seen.push("failing=" + visible());
    seen.push("overflow=" + (document.documentElement.scrollWidth > innerWidth));
    $("plot-legend").children[0].click();
    later(function () {
      seen.push("hidden=" + $("plot-legend").children[0].getAttribute("aria-pressed") + (ink() !== all));
      $("plot-loss").click();
      later(function () {
        seen.push($("plot-readout").textContent.replace(/:.*/, ""));
        $("plot-in").click(); $("plot-out").click(); $("plot-all").click();
        $("plot-conn").value = "1";
        $("plot-conn").dispatchEvent(new Event("change"));
        later(function () { seen.push("canvases=" + document.querySelectorAll("canvas").length); document.title ` +
	`= seen.join(" "); });
      });
    });
  });
})();
</script></body>`

func TestBrowserControls(t *testing.T) {
	r := simulated(t)
	r.Verdicts = append(r.Verdicts[:0:0], modeltest.Result().Verdicts...)
	// the policy of the page would stop the probe
	page := regexp.MustCompile(`<meta http-equiv[^>]*>`).ReplaceAllString(text(t, r), "")
	dom, console := visit(t, strings.Replace(page, "</body>", probe, 1))
	if console != "" {
		t.Errorf("console: %s", console)
	}
	lost := 0
	for _, m := range r.Sequences[0].Marks {
		if m.Kind == 2 {
			lost++
		}
	}
	want := fmt.Sprintf(
		"<title>rows=10 failing=2 overflow=false hidden=falsetrue Loss 1 of %d canvases=1</title>", lost)
	if !strings.Contains(dom, want) {
		t.Errorf("the page says %s, want %s", regexp.MustCompile(`<title>.*?</title>`).FindString(dom), want)
	}
}

// The policy of the page stops an injected script.
func TestBrowserPolicyStopsForeignScripts(t *testing.T) {
	page := strings.Replace(text(t, modeltest.Result()), "</body>",
		`<script>document.title = "owned"</script></body>`, 1)
	dom, console := visit(t, page)
	if strings.Contains(dom, "<title>owned") || !strings.Contains(console, "Content Security Policy") {
		t.Errorf("a foreign script ran; console: %s", console)
	}
}

// Without scripts the drawing and the tables are shown.
func TestBrowserWithoutScripts(t *testing.T) {
	page := regexp.MustCompile(`(?s)<script>.*?</script>`).ReplaceAllString(text(t, modeltest.Result()), "")
	dom, console := visit(t, page)
	if console != "" || strings.Contains(dom, "<canvas") || !strings.Contains(dom, `<svg class="static"`) ||
		!strings.Contains(dom, `id="plot" hidden`) {
		t.Errorf("console %q, or the drawing is missing", console)
	}
}

// The page of a matrix needs no script, and no part of it is wider than the page.
func TestBrowserShowsTheMatrix(t *testing.T) {
	for name, m := range map[string]*model.Matrix{"sample": modeltest.Matrix(), "hostile": html.HostileMatrix()} {
		var b bytes.Buffer
		if err := html.Matrix(&b, m, "."); err != nil {
			t.Fatal(err)
		}
		dom, console := visit(t, b.String())
		if console != "" || strings.Count(dom, `<svg class="bars"`) != 3 || strings.Contains(dom, "<img") {
			t.Errorf("%s: console %q, or a drawing is missing", name, console)
		}
		page := regexp.MustCompile(`<meta http-equiv[^>]*>`).ReplaceAllString(b.String(), "")
		wide := `<script>document.title = "overflow=" + (document.documentElement.scrollWidth > innerWidth);</script></body>`
		if dom, _ := visit(t, strings.Replace(page, "</body>", wide, 1)); name == "sample" && !strings.Contains(dom,
			"<title>overflow=false") {
			t.Errorf("%s: the page is wider than the window", name)
		}
	}
}

// The pages of atlas and figures need no script and load nothing.
func TestBrowserShowsTheAtlasAndFigures(t *testing.T) {
	var atlas, figures bytes.Buffer
	if err := errors.Join(html.Atlas(&atlas, modeltest.Atlas()),
		html.Figures(&figures, modeltest.Figures())); err != nil {
		t.Fatal(err)
	}
	for _, page := range []struct {
		text    string
		drawing string
		count   int
	}{{atlas.String(), `<svg class="atlas"`, 1}, {figures.String(), `<svg class="figure"`, 2}} {
		if dom, console := visit(t, page.text); console != "" || strings.Count(dom, page.drawing) != page.count {
			t.Errorf("console %q, or not %d of %s", console, page.count, page.drawing)
		}
	}
}
