package history

import (
	"strings"
	"testing"
)

func TestCommandOfSeries(t *testing.T) {
	for _, c := range []struct{ series, want string }{
		{"matrix irn random goodput", "matrix --impl irn --links random"},
		{"matrix irn random p99 of the FCT", "matrix --impl irn --links random"},
		{"matrix irn random goodput;matrix gbn clean verdict;matrix irn clean verdict",
			"matrix --impl gbn,irn --links clean,random"},
		{"conform gbn read.loss verdict", `conform --impl gbn --focus  (read\.loss)$`},
		{"conform gbn b verdict;conform gbn a verdict", "conform --impl gbn --focus  (a|b)$"},
		{"perf PT-LW-05 goodput", "perf --target PT-LW-05"},
		{"perf PT-LW-05 goodput at 40 ms;perf FS-1 share", "perf --target FS-1,PT-LW-05"},

		{"", ""},
		{"matrix irn random", ""},
		{"conform gbn a name of words verdict", ""}, // which of them are the scenario is unknown
		{"run irn random goodput", ""},
		{"gate a b c", ""},
		{"matrix irn random goodput;perf PT-LW-05 goodput", ""}, // two commands
		{"matrix irn random goodput;matrix irn", ""},
	} {
		if got := strings.Join(Command(strings.Split(c.series, ";")), " "); got != c.want {
			t.Errorf("%q: %q, want %q", c.series, got, c.want)
		}
	}
	if got := Command(nil); got != nil {
		t.Errorf("no series: %q", got)
	}
}
