//go:build netns

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/wait"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/build"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/container"
)

// make images builds the same images each time, whoever builds them, and they are as small, as restricted and as well
// labelled as images/ says. Tests that need no Docker Engine are in .ci/reproducible.
func (d *docked) madeByMake(t *testing.T) {
	for _, program := range []string{"docker", "make", "cc", "dpkg-query"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err, "; make images needs it (apt-get install docker.io make gcc libc6-dev)")
		}
	}
	making, makingAgain := d.makeImages(t, "first", "022"), d.makeImages(t, "second", "077")
	first, second := making(), makingAgain()
	for name, most := range map[string]int64{"endpoint": 25e6, "example-c": 2e6, "softroce": 25e6} {
		if name == "softroce" && (!first[name] || !second[name]) {
			t.Log("SKIPPED gauntlet/softroce: its packages are not installed (make deps)")
			continue
		}
		a, err := d.engine.Client().ImageInspect(t.Context(), imageName("first", name))
		must(t, err)
		b, err := d.engine.Client().ImageInspect(t.Context(), imageName("second", name))
		must(t, err)
		if len(a.RootFS.Layers) != 1 || !slices.Equal(a.RootFS.Layers, b.RootFS.Layers) {
			t.Errorf("%s: layers %v, and again %v", name, a.RootFS.Layers, b.RootFS.Layers)
		}
		if a.Size > most || a.Config.User != container.Nobody || a.Config.Labels["org.opencontainers.image.title"] !=
			"gauntlet-"+name {
			t.Errorf("%s: %d bytes, user %q, labels %v; want %d bytes at most", name, a.Size, a.Config.User,
				a.Config.Labels, most)
		}
		if name != "example-c" && (a.Config.Labels["org.opencontainers.image.version"] != build.Version() ||
			len(a.Config.Labels["org.opencontainers.image.revision"]) < 40) {
			t.Errorf("%s: labels %v", name, a.Config.Labels)
		}
	}
	d.keepsContract(t, "image:"+imageName("first", "endpoint"))
	if first["softroce"] {
		d.softRoCE(t, imageName("second", "softroce"))
	}
}

func imageName(set, name string) string {
	return fmt.Sprintf("gauntlet-test/%d/%s/%s", os.Getpid(), set, name)
}

// makeImages starts make images with names that the test removes. The function that it returns waits for the end and
// returns the images that were made.
func (d *docked) makeImages(t *testing.T, set, umask string) func() map[string]bool {
	t.Helper()
	c := exec.CommandContext(t.Context(), "sh", "-c", `umask "$0" && exec make images OUT="$1" IMAGES="$2"`, umask,
		t.TempDir(), strings.TrimSuffix(imageName(set, ""), "/"))
	c.Dir = filepath.Join("..", "..")
	var text bytes.Buffer
	c.Stdout, c.Stderr = &text, &text
	must(t, c.Start())
	return func() map[string]bool {
		if err := c.Wait(); err != nil {
			t.Fatalf("make images: %v\n%s", err, text.String())
		}
		return d.made(t, set, text.String())
	}
}

// made returns the images that exist after make printed text, which must mention those that were left out.
func (d *docked) made(t *testing.T, set, text string) map[string]bool {
	t.Helper()
	made := map[string]bool{}
	for _, name := range []string{"endpoint", "example-c", "softroce"} {
		if _, err := d.engine.Client().ImageInspect(t.Context(), imageName(set, name)); err != nil {
			if !strings.Contains(text, "SKIPPED") {
				t.Fatalf("no %s, and not a word of it: %v\n%s", name, err, text)
			}
			continue
		}
		made[name] = true
		t.Cleanup(func() {
			// the image exists
			_, _ = d.engine.Client().ImageRemove(context.Background(), imageName(set, name),
				client.ImageRemoveOptions{Force: true, PruneChildren: true})
		})
	}
	return made
}

// softRoCE starts the image without a command: the tools are there and start, and missing parts of the kernel are
// named.
func (d *docked) softRoCE(t *testing.T, image string) {
	t.Helper()
	c, err := d.engine.CreateContainer(t.Context(), testcontainers.ContainerRequest{Image: image,
		WaitingFor: wait.ForExit().WithExitTimeout(time.Minute)})
	must(t, err)
	defer func() { must(t, c.Terminate(context.Background())) }()
	must(t, c.Start(t.Context()))
	state, err := c.State(t.Context())
	must(t, err)
	logs, err := c.Logs(t.Context())
	must(t, err)
	raw, err := io.ReadAll(logs)
	must(t, err)
	want, code := []string{"perftest ", "ibverbs-utils ", "rdmacm-utils ", "Version: "}, 0
	if _, err := os.Stat("/sys/module/rdma_rxe"); err != nil {
		want, code = append(want, "has no rdma_rxe"), exitBroken
	}
	for _, w := range want {
		if !strings.Contains(string(raw), w) || state.ExitCode != code {
			t.Errorf("exit %d, want %d and %q in\n%s", state.ExitCode, code, w, raw)
		}
	}
}
