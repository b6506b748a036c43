package remote

import (
	"bytes"
	"encoding/hex"
	"testing"

	"github.com/gopacket/gopacket/layers"

	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// answer is what a kernel makes of a request.
func answer(request []byte) []byte {
	f := bytes.Clone(request)
	f[atICMP] = layers.ICMPv4TypeEchoReply
	return f
}

// ask returns the request that is due.
func ask(t *testing.T, e *echoes, now vtime.Time) []byte {
	t.Helper()
	f, err := e.due(now)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Clone(f)
}

// A request is what RFC 791 and 792 say; its checksums were computed by another program.
func TestEchoRequest(t *testing.T) {
	e := newEchoes(trace.A, pair{Device: [6]byte{2, 0, 0, 0x77, 0, 1}, Peer: peerMAC(trace.A)})
	e.begin(0)
	got := hex.EncodeToString(ask(t, &e, 0)[:42])
	if want := "020000770001" + "02000077ff02" + "0800" + "4500002e000000004001" + "6633" + "0a4d00020a4d0001" +
		"0800" + "f7fe" + "00000001"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// The longest time without an answer counts, whether the host was deaf between two requests, after one, or when the run
// ended.
func TestEchoes(t *testing.T) {
	const ms = vtime.Millisecond
	at := func(n int) vtime.Time { return vtime.Time(n) * vtime.Time(ms) }
	e := newEchoes(trace.B, pair{})
	e.begin(at(100))
	first := ask(t, &e, at(100))
	if ask(t, &e, at(101)) != nil {
		t.Error("a second request before the answer")
	}
	e.hear(answer(first), at(102))
	if ask(t, &e, at(102)) != nil {
		t.Error("the next request without a rest")
	}
	second := ask(t, &e, at(103))
	e.hear(answer(first), at(104))
	e.hear(second, at(104)) // the request itself
	for n := range atICMPOrder + 2 {
		e.hear(answer(second)[:n], at(104))
	}
	e.hear(answer(first), at(104))
	if e.passed(at(104)); e.answers != 1 || e.longest != 2*ms {
		t.Errorf("%d answers, %s at most; want 1, 2 ms", e.answers, e.longest)
	}
	e.hear(answer(second), at(109))
	if e.longest != 2*ms {
		t.Errorf("%s, want 2 ms: nothing has passed since", e.longest)
	}
	if e.passed(at(109)); e.longest != 7*ms {
		t.Errorf("%s, want 7 ms", e.longest)
	}
	if e.passed(at(118)); e.longest != 9*ms {
		t.Errorf("%s, want 9 ms: a packet passed before the answer", e.longest)
	}
	lost := ask(t, &e, at(110))
	if again := ask(t, &e, at(160)); again == nil || bytes.Equal(lost, again) {
		t.Error("a request that was lost is not made again")
	}
	e.end(at(170))
	if e.longest != 61*ms {
		t.Errorf("%s at the end, want 61 ms", e.longest)
	}
}
