package container

import (
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Only what certainly belongs to nobody any more is swept.
func TestOrphaned(t *testing.T) {
	living := exec.Command("sleep", "60")
	if err := living.Start(); err != nil {
		t.Fatal(err)
	}
	owner, err := identify(strconv.Itoa(living.Process.Pid))
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
		with(2, "4194305"):            true, // above all numbers that there can be
		with(3, "1"):                  true, // the number is another process's now
		"":                            false,
		"of another version":          false,
		with(2, "../self"):            true, // nobody's number
		with(2, "self") + " and more": false,
	} {
		if got := orphaned(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	_ = living.Process.Kill()
	for deadline := time.Now().Add(10 * time.Second); !orphaned(owner) &&
		time.Now().Before(deadline); time.Sleep(time.Millisecond) {
	}
	if !orphaned(owner) {
		t.Errorf("%q has ended, nobody has waited for it, and it is not missed", owner)
	}
	_ = living.Wait() // killed
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
