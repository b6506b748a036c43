package run

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"runtime"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/registry"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/recording"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/perf/metrics"
)

// crowd describes a capture of many connections: each sends packets in messages of 64, with an answer to every 16th and
// to the last. A hundred connections are active at a time.
type crowd struct {
	conns, packets, size int
}

// pcap returns the capture as a file, from a tap at the port of the requesters.
func (c crowd) pcap() []byte { return c.pcapAt(0, 0) }

// pcapAt returns the capture with packets and answers later by the given nanoseconds, as another tap would see them.
func (c crowd) pcapAt(packets, answers uint64) []byte {
	var out bytes.Buffer
	// nanoseconds, Ethernet
	out.Write([]byte{0x4D, 0x3C, 0xB2, 0xA1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0})
	var frame []byte
	at := uint64(0)
	write := func(f *roce.Frame) {
		at += 100
		now := at + packets
		if f.Packet.Opcode == roce.Acknowledge {
			now = at + answers
		}
		frame = f.AppendTo(frame[:0])
		var h [16]byte
		binary.LittleEndian.PutUint32(h[:], uint32(1_700_000_000+now/1e9))
		binary.LittleEndian.PutUint32(h[4:], uint32(now%1e9))
		binary.LittleEndian.PutUint32(h[8:], uint32(len(frame)))
		binary.LittleEndian.PutUint32(h[12:], uint32(len(frame)))
		out.Write(h[:])
		out.Write(frame)
	}
	const together = 100
	payload := make([]byte, c.size)
	for first := 0; first < c.conns; first += together {
		for k := range c.packets {
			for conn := first; conn < min(first+together, c.conns); conn++ {
				c.exchange(conn, k, payload, write)
			}
		}
	}
	return out.Bytes()
}

// exchange writes packet k of a connection, and its answer if it has one.
func (c crowd) exchange(conn, k int, payload []byte, write func(*roce.Frame)) {
	const message = 64
	last := k == c.packets-1
	f := roce.Frame{Src: netip.MustParseAddr("10.0.0.1"), Dst: netip.MustParseAddr("10.0.0.2"), SrcPort: 50000,
		TTL: 64, DF: true}
	p := &f.Packet
	p.BTH = roce.BTH{Opcode: roce.SendMiddle, PKey: roce.DefaultPKey, DestQP: uint32(conn) + 1<<20,
		PSN: psn.New(uint32(conn*977 + k))}
	p.Payload, p.Len, p.AckReq = payload, len(payload), k%16 == 15 || last
	switch ends := k%message == message-1 || last; {
	case k%message == 0 && ends:
		p.Opcode = roce.SendOnly
	case k%message == 0:
		p.Opcode = roce.SendFirst
	case ends:
		p.Opcode = roce.SendLast
	}
	write(&f)
	if !p.AckReq {
		return
	}
	done := (k + 1) / message
	if last {
		done = (k + message) / message
	}
	a := roce.Frame{Src: f.Dst, Dst: f.Src, SrcPort: 50000, TTL: 64, DF: true}
	a.Packet.BTH = roce.BTH{Opcode: roce.Acknowledge, PKey: roce.DefaultPKey, DestQP: uint32(conn) + 16, PSN: p.PSN}
	a.Packet.AETH = roce.AETH{Syndrome: roce.SyndromeACK | 31, MSN: psn.MSN(done)}
	write(&a)
}

// judged is a judged capture with all state that was kept for it.
type judged struct {
	in    recording.Recording
	judge *rule.Judge
	numbs *metrics.Collector
}

// judgeCapture judges a capture in memory, taken at a tap.
func judgeCapture(t testing.TB, file []byte, at string) judged {
	t.Helper()
	tap, err := recording.ParseTap(at)
	if err != nil {
		t.Fatal(err)
	}
	var j judged
	stated := recording.Stated{Tap: tap}
	if j.in, err = recording.ReadFrom("crowd", bytes.NewReader(file), int64(len(file)), stated); err != nil {
		t.Fatal(err)
	}
	o := JudgeOptions{Rules: rules.All(), Schemes: registry.Schemes()}
	j.judge = rule.NewJudge(j.in.Header, o.Rules, o.declared(&j.in.Header, nil))
	j.numbs = metrics.NewCollector(&j.in.Header, metrics.Options{})
	if err := j.in.Play(trace.NewTimeline(&j.in.Header, trace.Views{j.judge, j.numbs})); err != nil {
		t.Fatal(err)
	}
	return j
}

// verdicts counts the verdicts by their status, and reports what failed.
func (j *judged) verdicts(t testing.TB) map[rule.Status]int {
	t.Helper()
	n := map[rule.Status]int{}
	for _, v := range j.judge.Verdicts() {
		if n[v.Status]++; v.Status == rule.Fail || v.Status == rule.Error {
			t.Errorf("%s: %s %s %v", v.Rule, v.Status, v.Reason, v.Findings)
		}
	}
	return n
}

// heap returns the bytes in use and the number of allocations so far.
func heap() (bytes, mallocs uint64) {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc, m.Mallocs
}

// TestIdleFlowIsSmall: an ordinary connection uses little memory, with its two ends in the header and its metrics. It
// is measured on 2000 further connections, to leave out memory that is used once.
func TestIdleFlowIsSmall(t *testing.T) {
	few, many := crowd{500, 1, 8}.pcap(), crowd{2500, 1, 8}.pcap()
	for at, most := range map[string]int{"requester": 2048, "responder": 2048, "between": 2048} {
		kept := func(file []byte) int {
			before, _ := heap()
			j := judgeCapture(t, file, at)
			after, _ := heap()
			if n := j.verdicts(t); n[rule.Pass] < 12 {
				t.Errorf("tap %s: %v", at, n)
			}
			runtime.KeepAlive(j)
			return int(after - before)
		}
		kept(few) // allocates memory that is used once
		n := (kept(many) - kept(few)) / 2000
		t.Logf("tap %s: %d bytes a connection", at, n)
		if n > most {
			t.Errorf("tap %s: %d bytes a connection, want %d at most", at, n, most)
		}
	}
}

// TestPacketsAllocateNothing: twice the packets of a connection need no more allocations, from the file to the verdict.
func TestPacketsAllocateNothing(t *testing.T) {
	const packets = 4096
	short, long := crowd{1, packets, 256}.pcap(), crowd{1, 2 * packets, 256}.pcap()
	for _, at := range []string{"requester", "responder", "between"} {
		count := func(file []byte) int {
			_, before := heap()
			judgeCapture(t, file, at)
			_, after := heap()
			return int(after - before)
		}
		count(short) // allocates memory that is used once
		if more := count(long) - count(short); more > packets/32 {
			t.Errorf("tap %s: %d packets more take %d allocations more", at, packets, more)
		}
	}
}
