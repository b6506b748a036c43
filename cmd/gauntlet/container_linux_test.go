//go:build netns

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/container"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// docked is the program as users build it, and the Docker Engine that it uses.
type docked struct {
	program string
	engine  *testcontainers.DockerProvider
	images  int // that were built
}

// needDocker skips where there is no engine, with the reason, and builds the program: an image from scratch has no
// libraries for a test's binary.
func needDocker(t *testing.T) *docked {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("containers need root, because devices are put into their namespaces")
	}
	if _, err := container.Version(t.Context()); err != nil {
		t.Skip(err)
	}
	d := &docked{program: filepath.Join(t.TempDir(), "gauntlet")}
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", d.program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, text)
	}
	var err error
	d.engine, err = testcontainers.NewDockerProvider()
	must(t, err)
	t.Cleanup(func() { _ = d.engine.Close() })
	return d
}

// command is the program about to be started in a new folder.
func (d *docked) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	c := exec.CommandContext(t.Context(), d.program, args...)
	c.Dir, c.WaitDelay = t.TempDir(), time.Minute
	return c
}

// run makes a run until the host is not too busy for it.
func (d *docked) run(t *testing.T, args ...string) *model.Result {
	t.Helper()
	o := finish(t, d.command(t, append([]string{"run", "--bench", "container", "--json", "--attempts", attempts,
		"--rate", "20M", "--rtt", "10ms"}, args...)...))
	r := o.result(t)
	if o.stderr != "" {
		t.Fatalf("exit %d, %s", o.code, o.stderr)
	}
	if r.Status == "INVALID" {
		t.Fatal("this host is too busy: ", r.Reason)
	}
	return r
}

// image builds one from a folder with a Dockerfile, for as long as the test lasts.
func (d *docked) image(t *testing.T, name, folder string) string {
	t.Helper()
	d.images++
	built, err := d.engine.BuildImage(t.Context(), &testcontainers.ContainerRequest{
		FromDockerfile: testcontainers.FromDockerfile{Context: folder, Repo: "gauntlet-test/" + name,
			Tag: fmt.Sprintf("%d-%d", os.Getpid(), d.images), KeepImage: true}})
	must(t, err)
	t.Cleanup(func() {
		if _, err := d.engine.Client().ImageRemove(context.Background(), built, client.ImageRemoveOptions{Force: true,
			PruneChildren: true}); err != nil {
			t.Error(err)
		}
	})
	return "image:" + built
}

// exampleImage builds the example, perhaps with a fault, and puts it into an image by its own Dockerfile.
func (d *docked) exampleImage(t *testing.T, b bad) string {
	t.Helper()
	needExample(t)
	folder := t.TempDir()
	must(t, os.Rename(b.build(t, "-static"), filepath.Join(folder, "gbn")))
	dockerfile, err := os.ReadFile("../../images/example-c/Dockerfile")
	must(t, err)
	must(t, os.WriteFile(filepath.Join(folder, "Dockerfile"), dockerfile, 0o644))
	return d.image(t, "example", folder)
}

// left lists the containers that this project has made and that are there.
func (d *docked) left(t *testing.T) (ids []string) {
	t.Helper()
	list, err := d.engine.Client().ContainerList(context.Background(), client.ContainerListOptions{All: true,
		Filters: make(client.Filters).Add("label", container.Owner)})
	must(t, err)
	for _, c := range list.Items {
		ids = append(ids, c.ID)
	}
	return ids
}

// harmless is a change of the example that changes nothing.
var harmless = bad{old: begins, new: begins}

func TestContainers(t *testing.T) {
	d := needDocker(t)
	t.Run("engines", d.engines)
	t.Run("somebody's image", d.foreign)
	t.Run("conform", d.conform)
	t.Run("peers", d.peers)
	d.nothingLeft(t)
}

// TestContainersEnd: starts, refusals and kills of containers; none depends on the timing of a link.
func TestContainersEnd(t *testing.T) {
	beside(t)
	d := needDocker(t)
	t.Run("make images", d.madeByMake)
	t.Run("bad images", d.badImages)
	t.Run("killed", d.killed)
	t.Run("without an engine", d.missing)
	d.nothingLeft(t)
}

// nothingLeft checks that no container of this project is there.
func (d *docked) nothingLeft(t *testing.T) {
	t.Helper()
	if ids := d.left(t); len(ids) > 0 {
		t.Errorf("left behind: %v", ids)
	}
}

// Engines run in containers, and so does the middlebox of an engine that has one, with the same link, faults and rules.
func (d *docked) engines(t *testing.T) {
	for _, c := range []struct {
		args []string
		at   []string // the programs that ran in a container
	}{
		{[]string{"--impl", "irn", "--count", "20", "--fault", "drop A psn=+7 tx=1"},
			[]string{"endpoint A", "endpoint B"}},
		{[]string{"--impl", "pseudoack", "--count", "5"}, []string{"endpoint A", "endpoint B", "box X"}},
		{[]string{"--impl", "rciwarp", "--count", "5"}, []string{"endpoint A", "endpoint B"}},
	} {
		r := d.run(t, c.args...)
		if r.Status != "PASS" || r.Messages == 0 {
			t.Errorf("%v: %s %s, %d messages\n%s", c.args, r.Status, r.Reason, r.Messages,
				strings.Join(failures(r), "\n"))
		}
		for _, where := range c.at {
			if !slices.Contains(r.Environment, model.Fact{Name: where, Value: "container of " + container.Endpoint}) {
				t.Errorf("%v: %s was not in a container: %v", c.args, where, r.Environment)
			}
		}
	}
}

// A program in an image is judged as one with a path is: by the one rule that its planted fault breaks. It may do
// nothing but send on its device.
func (d *docked) foreign(t *testing.T) {
	image := d.exampleImage(t, harmless)
	r := d.run(t, "--impl", "gbn,"+image, "--count", "5", "--fault", "drop A psn=+70 tx=1")
	if got := brokenRules(r); !slices.Equal(got, []string{"GBN-NAK-002"}) || r.Messages != 5 {
		t.Errorf("%s, broken %v, %d messages\n%s", r.Status, got, r.Messages, strings.Join(failures(r), "\n"))
	}

	running := d.command(t, "run", "--bench", "container", "--quiet", "--impl", image, "--rate", "1M",
		"--duration", "60s")
	must(t, running.Start())
	d.confined(t)
	must(t, running.Process.Signal(os.Interrupt))
	_ = running.Wait() // interrupted
	if ids := d.left(t); len(ids) > 0 {
		t.Errorf("left behind by an interrupted run: %v", ids)
	}
}

// keepsContract walks the program of an image through the contract.
func (d *docked) keepsContract(t *testing.T, image string) {
	t.Helper()
	t.Run("check-contract", func(t *testing.T) {
		o := finish(t, d.command(t, "check-contract", image))
		d.nothingLeft(t)
		told(t, o)
		if o.code != 0 || strings.Count(o.stdout, "ok ") != 5 {
			t.Errorf("exit %d\n%s%s", o.code, o.stdout, o.stderr)
		}
	})
}

// confined waits for two containers to run and looks at what their processes may do.
func (d *docked) confined(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); len(d.left(t)) < 2; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no containers after 30 s")
		}
	}
	for _, id := range d.left(t) {
		c, proc, status := d.became(t, id, "gbn")
		for _, want := range []string{"\nUid:\t65532\t65532\t65532\t65532\n", "\nGid:\t65532\t65532\t65532\t65532\n",
			"\nGroups:\t \n", "\nNoNewPrivs:\t1\n",
			"\nCapEff:\t0000000000002000\n", "\nCapPrm:\t0000000000002000\n"} {
			if !strings.Contains(string(status), want) {
				t.Errorf("no %q in\n%s", want, status)
			}
		}
		mounts, err := os.ReadFile(proc + "mounts")
		must(t, err)
		if _, options, _ := strings.Cut(string(mounts), " / "); !strings.Contains(
			strings.SplitN(options, "\n", 2)[0], " ro,") {
			t.Errorf("the root can be written: %s", mounts)
		}
		links, err := exec.Command("nsenter", "-n", "-t", strconv.Itoa(c.Container.State.Pid), "ls",
			"/sys/class/net").CombinedOutput()
		if h := c.Container.HostConfig; h.Memory == 0 || h.PidsLimit == nil || *h.PidsLimit <= 0 ||
			h.NetworkMode != "none" {
			t.Errorf("limits %+v; %s %v", h, links, err)
		}
	}
}

// became waits until the first process of a container is the program.
func (d *docked) became(t *testing.T,
	id, program string) (c client.ContainerInspectResult, proc string, status []byte) {
	t.Helper()
	var err error
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		c, err = d.engine.Client().ContainerInspect(t.Context(), id, client.ContainerInspectOptions{})
		// the engine lists a container before it can be asked about it
		if err != nil && strings.Contains(err.Error(), "No such container") {
			continue
		}
		must(t, err)
		proc = fmt.Sprintf("/proc/%d/", c.Container.State.Pid)
		status, _ = os.ReadFile(proc + "status") // there is none before it is started
		if strings.HasPrefix(string(status), "Name:\t"+program+"\n") {
			return c, proc, status
		}
	}
	t.Fatalf("after 30 s it is not %s:\n%s", program, status)
	return c, "", nil
}

// A suite of scenarios takes this bench as well; a matrix is that of the peers.
func (d *docked) conform(t *testing.T) {
	o := finish(t, d.command(t, "conform", "--bench", "container", "--impl", "gbn", "--focus", " loss-middle$"))
	if o.code != 0 || !strings.Contains(o.stdout, "1 scenarios, 1 passed") {
		t.Errorf("conform: exit %d\n%s%s", o.code, o.stdout, o.stderr)
	}
}

// Faults of programs, started alone or in a run, that the streams, signals and limits of a container could change.
var (
	differsAlone = []string{"garbage", "a flood without an end", "ignores the end of input",
		"ignores SIGTERM", hungry.name}
	differsInRun = []string{"a flood of good lines", "dies"}
)

// hungry takes memory until there is none.
var hungry = bad{name: "takes all memory", old: begins,
	new:  "for (;;) { char *p = malloc(1 << 20); if (p) memset(p, 1, 1 << 20); }\n" + begins,
	want: "1 of 5 signal: killed (its memory is limited to 2048 MiB)"}

// badImages checks that a fault of an image's program is reported in one line, and that no container is left.
func (d *docked) badImages(t *testing.T) {
	// without a link, so side by side
	t.Run("alone", func(t *testing.T) { d.namedInContainers(t, differsAlone, len(differsAlone)) })
	t.Run("in a run", func(t *testing.T) { d.namedInContainers(t, differsInRun, 1) })
	d.keepsContract(t, d.exampleImage(t, forking)) // its children end with it
	for name, want := range map[string]string{
		"image:gauntlet-test/nowhere": "nothing is downloaded",
		"image:" + d.empty(t):         "it has no ENTRYPOINT",
	} {
		o := finish(t, d.command(t, "run", "--bench", "container", "--impl", name))
		if o.code != exitBroken || !strings.Contains(o.stderr, want) || strings.Count(o.stderr, "\n") != 1 {
			t.Errorf("%s: exit %d, %q; want %q", name, o.code, o.stderr, want)
		}
	}
}

// namedInContainers checks the images of some bad programs, so many at a time, and that nothing is left of them.
func (d *docked) namedInContainers(t *testing.T, names []string, together int) {
	t.Helper()
	list := slices.DeleteFunc(append(badPrograms(), hungry), func(b bad) bool {
		return !slices.Contains(names, b.name)
	})
	for some := range slices.Chunk(list, together) {
		var walks []func() exited
		for _, b := range some {
			walks = append(walks, started(t, d.command(t, "check-contract", d.exampleImage(t, b))))
		}
		var ends []exited
		for _, ended := range walks {
			ends = append(ends, ended())
		}
		d.nothingLeft(t)
		for i, b := range some {
			t.Run(b.name, func(t *testing.T) { b.named(t, ends[i]) })
		}
	}
}

// empty is an image without a program.
func (d *docked) empty(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	must(t, os.WriteFile(filepath.Join(folder, "Dockerfile"), []byte("FROM scratch\nCOPY Dockerfile /\n"), 0o644))
	return strings.TrimPrefix(d.image(t, "empty", folder), "image:")
}

// A run that is killed cannot clean up. Its containers end with it, except those of programs that ignore the end of
// their input; the next run removes these.
func (d *docked) killed(t *testing.T) {
	stubborn := bad{old: begins, new: "int s = 0; if (fork()) { wait(&s); if (s == 127 << 8) _exit(127); " +
		"for (;;) pause(); }\n" + begins}
	for _, c := range []struct {
		impl  string
		stays bool
	}{{"gbn", false}, {d.exampleImage(t, stubborn), true}} {
		p := d.command(t, "run", "--bench", "container", "--impl", c.impl, "--rate", "1M", "--duration", "60s")
		var said bytes.Buffer
		p.Stderr = &said
		must(t, p.Start())
		for deadline := time.Now().Add(30 * time.Second); len(d.left(t)) < 2; time.Sleep(100 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: no containers after 30 s: %s", c.impl, &said)
			}
		}
		time.Sleep(2 * time.Second) // until the created containers have started
		must(t, p.Process.Kill())
		_ = p.Wait() // killed
		for deadline := time.Now().Add(5 * time.Second); len(d.left(t)) > 0 &&
			time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		}
		if ids := d.left(t); (len(ids) > 0) != c.stays {
			t.Errorf("%s: after the run was killed there are %d containers; it said %q", c.impl, len(ids), &said)
		}
	}
	if o := finish(t, d.command(t, "run", "--bench", "container", "--impl", "gbn", "--count", "1",
		"--quiet")); strings.Contains(o.stderr, "container") {
		t.Errorf("exit %d, %s", o.code, o.stderr)
	}
	if ids := d.left(t); len(ids) > 0 {
		t.Errorf("the next run left %v", ids)
	}
}

// A machine without an engine is told what to install; what needs none goes on.
func (d *docked) missing(t *testing.T) {
	without := func(args ...string) exited {
		c := d.command(t, args...)
		c.Env = append(os.Environ(), "DOCKER_HOST=unix:///nowhere/docker.sock")
		return finish(t, c)
	}
	for _, args := range [][]string{{"run", "--bench", "container"}, {"check-contract", "image:any"},
		{"conform", "--bench", "container", "--impl", "gbn", "--focus", " loss-middle$"},
		{"matrix", "--bench", "container", "--impl", "gbn"}} {
		o := without(args...)
		if o.code != exitBroken || !strings.Contains(o.stderr, "apt-get install docker.io") || strings.Count(o.stderr,
			"\n") != 1 || o.stdout != "" {
			t.Errorf("%v: exit %d, %q %q", args, o.code, o.stdout, o.stderr)
		}
	}
	if o := without("doctor"); o.code != 0 || !strings.Contains(o.stdout, "missing  bench container") {
		t.Errorf("doctor: exit %d\n%s", o.code, o.stdout)
	}
}
