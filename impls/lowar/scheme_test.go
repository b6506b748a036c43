package lowar_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/sim"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/gbn"
	"github.com/rdma-gauntlet/gauntlet/impls/lowar"
)

// lines is a scenario of the tests, with a fast, short link unless the test sets another.
func lines(t testing.TB, statements ...string) *scenario.Spec {
	t.Helper()
	s := scenario.Default()
	for _, l := range append([]string{"link rate=10G delay=5us queue=100000", "qp rto=200us receives=64"},
		statements...) {
		if err := s.Line(l); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	return s
}

// record is the result of a run.
type record struct {
	packets    []roce.Packet // what A sent, with bytes, lost or not
	back       []roce.Packet // what B sent
	naks       int
	again      int // requests that A retransmitted
	next       psn.PSN
	timeouts   int
	completed  int
	mismatched int64 // bytes of memory that are wrong
}

// Packet implements trace.Sink.
func (r *record) Packet(p *trace.Record) {
	c := p.Packet
	c.Payload = bytes.Clone(c.Payload)
	if p.From == trace.B {
		r.back = append(r.back, c)
		if c.Opcode == roce.Acknowledge && c.AETH.Syndrome.IsNAK() {
			r.naks++
		}
		return
	}
	r.packets = append(r.packets, c)
	if c.Opcode == roce.LoWAR || c.Opcode.IsResponse() {
		return
	}
	if c.PSN.Less(r.next) {
		r.again++
	}
	r.next = psn.Max(r.next, c.PSN.Next())
}

// Event implements trace.Sink.
func (r *record) Event(e *trace.Event) {
	switch e.Kind {
	case trace.CQE:
		r.completed++
	case trace.Timeout:
		r.timeouts++
	case trace.Memory:
		r.mismatched += e.Value
	}
}

// End implements trace.Sink.
func (*record) End(vtime.Time) {}

// play runs a scenario with bytes and returns its record.
func play(t testing.TB, s *scenario.Spec, a, b engine.Implementation) (*record, *sim.World) {
	t.Helper()
	var r record
	w, err := sim.New(s, [2]engine.Implementation{a, b}, sim.Options{Bytes: true, Sink: &r})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Run(); err != nil {
		t.Fatal(err)
	}
	if r.mismatched != 0 {
		t.Errorf("%d bytes of memory are not as they should be", r.mismatched)
	}
	return &r, w
}

func overGBN() engine.Implementation { return lowar.Over(gbn.Implementation()) }

// image returns the bytes of a packet that the code covers.
func image(p *roce.Packet) []byte {
	b := p.AppendTransport(nil)
	b[4] = 0
	return b
}

// TestFigure6 sends the three messages of the paper's figure, 1, 5 and 61 packets at (8,2), and compares every repair
// packet with the XOR of the packets in the figure.
func TestFigure6(t *testing.T) {
	r, _ := play(t, lines(t, "param r=8 c=2", "post-write wr=1 len=1000",
		"post-write wr=2 len=5120 local=4096 remote=4096",
		"post-write wr=3 len=62464 local=16384 remote=16384"), overGBN(), overGBN())
	var data []*roce.Packet
	counts := []int{0, 0, 0}
	message, repairs := -1, 0
	for i := range r.packets {
		p := &r.packets[i]
		if p.Opcode != roce.LoWAR {
			if p.Opcode.StartsMessage() {
				message++
			}
			if repairs > 0 {
				data, repairs = nil, 0
			}
			data = append(data, p)
			continue
		}
		h := &p.Repair
		if int(h.ISN) != repairs || h.Base != data[0].PSN || int(h.N) != len(data) || h.R != 8 || h.C != 2 {
			t.Errorf("%v after %d packets from %v on: want isn=%d", p, len(data), data[0].PSN, repairs)
		}
		want, check := []byte{}, uint32(0)
		for at := repairs; at < len(data); at += 2 {
			b := image(data[at])
			for len(want) < len(b) {
				want = append(want, 0)
			}
			for j := range b {
				want[j] ^= b[j]
			}
			check += roce.RepairDigest(b)
		}
		last := data[len(data)-1]
		if !bytes.Equal(p.Payload, want) || h.Check != check || h.HasFirst != data[0].Opcode.StartsMessage() ||
			h.HasLast != last.Opcode.EndsMessage() || h.HasLast && int(h.LastLen) != last.TransportLen() {
			t.Errorf("message %d, block %v: %v does not stand for its packets", message+1, data[0].PSN, p)
		}
		counts[message]++
		repairs++
	}
	if fmt.Sprint(counts) != "[1 2 16]" {
		t.Errorf("repair packets per message: %v, want 1, 2 and 16", counts)
	}
}

// TestDataPacketsAreThoseOfGBN compares the data packets with and without the shim, byte for byte: "We keep outgoing
// RDMA data packets unchanged" (IV-C).
func TestDataPacketsAreThoseOfGBN(t *testing.T) {
	work := []string{"post-write wr=1 len=5000", "post-send wr=2 len=3000 local=8192 imm=5",
		"post-read wr=3 len=4000 local=16384 remote=16384",
		"post-atomic wr=4", "post-write wr=5 len=10 local=32768 remote=32768"}
	plain, _ := play(t, lines(t, work...), gbn.Implementation(), gbn.Implementation())
	coded, _ := play(t, lines(t, work...), overGBN(), overGBN())
	for _, way := range [][2][]roce.Packet{{plain.packets, coded.packets}, {plain.back, coded.back}} {
		var got, want []string
		for i := range way[0] {
			want = append(want, fmt.Sprintf("%x", way[0][i].AppendTransport(nil)))
		}
		for i := range way[1] {
			if way[1][i].Opcode != roce.LoWAR {
				got = append(got, fmt.Sprintf("%x", way[1][i].AppendTransport(nil)))
			}
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("with the shim %d packets, without %d, or others", len(got), len(want))
		}
	}
}

// TestBursts loses n consecutive packets at every place of a block of LoWAR(64,8) and its repair packets. All bursts of
// up to 8 are recovered, wherever they begin. Longer ones may hit two blocks, or repair packets that were not needed,
// so that some are recovered: "the bursty losses may fall into different coding blocks" (VI-A).
func TestBursts(t *testing.T) {
	const slots = 72 // 64 packets and 8 repair packets
	for n := 1; n <= 12; n++ {
		repaired := 0
		for at := range slots {
			from := slots + at
			w := newWire(t, overGBN(), engine.Params{"r": "64", "c": "8"}, func(i int) bool {
				return i >= from && i < from+n
			})
			w.message(t)
			if w.naks == 0 && w.again == 0 && w.timeouts == 0 {
				repaired++
			} else if n <= 8 {
				t.Errorf("burst of %d at %d: %d NAKs, %d packets again, %d timeouts; want none", n, at, w.naks,
					w.again, w.timeouts)
			}
		}
		t.Logf("bursts of %2d: %2d of %d places repaired", n, repaired, slots)
		if n > 8 && repaired == slots {
			t.Errorf("bursts of %d are always repaired: the losses did not happen", n)
		}
	}
}

// TestMemoryUnderLoss sends every kind of message over links with random losses and bursts, and checks the memory.
func TestMemoryUnderLoss(t *testing.T) {
	for _, loss := range []string{"random p=1e-3", "random p=0.02", "random p=0.1", "burst enter=0.005 len=3 loss=0.7",
		"burst enter=0.002 len=12 loss=0.7"} {
		for i, code := range []string{"r=8 c=1", "r=64 c=8", "adaptive=true r=32 c=1 report=256"} {
			if testing.Short() && i > 0 {
				break
			}
			for _, load := range []string{"load write msg=20000 count=60", "load send-imm msg=7000 count=60",
				"load read msg=20000 count=60"} {
				s := lines(t, "param "+code, "loss "+loss, load, "qp qd=8 replenish=1 retry=7 rto=400us count=3")
				r, w := play(t, s, overGBN(), overGBN())
				if r.completed != 180 || w.Endpoint(trace.A).Shortfall() != "" {
					t.Errorf("%s, %s, %s: %d of 180 requests completed", loss, code, load, r.completed)
				}
			}
		}
	}
}

// TestStockEndpointIgnoresRepairs has the shim at one end only. The other end silently drops packets that are not RC,
// and the connection works: "operating transparently" (I).
func TestStockEndpointIgnoresRepairs(t *testing.T) {
	s := lines(t, "loss A>B random p=0.01", "load write msg=20000 count=50", "qp qd=8")
	r, w := play(t, s, overGBN(), gbn.Implementation())
	dropped := w.Endpoint(trace.B).Counters()["class"]
	if r.completed != 50 || dropped == 0 || r.naks == 0 {
		t.Errorf("%d of 50 requests completed, %d repair packets dropped, %d NAKs", r.completed, dropped, r.naks)
	}
	for i := range r.back {
		if o := r.back[i].Opcode; o != roce.Acknowledge {
			t.Errorf("the stock end answers %v", o)
		}
	}
	s = lines(t, "load read msg=20000 count=50", "qp qd=8")
	if r, _ = play(t, s, gbn.Implementation(), overGBN()); r.completed != 50 {
		t.Errorf("%d of 50 READs completed", r.completed)
	}
}

// TestCodecChangesNothing: a run without frames has the same packets at the same times as one with frames, and codes
// and recovers the same bytes, although payload is passed by reference and copied only where necessary.
func TestCodecChangesNothing(t *testing.T) {
	for _, code := range []string{"param r=8 c=1", "param r=32 c=4"} {
		s := lines(t, code, "seed 3", "link duplicate=1%", "loss random p=2%", "qp count=2 qd=8",
			"load write msg=20000 count=60", "load send msg=3000 count=40",
			"load read from=B msg=9000 count=30", "load write from=B msg=5000 count=20")
		var runs [2]trace.Collector
		for i, encode := range []bool{false, true} {
			w, err := sim.New(s, [2]engine.Implementation{overGBN(), overGBN()},
				sim.Options{Bytes: encode, Sink: &runs[i]})
			if err == nil {
				err = w.Run()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		text := func(c *trace.Collector) string { return story(t, c) }
		if a, b := text(&runs[0]), text(&runs[1]); a != b || strings.Count(a, "REPAIR") < 100 {
			t.Errorf("%s: %d and %d bytes of story, %d repair packets", code, len(a), len(b),
				strings.Count(a, "REPAIR"))
		}
	}
}

// story returns the records of a trace without the bytes of frames. Memory must be right at the end.
func story(t *testing.T, c *trace.Collector) string {
	var b strings.Builder
	for i := range c.Records {
		r := &c.Records[i]
		fmt.Fprintln(&b, r.Sent, r.Recv, r.From, r.Conn, r.Fate, r.Copy, r.WireBytes, r.Packet.String())
	}
	for i := range c.Events {
		e := &c.Events[i]
		if e.Kind == trace.Memory && e.Value != 0 {
			t.Errorf("%s: %d bytes are wrong", e.Name, e.Value)
		}
		fmt.Fprintln(&b, e.At, e.Kind, e.Side, e.Conn, e.Body)
	}
	return b.String()
}

// TestParams checks the range of every parameter, and that an error is one line that names the parameter.
func TestParams(t *testing.T) {
	impl := overGBN()
	for _, tt := range []struct {
		params engine.Params
		want   string
	}{
		{engine.Params{"r": "0"}, `lowar: parameter r: "0": want a whole number from 1 to 1024`},
		{engine.Params{"c": "0"}, `lowar: parameter c: "0": want a whole number from 1 to 64`},
		{engine.Params{"r": "4", "c": "8"},
			"lowar: parameters r=4 c=8: a block of r packets fills c units, so use an r not below c"},
		{engine.Params{"recv_c": "33"},
			"lowar: parameters r=32 c=33: a block of r packets fills c units, so use an r not below c"},
		{engine.Params{"recv_r": "x"}, `lowar: parameter recv_r: "x": want a whole number from 1 to 1024`},
		{engine.Params{"units": "4", "c": "8"}, "lowar: parameter units: 4: one block takes c=8 of them"},
		{engine.Params{"rob": "-1"}, `lowar: parameter rob: "-1": want a whole number from 1 to 65536`},
		{engine.Params{"t_rob": "0s"}, `lowar: parameter t_rob: "0s": want more than zero`},
		{engine.Params{"adaptive": "maybe"}, `lowar: parameter adaptive: "maybe": want true or false`},
		{engine.Params{"bdp": "0"}, `lowar: parameter bdp: "0": want a whole number from 1 to 16777216`},
		{engine.Params{"report": "0"}, `lowar: parameter report: "0": want a whole number from 1 to 1048576`},
		{engine.Params{"q": "1"}, "lowar: parameter q is not known; known are ack_delay, adaptive, backto0, bdp, c, " +
			"nack_interval, r, read_gap, recv_c, recv_r, report, rob, rxe_infinite7, t_rob, units"},
		{engine.Params{"read_gap": "never"}, `gbn: parameter read_gap: "never": want immediate or wait`},
	} {
		_, _, err := impl.New(engine.QP{MTU: 1024, QueueDepth: 1, Params: tt.params}, nil)
		if err == nil || err.Error() != tt.want {
			t.Errorf("%v:\n got %v\nwant %s", tt.params, err, tt.want)
		}
	}
	if _, err := impl.NewHost(engine.Params{"r": "0"}); err == nil {
		t.Error("a host takes r=0")
	}
	if _, _, err := impl.New(engine.QP{MTU: 1000, QueueDepth: 1}, nil); err == nil ||
		errors.Is(err, engine.ErrQPState) {
		t.Errorf("MTU 1000: %v", err)
	}
}

// varOf returns a variable of an engine.
func varOf(t *testing.T, half any, name string) int64 {
	t.Helper()
	for _, v := range half.(engine.Inspector).Vars(nil) {
		if v.Name == name {
			return v.Value
		}
	}
	t.Fatalf("no variable %s", name)
	return 0
}

// TestAdaptiveFollows runs without loss, then with bursts of four, then without again. Redundancy is at its minimum,
// then high enough to avoid retransmissions, then at its minimum; a fixed (32,1) goes back N for every burst.
func TestAdaptiveFollows(t *testing.T) {
	bursts := false
	lose := func(i int) bool { return bursts && i%409 < 4 }
	adaptive := newWire(t, overGBN(), engine.Params{"adaptive": "true", "report": "512"}, lose)
	fixed := newWire(t, overGBN(), nil, lose)
	phase := func(messages int) (naks, fixedNAKs int, overhead float64) {
		sent, data, a, b := adaptive.sent, adaptive.data, adaptive.naks, fixed.naks
		for range messages {
			adaptive.message(t)
			fixed.message(t)
		}
		return adaptive.naks - a, fixed.naks - b, float64(adaptive.sent-sent)/float64(adaptive.data-data) - 1
	}
	phase(20)
	if _, _, overhead := phase(20); overhead > 0.02 {
		t.Errorf("without loss it sends %.1f %% more, want 1 packet in 53 (64 a block, 160 a message)", 100*overhead)
	}
	bursts = true
	phase(20)
	naks, fixedNAKs, overhead := phase(100)
	if naks > 0 || fixedNAKs < 30 {
		t.Errorf("with bursts of 4: %d NAKs, and %d with a fixed (32,1)", naks, fixedNAKs)
	}
	c := varOf(t, adaptive.resp, "dec_c")
	t.Logf("bursts of 4: (%d,%d), %.1f %% more packets, %d NAKs; fixed (32,1): %d NAKs", varOf(t, adaptive.resp,
		"dec_r"), c, 100*overhead, naks, fixedNAKs)
	if c != 4 || varOf(t, adaptive.req, "enc_c") != 4 {
		t.Errorf("depth %d for bursts of 4", c)
	}
	bursts = false
	phase(200)
	if _, _, overhead := phase(20); overhead > 0.02 {
		t.Errorf("without loss again it sends %.1f %% more", 100*overhead)
	}
}

// TestRefusesAMixture delivers a block in which one packet differs from the coded one, as if from another transmission.
// XOR puts the difference into the recovered packet, where no header shows it; the check value does.
func TestRefusesAMixture(t *testing.T) {
	for _, altered := range []bool{false, true} {
		w := newWire(t, overGBN(), engine.Params{"r": "8"}, never)
		if err := w.req.Post(w.now, write); err != nil {
			t.Fatal(err)
		}
		for i := range 9 {
			var p roce.Packet
			if !w.req.PollTransmit(w.now, &p) {
				t.Fatal("nothing to send")
			}
			p.Payload = bytes.Clone(p.Payload)
			if i == 2 && altered {
				p.Payload[100] ^= 0x40
			}
			if i != 5 {
				w.resp.HandlePacket(w.now, &p)
			}
		}
		recovered, refused := varOf(t, w.resp, "dec_recovered"), varOf(t, w.resp, "dec_refused")
		if altered && (recovered != 0 || refused != 1) || !altered && (recovered != 1 || refused != 0) {
			t.Errorf("altered %v: %d recovered, %d refused", altered, recovered, refused)
		}
	}
}

// TestSharedBuffersComeBack runs many QPs of one endpoint over a bad link with few units and places, and checks that
// all of them are free at the end.
func TestSharedBuffersComeBack(t *testing.T) {
	s := lines(t, "param r=16 c=2 units=12 rob=20", "loss random p=0.03", "load write msg=20000 count=20",
		"load read msg=20000 count=20",
		"qp count=16 qd=4 rto=2ms retry=7")
	r, w := play(t, s, overGBN(), overGBN())
	if r.completed != 16*40 {
		t.Errorf("%d of %d requests completed", r.completed, 16*40)
	}
	unprotected := int64(0)
	for side := trace.A; side <= trace.B; side++ {
		shared := map[string]int64{}
		for i := range 16 {
			for _, v := range w.Endpoint(side).Vars(i) {
				switch v.Name {
				case "units_encoding", "units_decoding", "rob", "units_encoding_high",
					"units_decoding_high", "rob_high":
					shared[v.Name] = v.Value
				case "enc_unprotected", "renc_unprotected":
					unprotected += v.Value
				}
			}
		}
		if shared["units_encoding"] != 0 || shared["units_decoding"] != 0 || shared["rob"] != 0 {
			t.Errorf("%v: %v, want all units and all places free", side, shared)
		}
		if shared["units_encoding_high"] > 12 || shared["units_decoding_high"] > 12 || shared["rob_high"] > 20 {
			t.Errorf("%v: %v, which is more than there are", side, shared)
		}
	}
	if unprotected == 0 {
		t.Error("16 QPs found a unit of 12 whenever they wanted two")
	}
}
