package modeltest

import (
	"reflect"
	"slices"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/perf/stats"
	"github.com/rdma-gauntlet/gauntlet/perf/suite"
)

// Benign is a text that no report needs to escape.
const Benign = "benign"

// Hostile lists texts that a program, a host, a capture or a foreign file may have in any field. Each tries to act as
// markup or as a command in one of the readers of a report. All contain the word Benign, so that a test can find them.
func Hostile() []string {
	return []string{
		Benign + "\x1b]0;owned\a", "\x1b[2J\x1b[8m\x1b[31m" + Benign, Benign + "\u009b2J\x7f", "done\r" + Benign +
			"\b\b", Benign + "\x00\v\f",
		Benign + "\xff\xfe\xc0\xaf", Benign + "\u202e\u2066\u200b\ufeff\u2028", "a\nb\n\n" + Benign + "\n",
		"::error file=a,line=1::" + Benign, "\n  ::set-output name=a::" + Benign,
		Benign + " ##vso[task.setvariable]##[group]##teamcity[x]",
		"</script><script>alert(1)</script>" + Benign, `"><img src=x onerror=alert(1)>` + Benign, "'><b " + Benign,
		"]]><x/>" + Benign, "<!--" + Benign, "{{.}}" + Benign,
		"`" + Benign + "` | a | b |", "``` \n```\n" + Benign,
		"[" + Benign + "](javascript:alert(1)) ![x](https://example.com/x)", "https://example.com/" + Benign,
		"# *" + Benign + "* @all",
		"\n\n| " + Benign + " |\n|---|\n", "<details>" + Benign, "\\" + Benign + "\\", "javascript:" + Benign,
		"=cmd|' /C calc'!A0" + Benign, "@SUM(" + Benign + ")", "+1" + Benign, "-" + Benign, "\t=" + Benign,
		"\uff1d" + Benign,
		strings.Repeat(Benign+" ", 2_000),
	}
}

// Fill sets every string of v, which is a pointer, to text, and adds one string to each empty list of strings. With
// statuses it keeps strings that are the name of a status, because they decide what a report shows.
func Fill[T any](v *T, text string, statuses bool) *T {
	fill(reflect.ValueOf(v).Elem(), text, statuses)
	return v
}

func fill(v reflect.Value, text string, statuses bool) {
	switch v.Kind() {
	case reflect.String:
		if v.CanSet() && !(statuses && isStatus(v.String())) {
			v.SetString(text)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			fill(v.Elem(), text, statuses)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), text, statuses)
		}
	case reflect.Slice, reflect.Array:
		if v.Kind() == reflect.Slice && v.Len() == 0 && v.Type().Elem().Kind() == reflect.String && v.CanSet() {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		}
		for i := range v.Len() {
			fill(v.Index(i), text, statuses)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			element := reflect.New(v.Type().Elem()).Elem()
			element.Set(v.MapIndex(key))
			fill(element, text, statuses)
			v.SetMapIndex(key, element)
		}
	}
}

// isStatus reports whether a text is the name of a status of a rule, or of a claim.
func isStatus(s string) bool {
	var known rule.Status
	return known.UnmarshalText([]byte(s)) == nil || s == suite.Reported ||
		slices.Contains([]stats.Decision{stats.Improved, stats.Same, stats.Regressed, stats.Inconclusive},
			stats.Decision(s))
}
