package contract

import (
	"strings"
	"testing"
)

func TestLogTellsTheCause(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "",
		"one\ntwo\n":                    ": two",
		"gauntlet: endpoint: no device": ": endpoint: no device",
		"panic: negative bytes [recovered]\n\n" +
			"goroutine 1 [running]:\nmain.main()\n": ": panic: negative bytes [recovered]",
	} {
		var l Log
		_, _ = l.Write([]byte(text))
		if got := l.Last(); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestLogIsBounded(t *testing.T) {
	var l Log
	for range 3 {
		_, _ = l.Write([]byte(strings.Repeat("x", logLimit) + "\nend"))
	}
	if len(l.buf) != logLimit || l.Last() != ": end" {
		t.Errorf("%d bytes, %.20q", len(l.buf), l.Last())
	}
}
