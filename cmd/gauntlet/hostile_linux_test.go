//go:build netns

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/quote"
)

// nasty declares itself as the contract asks. Asked to prepare, it fails with a last line that has commands for a
// terminal, a CI system and a browser; named "says", it also sends them in an error event.
const nasty = `#!/bin/sh
trap 'exit 0' TERM
echo '{"event":"capabilities","contract":1,"program":"nasty","version":"1","operations":"WRITE",` +
	`"serves":"WRITE","mtus":"1024","recovery":"other","max_qps":4}'
while read -r line; do
	case $line in
	*gauntlet_no_such_parameter*) exit 127 ;;
	*'"prepare"'*)
		if [ "${0##*/}" = says ]; then
			printf '%s\n' '{"event":"error","error":"\u001b]0;owned\u0007\n::error::x\u202e</script><script>| ##vso[x] gone"}'
		fi
		printf '\033]0;owned\007\r::error::x\342\200\256</script><script>| ##vso[x] \377 gone\n' >&2
		exit 1 ;;
	esac
done
`

// hostile reports whether a text has a part that no output may have: a control character, one that changes the
// direction of text, invalid UTF-8, or a command for a CI system.
func hostile(s string) bool {
	return quote.Text(s) != s || regexp.MustCompile(`(?m)^[\s\p{Z}]*::|##[[:alpha:]]*\[`).MatchString(s)
}

// The last line of a program is shown and has no effect on a terminal, in the log of a CI job, in JSON or in a report.
func TestAHostileProgramIsQuoted(t *testing.T) {
	beside(t)
	needNetns(t)
	for _, name := range []string{"logs", "says"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			must(t, os.WriteFile(filepath.Join(dir, name), []byte(nasty), 0o755))
			spec := []string{"--bench", "netns", "--rate", "10M", "--rtt", "4ms", "--count", "1"}
			for _, args := range [][]string{
				{"check-contract", "./" + name},
				append([]string{"run", "--impl", "exec:./" + name, "--out", "plain"}, spec...),
				append([]string{"run", "--impl", "exec:./" + name, "--json", "--out", "json"}, spec...),
				{"matrix", "--bench", "netns", "--impl", "exec:./" + name, "--links", "clean", "--with",
					"load write msg=1KiB count=1", "--out", "m"},
			} {
				o := gauntlet(t, dir, args...)
				said := strings.ReplaceAll(o.stdout+o.stderr, `\\`, `\`) // JSON doubles backslashes
				if o.code == 0 || hostile(o.stdout) || hostile(o.stderr) ||
					!strings.Contains(said, `\x1b]0;owned\x07`) {
					t.Errorf("%v: exit %d\n%q\n%q", args, o.code, o.stdout, o.stderr)
				}
				if strings.Contains(strings.Join(args, " "), "--json") && !json.Valid([]byte(o.stdout)) {
					t.Errorf("no JSON: %s", o.stdout)
				}
			}
			quotedFiles(t, dir)
		})
	}
}

// quotedFiles checks the reports below a folder.
func quotedFiles(t *testing.T, dir string) {
	t.Helper()
	seen := 0
	must(t, filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || !slices.Contains([]string{".html", ".json", ".md", ".xml"}, filepath.Ext(path)) || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), "owned") {
			seen++
		}
		if bad := string(text); quote.Text(bad) != bad || strings.Contains(bad, "x</script><script>|") {
			t.Errorf("%s is not quoted", path)
		}
		return err
	}))
	if seen == 0 {
		t.Error("no report says what the program said")
	}
}
