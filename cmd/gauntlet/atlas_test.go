package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/perf/atlas"
)

// A loss in a hundred over ten round trips' worth of packets: whoever resends only what is missing is far ahead.
func TestAtlas(t *testing.T) {
	dir := t.TempDir()
	o := gauntlet(t, dir, "atlas", "--rate", "100M", "--rtt", "20ms", "--loss", "1e-2", "--burst", "1", "--impl",
		"gbn,fasr,irn:cap=1024", "--seeds", "3", "--out", "map")
	if o.code != 0 || !strings.Contains(o.stdout, "1 link, 9 runs") || !strings.Contains(o.stdout, "× gbn") {
		t.Fatalf("exit %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	text, err := os.ReadFile(filepath.Join(dir, "map", "atlas.json"))
	must(t, err)
	var m atlas.Map
	must(t, json.Unmarshal(text, &m))
	c := &m.Cells[0]
	if g := c.Entry("gbn"); g.Tied || g.Behind.Low < 1 || c.Entry("irn:cap=1024").Share.Value < 0.6 ||
		c.Product != 227 {
		t.Errorf("%+v", c)
	}
	for _, name := range []string{"atlas.html", "atlas.svg", "atlas.csv"} {
		if text, err := os.ReadFile(filepath.Join(dir, "map", name)); err != nil ||
			!strings.Contains(string(text), "irn:cap=1024") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAtlasRejects(t *testing.T) {
	for want, args := range map[string][]string{
		"--rtt: ":                {"--rtt", "soon"},
		"--loss: ":               {"--loss", "2"},
		"implementation \"tcp\"": {"--impl", "gbn,tcp"},
		"--jobs 0":               {"--jobs", "0"},
		"--margin 1":             {"--margin", "1"},
		"--law \"long\"":         {"--law", "long"},
		"2 transports or more":   {"--impl", "gbn"},
		"0 seeds":                {"--seeds", "0"},
		"burst 0: want 1":        {"--burst", "0"},
		`parameter r: "0"`:       {"--impl", "gbn,lowar:r=0"},
	} {
		o := inProcess(t, t.TempDir(), append([]string{"atlas"}, args...)...)
		if o.code != exitUsage || !strings.Contains(o.stderr, want) || strings.Count(o.stderr, "\n") != 1 {
			t.Errorf("%v: exit %d, %q, want %q", args, o.code, o.stderr, want)
		}
	}
}
