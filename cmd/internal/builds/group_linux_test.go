package builds

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// A command ends with the process that started it, even when that is killed.
func TestCommandEndsWithItsParent(t *testing.T) {
	const parent = "GAUNTLET_TEST_PARENT"
	if os.Getenv(parent) != "" {
		c := Subject{}.Command(t.Context(), "/bin/sh", []string{"-c", "echo started $$; exec sleep 60"})
		c.Stdout = os.Stdout
		_ = Run(c)
		return
	}
	p := exec.Command(os.Args[0], "-test.run=^TestCommandEndsWithItsParent$", "-test.v")
	p.Env = append(os.Environ(), parent+"=1")
	out, err := p.StdoutPipe()
	if err == nil {
		err = p.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	pid := 0
	for lines := bufio.NewScanner(out); pid == 0 && lines.Scan(); {
		_, _ = fmt.Sscanf(lines.Text(), "started %d", &pid)
	}
	if pid == 0 {
		t.Fatal("the command was not started")
	}
	if err := p.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = p.Wait()
	for range 500 {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || strings.Contains(string(stat), "(sleep) Z") {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("process %d lives on", pid)
}
