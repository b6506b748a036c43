package merge

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	godiff "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/wire"
	"github.com/rdma-gauntlet/gauntlet/harness/capture"
	"github.com/rdma-gauntlet/gauntlet/harness/drive"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/tracetest"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/channel"
	"github.com/rdma-gauntlet/gauntlet/netem/fault"
	"github.com/rdma-gauntlet/gauntlet/netem/spec"
)

// crossing is the history of one frame on a link.
type crossing struct {
	sent   vtime.Time
	raw    []byte
	fate   trace.Fate
	cause  string
	arrive []vtime.Time // of the packet, then of its copies
	got    []byte       // bytes on arrival
}

// crossings sends frames over a channel: copies of few different frames, some of them malformed.
func crossings(t *rapid.T, link spec.Link) (list []crossing, log []LinkFate) {
	t.Helper()
	c, err := channel.New(link, nil, rapid.Uint64().Draw(t, "seed"))
	if err != nil {
		t.Fatal(err)
	}
	kinds := rapid.IntRange(1, 6).Draw(t, "different frames")
	now := vtime.Time(vtime.Microsecond)
	for range rapid.IntRange(1, 60).Draw(t, "frames") {
		now += vtime.Time(rapid.SampledFrom([]int64{0, 1, 3, 10, 40, 150}).Draw(t, "gap in us")) *
			vtime.Time(vtime.Microsecond)
		raw := testFrame(rapid.IntRange(0, kinds-1).Draw(t, "frame"))
		v := c.Offer(now, len(raw)+24, fault.A, fault.Identity{QP: -1, Type: "DATA"})
		x := crossing{sent: now, raw: raw, fate: trace.Dropped, cause: v.Cause.String(), got: raw}
		e := LinkFate{At: now.Add(vtime.Microsecond), Key: ContentKey(raw, trace.A), Fate: trace.Dropped,
			Cause: x.cause, Copies: v.Copies, Gap: v.Gap}
		if v.Fate == channel.Delivered {
			x.fate = trace.Delivered
			if !v.Intact() {
				x.fate, x.got = trace.Corrupted, bytes.Clone(raw)
				wire.Alter(x.got, &v)
				e.Out = ContentKey(x.got, trace.A)
			}
			for i := range 1 + v.Copies {
				x.arrive = append(x.arrive, v.Copy(v.Arrive, i))
			}
			e.Fate, e.Due = x.fate, v.Arrive
		}
		list, log = append(list, x), append(log, e)
	}
	return list, log
}

// testFrame returns one of a few frames: packets that differ only in consecutive PSNs, and then frames that do not
// decode.
func testFrame(i int) []byte {
	var f roce.Frame
	p := roce.Packet{BTH: roce.BTH{Opcode: roce.SendOnly, PKey: roce.DefaultPKey, DestQP: 0x10011, PSN: 4}, Len: 64,
		Payload: make([]byte, 64)}
	p.PSN = p.PSN.Add(i)
	drive.Frame(&f, trace.A, 0, &p)
	b := f.AppendTo(nil)
	switch i {
	case 3:
		b[len(b)-1] ^= 0xFF // wrong ICRC
	case 4:
		b = b[:50] // shorter than its length fields
	case 5:
		b[12], b[13] = 0x88, 0xB5 // no IP
	}
	return b
}

// tapped returns the captures of the crossings at two taps, with the resolution of their time stamps.
func tapped(list []crossing) []capture.Source {
	type arrival struct {
		at  vtime.Time
		raw []byte
	}
	var in []arrival
	var taps [2]tracetest.Frames
	wall := func(at vtime.Time) time.Time { return tracetest.Epoch.Add(at.Sub(0).Std()) }
	for _, x := range list {
		taps[0].List = append(taps[0].List, capture.Frame{Wall: wall(x.sent), Raw: x.raw, Way: capture.Outward})
		for _, at := range x.arrive {
			in = append(in, arrival{at, x.got})
		}
	}
	slices.SortStableFunc(in, func(a, b arrival) int { return cmp.Compare(a.at, b.at) })
	for _, a := range in {
		taps[1].List = append(taps[1].List, capture.Frame{Wall: wall(a.at), Raw: a.raw, Way: capture.Inward})
	}
	return []capture.Source{capture.AtTap{Source: &taps[0], Side: trace.A},
		capture.AtTap{Source: &taps[1], Side: trace.B}}
}

// joined merges the captures of crossings.
func joined(t *rapid.T, list []crossing, opt Options) ([]trace.Record, Stats) {
	t.Helper()
	var k trace.Collector
	opt.Zero, opt.Until = tracetest.Epoch, list[len(list)-1].sent.Add(vtime.Second)
	stats, err := Taps(&trace.Header{Conns: make([]trace.Conn, 1)}, tapped(list), opt, &k)
	if err != nil {
		t.Fatal(err)
	}
	return k.Records, stats
}

// With a log, the trace has the fate of every packet as the link made it, also among equal packets.
func TestEveryFateIsTheLinks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		some := rapid.SampledFrom([]unit.Ratio{0, 0.1, 0.5})
		link := spec.Link{Rate: rapid.SampledFrom([]unit.Rate{0, 1e9}).Draw(t, "rate"), Queue: 1000,
			Delay: rapid.SampledFrom(
				[]vtime.Duration{0, 30 * vtime.Microsecond, 300 * vtime.Microsecond}).Draw(t, "delay"),
			Corrupt: some.Draw(t, "corrupt"), Duplicate: some.Draw(t, "duplicate"), Reorder: some.Draw(t, "reorder"),
			Loss: spec.Loss{Model: spec.Bernoulli, P: some.Draw(t, "loss")}}
		list, log := crossings(t, link)
		records, stats := joined(t, list, Options{Fates: log, Ordered: link.Reorder == 0})
		var want, got []string
		for i := range list {
			x := &list[i]
			if x.fate == trace.Dropped {
				want = append(want, fmt.Sprintf("%v dropped %s", x.sent, x.cause))
			}
			for k, at := range x.arrive {
				sent := fmt.Sprint(x.sent)
				if k > 0 {
					sent = "copy"
				}
				want = append(want, fmt.Sprintf("%s %v %s %d %x", sent, x.fate, x.cause, at/1000,
					roce.Fingerprint(x.got)))
			}
		}
		for i := range records {
			r := &records[i]
			if r.Fate == trace.Dropped {
				got = append(got, fmt.Sprintf("%v dropped %s", r.Sent/1000*1000, r.Cause))
				continue
			}
			sent, raw := fmt.Sprint(r.Sent/1000*1000), r.Raw
			if r.Copy {
				sent = "copy"
			}
			if r.Changed != nil {
				raw = r.Changed.Raw
			}
			got = append(got, fmt.Sprintf("%s %v %s %d %x", sent, r.Fate, r.Cause, r.Recv/1000, roce.Fingerprint(raw)))
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(want, got) {
			t.Fatalf("-the link +the trace\n%s", godiff.Diff(want, got))
		}
		if stats.Unexplored != 0 || stats.Explored != uint64(len(list)) || stats.Fates[trace.Unknown]+
			stats.Fates[trace.Injected] != 0 {
			t.Fatalf("%+v", stats)
		}
	})
}

// Without a log, as with the kernel's netem, the counts agree: the trace has as many lost and corrupted packets as the
// link, wherever in the frame the corruption is, and no packet without a sender.
func TestAccountAddsUpWithoutALog(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		some := rapid.SampledFrom([]unit.Ratio{0, 0.1, 0.3})
		delay := 300 * vtime.Microsecond
		list, _ := crossings(t, spec.Link{Queue: 1000, Delay: delay, Loss: spec.Loss{Model: spec.Bernoulli,
			P: some.Draw(t, "loss")}})
		corrupt := some.Draw(t, "corrupt")
		var want [5]uint64
		for i := range list {
			x := &list[i]
			if x.fate == trace.Delivered && rapid.Float64Range(0, 1).Draw(t, "hit") < float64(corrupt) {
				x.fate, x.got = trace.Corrupted, bytes.Clone(x.raw)
				at := rapid.IntRange(etherType, len(x.got)-1).Filter(func(i int) bool {
					return i != 22 && i != 24 && i != 25
				}).Draw(t, "byte")
				x.got[at] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
			}
			want[x.fate]++
		}
		records, stats := joined(t, list, Options{Ordered: true, Least: [2]vtime.Duration{delay, delay}})
		if stats.Fates != want {
			for i := range records {
				r := &records[i]
				t.Logf("%v to %v: %v %s copy %v", r.Sent, r.Recv, r.Fate, r.Cause, r.Copy)
			}
			t.Fatalf("fates %v, want %v", stats.Fates, want)
		}
	})
}
