package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/document"
	"github.com/rdma-gauntlet/gauntlet/reports/model/modeltest"
)

// page is the text of a file.
func page(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	return string(text)
}

// siteOf writes the pages of a store twice, to the same bytes, with what a night's report says and without.
func siteOf(t *testing.T, dir, store, report string) {
	t.Helper()
	for _, words := range []string{"--out first", "--out first/../second", "--out told --report " + report} {
		o := inProcess(t, dir, append([]string{"site", store}, strings.Fields(words)...)...)
		if o.code != 0 || o.stderr != "" || !strings.Contains(o.stdout, "/index.html: ") &&
			!strings.HasPrefix(o.stdout, "told/index.html: ") {
			t.Errorf("site %s: %+v", words, o)
		}
	}
	names, err := filepath.Glob("first/*")
	must(t, err)
	if len(names) < 30 {
		t.Errorf("%d files", len(names))
	}
	for _, name := range names {
		if page(t, name) != page(t, strings.Replace(name, "first", "second", 1)) {
			t.Errorf("%s: other bytes", name)
		}
	}
	if index := page(t, "told/index.html"); !strings.Contains(index, "2 changes of 1 cause") {
		t.Error(index)
	}
}

// A passport and the log of a search are kept for the pages of a device and of a change; what is neither goes on to be
// a result.
func TestStoreKeepsDocuments(t *testing.T) {
	dir := t.TempDir()
	log := func(w io.Writer) error { return document.JSON(w, modeltest.Bisection()) }
	must(t, document.File(filepath.Join(dir, "log.json"), log))
	o := inProcess(t, dir, "store", "add", "s", "log.json")
	if o.code != 0 || !strings.HasPrefix(o.stdout, "s/documents/bisection-") ||
		!strings.HasSuffix(o.stdout, ".json: kept\n") {
		t.Errorf("%+v", o)
	}
	empty := `{"payloadType":"application/vnd.in-toto+json","payload":"","signatures":[]}`
	must(t, os.WriteFile("false.json", []byte(empty), 0o644))
	if o = inProcess(t, dir, "store", "add", "s", "false.json"); o.code != exitUsage ||
		!strings.Contains(o.stderr, "store: false.json: ") || strings.Count(o.stderr, "\n") != 1 {
		t.Errorf("%+v", o)
	}
	must(t, os.Mkdir("full", 0o755))
	must(t, os.WriteFile("full/documents", nil, 0o644)) // so that nothing can be written or read there
	for _, words := range [][]string{{"store", "add", "full", "log.json"}, {"site", "full"}} {
		if o = inProcess(t, dir, words...); o.code != exitBroken ||
			!strings.Contains(o.stderr, "full/documents: not a directory") {
			t.Errorf("%v: %+v", words, o)
		}
	}
}

func TestSiteRefuses(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o644))
	must(t, os.Mkdir(filepath.Join(dir, "empty"), 0o755))
	for words, want := range map[string]struct {
		code int
		says string
	}{
		"":                             {exitUsage, "accepts 1 arg"},
		"none":                         {exitUsage, "store add makes a store"},
		"empty --report none":          {exitUsage, "site: --report: open none/night.json: no such file"},
		"empty --out file":             {exitBroken, "file: not a directory"},
		"empty --out file/in --colour": {exitUsage, "unknown flag"},
	} {
		o := inProcess(t, dir, append([]string{"site"}, strings.Fields(words)...)...)
		if o.code != want.code || !strings.Contains(o.stderr, want.says) || strings.Count(o.stderr, "\n") != 1 {
			t.Errorf("site %s: %+v, want %+v", words, o, want)
		}
	}
	if o := inProcess(t, dir, "site", "empty"); o.code != 0 ||
		!strings.Contains(page(t, "site/index.html"), "no night yet") {
		t.Errorf("of an empty store: %+v", o)
	}
}
