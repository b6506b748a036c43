package lab

import (
	"strings"
	"testing"
)

func TestLastWords(t *testing.T) {
	long := strings.Repeat("registers\n", 50)
	for _, c := range []struct{ console, want string }{
		{"", "(nothing)"},
		{"a\r\nb\n", "a | b"},
		{"1\n2\n3\n4\n5\n6\n7\n", "2 | 3 | 4 | 5 | 6 | 7"},
		{"0\n1\n2\nKernel panic - not syncing: x\n" + long, "1 | 2 | Kernel panic - not syncing: x | registers | registers | registers"},
		{"\x1b[1mpanic: runtime error\x1b[0m\n" + long, "[1mpanic: runtime error[0m | registers | registers | registers | registers | registers"},
	} {
		if got := lastWords(c.console); got != c.want {
			t.Errorf("%.20q: %q, want %q", c.console, got, c.want)
		}
	}
}
