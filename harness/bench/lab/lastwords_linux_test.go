package lab

import (
	"strings"
	"testing"
	"time"
)

func TestLastWords(t *testing.T) {
	long := strings.Repeat("registers\n", 50)
	for _, c := range []struct{ console, want string }{
		{"", "(nothing)"},
		{"a\r\nb\n", "a | b"},
		{"1\n2\n3\n4\n5\n6\n7\n", "2 | 3 | 4 | 5 | 6 | 7"},
		{"0\n1\n2\nKernel panic - not syncing: x\n" + long,
			"1 | 2 | Kernel panic - not syncing: x | registers | registers | registers"},
		{"\x1b[1mpanic: runtime error\x1b[0m\n" + long,
			"[1mpanic: runtime error[0m | registers | registers | registers | registers | registers"},
	} {
		if got := lastWords(c.console); got != c.want {
			t.Errorf("%.20q: %q, want %q", c.console, got, c.want)
		}
	}
}

func TestParseStat(t *testing.T) {
	tail := " R 1 1 1 0 -1 4194304 90 0 0 0 150 50 0 0 20 0 1 0 100 8192 200 18446744073709551615"
	want := stat{name: "a (b) c", state: "R", busy: 2 * time.Second, memory: 8192}
	if got, ok := parseStat("12 (a (b) c)" + tail); !ok || got != want {
		t.Errorf("%+v %v, want %+v", got, ok, want)
	}
	for _, broken := range []string{"", "12 (a", ")(", "12 (a)" + tail[:40],
		"12 (a)" + strings.Replace(tail, "150", "-1", 1)} {
		if got, ok := parseStat(broken); ok {
			t.Errorf("%q is read as %+v", broken, got)
		}
	}
}
