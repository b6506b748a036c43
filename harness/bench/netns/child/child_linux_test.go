package child

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// run starts a program of the shell without a namespace.
func run(t *testing.T, script string) *Child {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", script)
	p, err := piped("it", cmd, cmd.Start)
	if err != nil {
		t.Fatal(err)
	}
	c := Adopt("it", p)
	t.Cleanup(func() { _ = c.Kill() })
	return c
}

// line waits for a line of a program.
func line(c *Child) func() error {
	return func() error {
		_, err := bufio.NewReader(c.Stdout).ReadString('\n')
		return err
	}
}

func TestWithin(t *testing.T) {
	t.Parallel()
	c := run(t, "echo ready; read x")
	if err := c.Within(time.Minute, line(c)); err != nil {
		t.Error(err)
	}
	c = run(t, "kill -STOP $$; echo ready")
	if err := c.Within(300*time.Millisecond, line(c)); fmt.Sprint(err) !=
		"netns: it did not answer within 300ms and was killed" {
		t.Error(err)
	}
	<-c.Ended()
	c = run(t, "exit 3")
	if err := c.Within(time.Minute, line(c)); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}

// The sentence about a program that is not heard any more says whether it has ended.
func TestDeath(t *testing.T) {
	t.Parallel()
	c := run(t, "echo why >&2; exit 3")
	<-c.Ended()
	if got := c.Death("ended").Error(); !strings.Contains(got, "it ended: exit status 3: why") {
		t.Error(got)
	}
	c = run(t, "exec >&-; exec sleep 60")
	if got := c.Death("ended").Error(); got != "netns: it closed its standard output and ran on" {
		t.Error(got)
	}
}
