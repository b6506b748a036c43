package topology

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// playVictim opens an exposed topology with a child in each namespace, reports what must disappear, and waits to be
// killed.
func playVictim() {
	top, err := Open(Options{Name: os.Getenv("NETNS_TEST_NAME"), Janitor: janitor, Bridge: true})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	for _, n := range []*Namespace{top.A, top.M, top.B} {
		var st unix.Stat_t
		child := exec.Command("sleep", "600")
		if unix.Fstat(n.Fd(), &st) != nil || top.StartIn(n, child) != nil {
			os.Exit(1)
		}
		fmt.Printf("net:[%d] %d\n", st.Ino, child.Process.Pid)
	}
	fmt.Println("ready")
	for {
		time.Sleep(time.Hour) // a timer, because the runtime would report a deadlock
	}
}

// victim starts a process that runs playVictim and returns it with the namespaces and children that it reported.
func victim(t *testing.T, name string) (cmd *exec.Cmd, spaces, children []string) {
	t.Helper()
	if err := Privileged(); err != nil {
		t.Skip(err)
	}
	cmd = self("victim")
	cmd.Env = append(cmd.Env, "NETNS_TEST_NAME="+name)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill() })
	lines := bufio.NewScanner(out)
	for lines.Scan() && lines.Text() != "ready" {
		var space, child string
		if _, err := fmt.Sscan(lines.Text(), &space, &child); err != nil || !strings.HasPrefix(space, "net:") {
			t.Fatalf("victim: %s", lines.Text())
		}
		spaces, children = append(spaces, space), append(children, child)
	}
	if len(spaces) != 3 {
		t.Fatalf("victim reported %d namespaces, want 3", len(spaces))
	}
	return cmd, spaces, children
}

// remains lists what is left of a victim: its processes, its names, and processes in its namespaces.
func remains(name string, spaces, children []string) (left []string) {
	names, _ := filepath.Glob(filepath.Join(runDir, name+"*"))
	left = append(left, names...)
	for _, pid := range children {
		if _, err := os.Stat("/proc/" + pid); err == nil {
			left = append(left, "process "+pid)
		}
	}
	holders, _ := filepath.Glob("/proc/[0-9]*/task/*/ns/net")
	descriptors, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, path := range append(holders, descriptors...) {
		target, _ := os.Readlink(path)
		for _, s := range spaces {
			if target == s {
				left = append(left, path+" -> "+s)
			}
		}
	}
	return left
}

func TestNothingSurvivesSIGKILL(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: runs in real time")
	}
	name := fmt.Sprintf("gtest%d", os.Getpid())
	before := hostLinks(t)
	cmd, spaces, children := victim(t, name)
	if len(remains(name, spaces, children)) < 9 {
		t.Fatal("the check sees less than 3 names, 3 children and 3 namespaces of a running victim")
	}
	must(t, cmd.Process.Signal(syscall.SIGKILL))
	_ = cmd.Wait()
	var left []string
	for range 60 {
		if left = remains(name, spaces, children); len(left) == 0 {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if len(left) > 0 {
		t.Errorf("3 s after SIGKILL these are left: %s", strings.Join(left, ", "))
	}
	if after := hostLinks(t); after != before {
		t.Errorf("devices of the host changed from %s to %s", before, after)
	}
}

func hostLinks(t *testing.T) string {
	t.Helper()
	entries, err := os.ReadDir("/sys/class/net")
	must(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

func TestNamesLastAsLongAsTheTopology(t *testing.T) {
	name := fmt.Sprintf("gname%d", os.Getpid())
	top := open(t, Options{Name: name, Janitor: janitor})
	for _, suffix := range []string{"-a", "-link", "-b"} {
		f, err := os.Open(filepath.Join(runDir, name+suffix))
		must(t, err)
		var st unix.Statfs_t
		must(t, unix.Fstatfs(int(f.Fd()), &st))
		f.Close()
		if st.Type != unix.NSFS_MAGIC {
			t.Errorf("%s%s is no namespace", name, suffix)
		}
	}
	_, err := Open(Options{Name: name, Janitor: janitor})
	if err == nil || !strings.Contains(err.Error(), "name clash: "+name+"-a") {
		t.Errorf("the second user of a name got %v", err)
	}
	must(t, top.Close())
	if left, _ := filepath.Glob(filepath.Join(runDir, name+"*")); len(left) > 0 {
		t.Errorf("left after Close: %v", left)
	}
}

func TestClashInTheMiddleKeepsForeignName(t *testing.T) {
	if err := Privileged(); err != nil {
		t.Skip(err)
	}
	name := fmt.Sprintf("gclash%d", os.Getpid())
	foreign := filepath.Join(runDir, name+"-b")
	must(t, os.MkdirAll(runDir, 0o755))
	must(t, os.WriteFile(foreign, nil, 0o444))
	defer sweep([]string{name + "-b"})
	if _, err := Open(Options{Name: name, Janitor: janitor}); err == nil ||
		!strings.Contains(err.Error(), "name clash") {
		t.Errorf("clash on the third name: %v", err)
	}
	left, _ := filepath.Glob(filepath.Join(runDir, name+"*"))
	if len(left) != 1 || left[0] != foreign {
		t.Errorf("left: %v, want only %s", left, foreign)
	}
}

// playRootless is a program that starts without privileges and gets them by Reexec.
func playRootless() {
	code, replaced, err := Reexec()
	if err != nil {
		fmt.Println(err)
		os.Exit(3)
	}
	if replaced {
		os.Exit(code)
	}
	top, err := Open(Options{Bridge: true})
	if err != nil {
		fmt.Println(err)
		os.Exit(4)
	}
	child := exec.Command("id", "-u")
	child.Stdout = os.Stdout
	if err := top.StartIn(top.A, child); err != nil {
		fmt.Println(err)
		os.Exit(5)
	}
	_ = child.Wait()
	if err := top.Close(); err != nil {
		fmt.Println(err)
	}
	os.Exit(42)
}

func TestReexecWithoutRoot(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("starts as root, to become nobody")
	}
	for _, c := range []struct {
		env  string
		code int
		says string
	}{
		{"", 42, "0"},
		{reexeced, 3, "grants no capabilities"},
	} {
		cmd := exec.Command(copyOfSelf(t))
		cmd.Env = append(os.Environ(), "NETNS_TEST_ROLE=rootless", c.env)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		out, _ := cmd.CombinedOutput()
		text := strings.TrimSpace(string(out))
		if exitCode(cmd.ProcessState) != c.code || !strings.Contains(text, c.says) || strings.Count(text, "\n") > 0 {
			t.Errorf("env %q: exit %d, output %q; want %d and %q", c.env, exitCode(cmd.ProcessState),
				text, c.code, c.says)
		}
	}
}

// copyOfSelf copies the test binary into a folder where the user nobody may execute it.
func copyOfSelf(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "netns-rootless") //nolint:usetesting // nobody may not enter t.TempDir
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o755))
	program, err := os.ReadFile("/proc/self/exe")
	must(t, err)
	path := filepath.Join(dir, "rootless")
	must(t, os.WriteFile(path, program, 0o755))
	return path
}
