//go:build unix

package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"github.com/rdma-gauntlet/gauntlet/conformance/judging"
	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/sim"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/all"
)

// taped makes a run in virtual time and returns its trace and a capture of A's port.
func taped(t *testing.T, dir string) (text, capture []byte) {
	t.Helper()
	if o := gauntlet(t, dir, "run", "--rate", "100M", "--rtt", "2ms", "--loss", "2e-2", "--count", "3", "--quiet",
		"--out", "r"); o.code != 0 {
		t.Fatal(o.stderr)
	}
	text, err := os.ReadFile(filepath.Join(dir, "r", "trace.ndjson"))
	must(t, err)
	spec, err := scenario.Parse(strings.NewReader("seed 7\nlink rate=100M delay=2ms reorder=1e-2 " +
		"duplicate=1e-2\nloss random p=2e-2\nqp rto=20ms\nload write msg=20000 count=8"))
	must(t, err)
	impl, _ := all.Find("gbn")
	var c trace.Collector
	job, err := bench.NewJob(spec, [2]engine.Implementation{impl, impl})
	must(t, err)
	job.Bytes = true
	play := judging.Run{Job: job, Bench: sim.Bench{},
		Sink: func(trace.Header, trace.Viewer) (trace.Sink, error) { return &c, nil }}
	_, err = play.Play(t.Context())
	must(t, err)
	return text, portOf(t, trace.A, c.Records)
}

// portOf returns the frames that cross the port of a side as a classic capture, which has no description of the run.
func portOf(t *testing.T, side trace.Side, records []trace.Record) []byte {
	t.Helper()
	var b bytes.Buffer
	out := pcapgo.NewWriterNanos(&b)
	must(t, out.WriteFileHeader(1<<16, layers.LinkTypeEthernet))
	at := func(r *trace.Record) vtime.Time {
		if r.From == side {
			return r.Sent
		}
		return r.Recv
	}
	list := slices.DeleteFunc(slices.Clone(records), func(r trace.Record) bool { return at(&r) == vtime.Never })
	slices.SortStableFunc(list, func(x, y trace.Record) int { return cmp.Compare(at(&x), at(&y)) })
	for i := range list {
		r := &list[i]
		info := gopacket.CaptureInfo{Timestamp: time.Unix(0, int64(at(r))/int64(vtime.Nanosecond)),
			CaptureLength: len(r.Raw), Length: len(r.Raw)}
		must(t, out.WritePacket(info, r.Raw))
	}
	return b.Bytes()
}

// A trace or capture from a pipe is judged, drawn and measured like the file.
func TestPipes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text, capture := taped(t, dir)
	must(t, os.WriteFile(filepath.Join(dir, "t.ndjson"), text, 0o644))
	must(t, os.WriteFile(filepath.Join(dir, "c.pcap"), capture, 0o644))
	for _, c := range []struct {
		file    string
		content []byte
	}{{"t.ndjson", text}, {"c.pcap", capture}, {"c.pcap", packed(t, capture)}} {
		for _, args := range []string{"judge --color never", "ladder", "datasheet"} {
			want := gauntlet(t, dir, append(strings.Fields(args), c.file)...)
			p := command(t, dir, append(strings.Fields(args), "-")...)
			p.Stdin = bytes.NewReader(c.content)
			if got := finish(t, p); got.code != want.code || got.stdout != want.stdout || got.stderr != "" ||
				got.stdout == "" {
				t.Errorf("%s of %s from standard input: exit %d, want %d, %s\n%.300s\nwant\n%.300s", args, c.file,
					got.code, want.code, got.stderr, got.stdout, want.stdout)
			}
			if got := throughFIFO(t, dir, c.content, strings.Fields(args)...); got.code != want.code ||
				got.stderr != "" || got.stdout == "" {
				t.Errorf("%s of %s from a FIFO: exit %d, want %d, %s", args, c.file, got.code, want.code, got.stderr)
			}
		}
	}
}

// packed returns content compressed by gzip.
func packed(t *testing.T, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write(content)
	must(t, err)
	must(t, z.Close())
	return b.Bytes()
}

// throughFIFO runs a command on a FIFO that delivers content.
func throughFIFO(t *testing.T, dir string, content []byte, args ...string) exited {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipe")
	must(t, syscall.Mkfifo(path, 0o600))
	go func() {
		if w, err := os.OpenFile(path, os.O_WRONLY, 0); err == nil {
			_, _ = w.Write(content) // fails when the reader has read enough and closes the FIFO
			w.Close()
		}
	}()
	return gauntlet(t, dir, append(args, path)...)
}

// A pipe that breaks off, delivers nothing or holds something else is an error of usage, in a line that names the pipe.
func TestBadPipesAreUsage(t *testing.T) {
	dir := t.TempDir()
	text, capture := taped(t, dir)
	for _, c := range []struct {
		name    string
		content []byte
		says    string
	}{
		{"closed in the middle of a capture", capture[:len(capture)/2],
			"cut short; copy or capture it again, to its end"},
		{"closed in the middle of a trace", text[:len(text)/2],
			"cut short: no end line; copy or capture it again, to its end"},
		{"closed at once", nil, "empty; want a pcap or pcapng capture, or a trace in NDJSON"},
		{"text", []byte("hello\n"), "neither pcap nor pcapng, nor a trace in NDJSON"},
	} {
		for _, args := range []string{"judge", "ladder --conn -1", "datasheet"} {
			o := throughFIFO(t, dir, c.content, strings.Fields(args)...)
			if o.code != 2 || o.stdout != "" || strings.Count(o.stderr, "\n") != 1 || !strings.Contains(o.stderr,
				"/pipe: ") || !strings.Contains(o.stderr, c.says) {
				t.Errorf("%s of a FIFO, %s: exit %d, %q %q", args, c.name, o.code, o.stdout, o.stderr)
			}
			p := command(t, dir, append(strings.Fields(args), "-")...)
			p.Stdin = bytes.NewReader(c.content)
			if o := finish(t, p); o.code != 2 || o.stdout != "" || !strings.Contains(o.stderr, "standard input: ") ||
				!strings.Contains(o.stderr, c.says) {
				t.Errorf("%s of standard input, %s: exit %d, %q %q", args, c.name, o.code, o.stdout, o.stderr)
			}
		}
	}
}

// The result of a foreign capture begins with the place of its tap, which a flag can set, unless the frames contradict
// it.
func TestJudgeSaysWhereTheTapIs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, capture := taped(t, dir)
	must(t, os.WriteFile(filepath.Join(dir, "B.pcap"), capture, 0o644))
	for _, c := range []struct {
		args string
		tap  string
		told bool
		says string
	}{{"", "requester", false, ""}, {"--tap auto", "requester", false, ""},
		{"--tap requester", "requester", true, "stated by the user)"},
		{"--tap between", "between", true, "stated by the user)"},
		{"--tap responder", "between", false, "which the frames contradict"}} {
		args := append([]string{"judge", "B.pcap"}, strings.Fields(c.args)...)
		r := gauntlet(t, dir, append(args, "--json")...).result(t)
		if r.Capture == nil || r.Capture.Tap != c.tap || r.Capture.Told != c.told || r.Capture.Connections != 1 ||
			r.Capture.Frames == 0 || !r.Capture.OneTap {
			t.Errorf("%s: %+v", c.args, r.Capture)
		}
		o := gauntlet(t, dir, append(args, "--color", "never")...)
		if !strings.Contains(o.stdout, "\ntap: ") || !strings.Contains(o.stdout, "\ncapture: 1 connection, ") ||
			!strings.Contains(o.stdout, "unknown") || !strings.Contains(o.stdout, c.says) {
			t.Errorf("%s: %s", c.args, o.stdout)
		}
	}
}
