package run

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/sim"
	"github.com/rdma-gauntlet/gauntlet/harness/capture"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/recording"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/gbn"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// shot is a captured frame.
type shot struct {
	wall time.Time
	raw  []byte
	p    roce.Packet
}

// taps are captures of both sides without the harness's own notes, like those of any program.
type taps [2][]shot

// flushing flushes the captures when the trace ends.
type flushing struct{ trace.Views }

func (f flushing) End(at vtime.Time) {
	f.Views.End(at)
	for _, v := range f.Views {
		_, _ = v.(*capture.Writer).Flush() // writes to memory cannot fail
	}
}

// captured runs a Spec in virtual time and captures both ends.
func captured(t *testing.T, text string) taps {
	t.Helper()
	var files [2]strings.Builder
	open := func(h trace.Header) (trace.Sink, error) {
		var views trace.Views
		for side := range files {
			tap, err := capture.NewWriter(&files[side], &h,
				capture.Tap{Side: trace.Side(side), Device: "x"}, time.Time{})
			must(t, err)
			views = append(views, tap)
		}
		return trace.NewTimeline(&h, flushing{views}), nil
	}
	job, err := bench.NewJob(mustSpec(t, text), gbnTwice())
	must(t, err)
	job.Bytes, job.Open = true, open
	_, err = sim.Bench{}.Run(t.Context(), job)
	must(t, err)
	var out taps
	for side := range files {
		in, err := capture.NewReader(strings.NewReader(files[side].String()))
		must(t, err)
		for {
			var f capture.Frame
			if err := in.Next(&f); errors.Is(err, io.EOF) {
				break
			} else {
				must(t, err)
			}
			s := shot{wall: f.Wall, raw: slices.Clone(f.Raw)}
			var frame roce.Frame
			must(t, frame.Decode(s.raw))
			s.p = frame.Packet
			out[side] = append(out[side], s)
		}
	}
	return out
}

// folder writes the captures as files in which only the names tell the side.
func (c *taps) folder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for side, name := range []string{"A.pcapng", "B.pcapng"} {
		f, err := os.Create(filepath.Join(dir, name))
		must(t, err)
		w, err := pcapgo.NewNgWriter(f, layers.LinkTypeEthernet)
		must(t, err)
		for _, s := range c[side] {
			must(t, w.WritePacket(gopacket.CaptureInfo{Timestamp: s.wall, CaptureLength: len(s.raw),
				Length: len(s.raw)}, s.raw))
		}
		must(t, w.Flush())
		must(t, f.Close())
	}
	return dir
}

func judgeFolder(t *testing.T, dir string) *model.Result {
	t.Helper()
	r, err := Judge(t.Context(), JudgeOptions{Path: dir, Rules: rules.All(),
		Schemes: map[string]engine.Implementation{"gbn": gbn.Implementation()}})
	must(t, err)
	return r
}

// failed lists the rules that failed.
func failed(r *model.Result) (ids []string) {
	for _, v := range r.Verdicts {
		if v.Status == rule.Fail && v.Required {
			ids = append(ids, v.Rule)
		}
	}
	return ids
}

// find returns the index of the n-th frame at a tap for which fits returns true.
func (c *taps) find(t *testing.T, side trace.Side, n int, fits func(*roce.Packet) bool) int {
	t.Helper()
	for i := range c[side] {
		if fits(&c[side][i].p) {
			if n--; n == 0 {
				return i
			}
		}
	}
	t.Fatal("no such frame")
	return 0
}

// An edited capture is judged by its frames: each edit breaks the rule that it should.
func TestEditedCaptures(t *testing.T) {
	const text = "link rate=100M delay=5ms queue=1000\nload write msg=16KiB count=10\ndrop A psn=+20 tx=1\n"
	isNAK := func(p *roce.Packet) bool {
		return p.Opcode == roce.Acknowledge && p.AETH.Syndrome == roce.SyndromePSNSeqErr
	}
	data := func(psn int) func(*roce.Packet) bool {
		return func(p *roce.Packet) bool { return p.Opcode.IsRequest() && int(p.PSN) == psn }
	}
	for _, c := range []struct {
		name string
		edit func(t *testing.T, c *taps)
		want []string
	}{
		{"none", func(*testing.T, *taps) {}, nil},
		{"a NAK removed", func(t *testing.T, c *taps) {
			for side := range c {
				i := c.find(t, trace.Side(side), 1, isNAK)
				c[side] = slices.Delete(c[side], i, i+1)
			}
		}, []string{"GBN-NAK-001"}},
		{"a PSN changed", func(t *testing.T, c *taps) {
			for side := range c {
				s := &c[side][c.find(t, trace.Side(side), 1, data(10))]
				off, _, _ := roce.FieldSpan(s.raw, "psn")
				s.raw[off] = 9 // about 590 000 PSNs ahead
				roce.Reseal(s.raw)
			}
		}, []string{"RC-PSN-001"}},
		{"a retransmission too many", func(t *testing.T, c *taps) {
			for side, nth := range []int{2, 2} {
				i := c.find(t, trace.Side(side), nth, data(25))
				again := c[side][c.find(t, trace.Side(side), nth, data(21))]
				again.wall = c[side][i].wall.Add(time.Microsecond)
				c[side] = slices.Insert(c[side], i+1, again)
			}
		}, []string{"GBN-RTX-001"}},
		{"an ICRC spoilt by the sender", func(t *testing.T, c *taps) {
			for side := range c {
				s := &c[side][c.find(t, trace.Side(side), 1, data(10))]
				s.raw[len(s.raw)-1] ^= 1
			}
		}, []string{"WIRE-ICRC-001"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			taps := captured(t, text)
			c.edit(t, &taps)
			r := judgeFolder(t, taps.folder(t))
			got := failed(r)
			for _, want := range c.want {
				if !slices.Contains(got, want) {
					t.Errorf("%s is not among the failures: %v", want, got)
				}
			}
			if len(c.want) == 0 && (len(got) > 0 || r.Status != "PASS") {
				t.Errorf("%s: %v", r.Status, got)
			}
		})
	}
}

// A frame with a wrong ICRC is of its sender if the tap is known to stand at its port. If only the times of the answers
// place it there, the frame may have been damaged before it; a sender that makes no right ICRC at all is known by that.
func TestDamageBeforeATap(t *testing.T) {
	const text = "link rate=100M delay=5ms queue=1000\nload write msg=16KiB count=10\ndrop A psn=+140 tx=1\n"
	for _, c := range []struct {
		name string
		tap  string // as stated
		all  bool   // all of A's frames have a wrong ICRC, not only the lost one
		want rule.Status
	}{
		{"inferred", "", false, rule.Inconclusive},
		{"stated", "requester", false, rule.Fail},
		{"never a right one", "", true, rule.Fail},
	} {
		taps := captured(t, text)
		lost := taps.find(t, trace.A, 1, func(p *roce.Packet) bool { return p.PSN == 140 })
		for i := range taps[trace.A] {
			if s := &taps[trace.A][i]; i == lost || c.all && s.p.Opcode.IsRequest() {
				s.raw[len(s.raw)-1] ^= 1
			}
		}
		o := JudgeOptions{Path: filepath.Join(taps.folder(t), "A.pcapng"), Rules: rules.All()}
		if c.tap != "" {
			var err error
			o.Tap, err = recording.ParseTap(c.tap)
			must(t, err)
		}
		r, err := Judge(t.Context(), o)
		must(t, err)
		i := slices.IndexFunc(r.Verdicts, func(v rule.Verdict) bool { return v.Rule == "WIRE-ICRC-001" })
		if v := &r.Verdicts[i]; v.Status != c.want || v.Status == rule.Inconclusive && !strings.Contains(v.Reason, "--tap") {
			t.Errorf("%s, tap %s: %v %s", c.name, r.Capture.Why, v.Status, v.Reason)
		}
	}
}

// An edited trace in text form, which has the attributes of the QPs: the retransmission of the oldest packet before its
// timer expires has no cause.
func TestEditedTrace(t *testing.T) {
	o := options(t, "link rate=100M delay=5ms queue=1000\nload write msg=16KiB count=10\n")
	execute(t, o)
	raw, err := os.ReadFile(filepath.Join(o.Folder, recording.NDJSONName))
	must(t, err)
	lines := strings.SplitAfter(string(raw), "\n")
	at := func(text string) int {
		return slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, text) })
	}
	again, before := lines[at(`WRITE_FIRST psn=0 `)], at(`WRITE_MIDDLE psn=30 `)
	times := regexp.MustCompile(`"sent_ps":\d+,"recv_ps":\d+`)
	again = times.ReplaceAllString(again, times.FindString(lines[before]))
	path := filepath.Join(t.TempDir(), "edited.ndjson")
	must(t, os.WriteFile(path, []byte(strings.Join(slices.Insert(lines, before+1, again), "")), 0o644))
	r := judgeFolder(t, path)
	if got := failed(r); !slices.Contains(got, "RC-TMO-001") {
		t.Errorf("%v", got)
	}
}
