//go:build netns

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// gapLink loses one packet with many behind it, to which a responder with the planted fault sends too many NAKs.
const gapLink = "# One packet of a long message is lost.\nlink rate=20M\ndrop A psn=+70 tx=1\n"

// peersArgs returns the arguments of a matrix in which implementations meet each other.
func peersArgs(bench string, impls []string) []string {
	return []string{"matrix", "--peers", "--bench", bench, "--impl", strings.Join(impls, ","), "--links", "./gap.txt",
		"--with", "load write msg=64KiB count=5", "--attempts", attempts, "--quiet", "--out", "m"}
}

// judgePeers checks the table and its page: every pair completes its work, and the planted fault is found by its rule
// alone wherever the example is the responder.
func judgePeers(t *testing.T, dir string, o exited, impls []string, example string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "m", "matrix.json"))
	if err != nil {
		t.Fatalf("%v: exit %d, %s", err, o.code, o.stderr)
	}
	t.Log("\n" + o.stdout)
	m := readMatrix(t, text)
	for _, requester := range impls {
		for _, responder := range impls {
			c := m.Met(requester, responder, "gap")
			if c == nil {
				t.Fatalf("%s never met %s: %+v", requester, responder, m.Cells)
			}
			checkPeers(t, c, responder == example)
		}
	}
	page, err := os.ReadFile(filepath.Join(dir, "m", "matrix.html"))
	if err != nil || !strings.Contains(string(page), `id="peers"`) ||
		!strings.Contains(string(page), example) || o.code == 0 {
		t.Errorf("exit %d, page of %d bytes, %v", o.code, len(page), err)
	}
}

func checkPeers(t *testing.T, c *model.Cell, faulty bool) {
	t.Helper()
	status, broken := "PASS", []string(nil)
	if faulty {
		status, broken = "FAIL", []string{"GBN-NAK-002"}
	}
	if c.Status != status || !slices.Equal(c.Broken, broken) || c.Messages != 5 || c.Lost == 0 {
		t.Errorf("%s: %s %s, broken %v, %d messages, %d lost; want %s %v", c.Impl, c.Status, c.Reason, c.Broken,
			c.Messages, c.Lost, status, broken)
	}
}

// Peers meet as processes on any machine with namespaces.
func TestPeersAsProcesses(t *testing.T) {
	beside(t)
	programs, dir := example(t), t.TempDir()
	impls := []string{"gbn", programs + "/gbn", programs + "/gbn-repaired"}
	must(t, os.WriteFile(filepath.Join(dir, "gap.txt"), []byte(gapLink), 0o644))
	judgePeers(t, dir, gauntlet(t, dir, peersArgs("netns", impls)...), impls, impls[1])
}

// Peers from images meet in containers. Other tests run go-back-N against them there.
func (d *docked) peers(t *testing.T) {
	example := d.exampleImage(t, harmless)
	impls := []string{example, d.repairedImage(t, example)}
	c := d.command(t, peersArgs("container", impls)...)
	must(t, os.WriteFile(filepath.Join(c.Dir, "gap.txt"), []byte(gapLink), 0o644))
	judgePeers(t, c.Dir, finish(t, c), impls, example)
}

// repairedImage builds an image from the example's with the flag that turns its fault off as CMD.
func (d *docked) repairedImage(t *testing.T, example string) string {
	t.Helper()
	folder := t.TempDir()
	text := "FROM " + strings.TrimPrefix(example, "image:") + "\nCMD [\"--repaired\"]\n"
	must(t, os.WriteFile(filepath.Join(folder, "Dockerfile"), []byte(text), 0o644))
	return d.image(t, "repaired", folder)
}

// Without a Docker Engine the tests of containers are skipped with the reason and the remedy, and do not pass.
func TestContainersAreSkippedAloud(t *testing.T) {
	needNetns(t)
	if os.Geteuid() != 0 {
		t.Skip("without root the reason is another one")
	}
	c := command(t, ".", "-test.run=^TestContainers$", "-test.v")
	c.Env = append(os.Environ(), asProgram+"=", "DOCKER_HOST=unix:///nowhere/docker.sock")
	o := finish(t, c)
	if o.code != 0 || !strings.Contains(o.stdout, "--- SKIP: TestContainers") || !strings.Contains(o.stdout,
		"apt-get install docker.io") {
		t.Errorf("exit %d\n%s%s", o.code, o.stdout, o.stderr)
	}
}
