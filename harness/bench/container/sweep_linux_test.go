package container

import (
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A container is orphaned only if its owner has certainly ended.
func TestOrphaned(t *testing.T) {
	sleeper := exec.Command("sleep", "60")
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	owner, err := identify(strconv.Itoa(sleeper.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	part := strings.Fields(owner)
	with := func(i int, text string) string {
		changed := append([]string(nil), part...)
		changed[i] = text
		return strings.Join(changed, " ")
	}
	for text, want := range map[string]bool{
		owner:                         false,
		with(0, "another-boot"):       true,
		with(1, "pid:[1]"):            false,
		with(2, "4194305"):            true, // larger than any process ID
		with(3, "1"):                  true, // the process ID was reused
		"":                            false,
		"of another version":          false,
		with(2, "../self"):            true, // no process ID
		with(2, "self") + " and more": false,
	} {
		if got := orphaned(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	_ = sleeper.Process.Kill()
	for deadline := time.Now().Add(10 * time.Second); !orphaned(owner) &&
		time.Now().Before(deadline); time.Sleep(time.Millisecond) {
	}
	if !orphaned(owner) {
		t.Errorf("%q has ended, nobody has waited for it, and it is not missed", owner)
	}
	_ = sleeper.Wait() // its error is that it was killed
	if !orphaned(owner) {
		t.Errorf("%q has ended and is not missed", owner)
	}
}

func TestIdentity(t *testing.T) {
	for name, want := range map[string][2]int{"": {65532, 65532}, "root": {65532, 65532}, "0:0": {65532, 65532},
		"7": {7, 7}, "7:8": {7, 8}} {
		if uid, gid, err := identity(name); err != nil || uid != want[0] || gid != want[1] {
			t.Errorf("%q: %d:%d %v, want %v", name, uid, gid, err, want)
		}
	}
	for _, name := range []string{"-1", "no-such-user-here", "7:wheel", "00"} {
		if uid, gid, err := identity(name); err == nil {
			t.Errorf("%q: %d:%d, want an error", name, uid, gid)
		}
	}
	if err := Confine("", nil); err == nil {
		t.Error("became nothing")
	}
}
