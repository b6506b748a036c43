package quote

import (
	"os/exec"
	"strings"
	"testing"
)

// A shell splits the quoted text into the original words.
func TestShell(t *testing.T) {
	words := []string{"run", "--fault", "drop A psn=+2 tx=1", "it's", "", "a`b`", "$HOME", "[a-z]*", "~", "!x",
		"two\nlines", "{1,2}", "#"}
	if got := Shell("--rate", "100M", "a=b,c:d"); got != "--rate 100M a=b,c:d" {
		t.Errorf("%q: plain words are quoted", got)
	}
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no shell on this machine")
	}
	out, err := exec.Command(sh, "-c", `printf '%s\0' `+Shell(words...)).Output()
	if got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"); err != nil ||
		strings.Join(got, "|") != strings.Join(words, "|") {
		t.Errorf("%q, %v", got, err)
	}
}
