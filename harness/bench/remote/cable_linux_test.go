package remote

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/topology"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/station"
	"github.com/rdma-gauntlet/gauntlet/harness/drive"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/testbed"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/certify"
	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
)

// frame is a packet of a side to a queue pair.
func frame(from trace.Side, qpn uint32) []byte {
	var f roce.Frame
	drive.Frame(&f, from, 0,
		&roce.Packet{BTH: roce.BTH{Opcode: roce.UDSendOnly, PKey: roce.DefaultPKey, DestQP: qpn}, Len: 16})
	return f.AppendTo(nil)
}

// The device hears its peer from an address that is nobody's, and is heard under that of its end; nothing else of a
// frame changes.
func TestAddressesOnTheCable(t *testing.T) {
	for _, side := range []trace.Side{trace.A, trace.B} {
		c := &carrier{here: pair{drive.MAC(side), drive.MAC(side.Other())},
			there: pair{[6]byte{0xB8, 0x59, 0x9F, 0, 0, 1}, peerMAC(side)}}
		if c.there.Peer == drive.MAC(trace.A) || c.there.Peer == drive.MAC(trace.B) {
			t.Errorf("%s: the peer's address on the cable may be the device's own", side)
		}
		there := frame(side.Other(), 17)
		was := hex.EncodeToString(there[12:])
		if !c.toDevice(there) || [6]byte(there) != c.there.Device || [6]byte(there[6:]) != c.there.Peer ||
			hex.EncodeToString(there[12:]) != was {
			t.Errorf("%s: to the device: %x", side, there)
		}
		here := frame(side, 17)
		want := hex.EncodeToString(here)
		copy(here, c.there.Peer[:])
		copy(here[6:], c.there.Device[:])
		if !c.fromDevice(here) || hex.EncodeToString(here) != want {
			t.Errorf("%s: from the device: %x, want %s", side, here, want)
		}
		if c.toDevice(frame(side.Other(), probeQP)) {
			t.Errorf("%s: what measures the link goes to the device", side)
		}
		for n := range there {
			c.toDevice(there[:n:n]) // a frame that is cut is no reason to end
			c.fromDevice(there[:n:n])
		}
	}
	arp := append(make([]byte, 12), 0x08, 0x06)
	if c := (&carrier{}); c.fromDevice(append(arp, make([]byte, 64)...)) {
		t.Error("what the host's kernel says passes")
	}
}

// What was late on the way to the device is no fault of its: on this machine, or in a host whose kernel computes. A
// transport in hardware does not wait for its host, which is not asked.
func TestCableIsLate(t *testing.T) {
	const ms = vtime.Millisecond
	for name, c := range map[string]struct {
		late, deaf vtime.Duration
		answers    int
		realtime   bool
		soft       bool
		want       string
	}{
		"in time":           {4 * ms, 4 * ms, 9, true, true, ""},
		"late here":         {6 * ms, 4 * ms, 9, true, true, "cable of dut1 was late is 6ms, want at most 5ms"},
		"late there":        {4 * ms, 6 * ms, 9, true, true, "host dut1 was deaf is 6ms, want at most 5ms"},
		"answers no echo":   {4 * ms, 6 * ms, 0, true, true, "host dut1 was deaf is no answer to an echo request"},
		"hardware":          {4 * ms, 0, 0, true, false, ""},
		"late, at hardware": {6 * ms, 0, 0, true, false, "cable of dut1 was late is 6ms"},
		"ordinary thread": {6 * ms, 0, 0, false, false, "cable of dut1 was late is 6ms, want at most 5ms: what rules " +
			"allow for a reaction; leave more processor time to this machine, or lower the rate; the kernel granted " +
			"the cable no real-time priority"},
	} {
		cable := &cable{host: &Host{At: testbed.Host{Name: "dut1"}}, soft: c.soft,
			whole: &carried{conduct: conduct{Late: c.late, Realtime: c.realtime}, Deaf: c.deaf, Answers: c.answers}}
		whole := certify.Issue("during", cable.lateness())
		if whole.Valid != (c.want == "") || !strings.HasPrefix(whole.Reason, c.want) {
			t.Errorf("%s: %s; want %q", name, whole.Reason, c.want)
		}
		if c.realtime && strings.Contains(whole.Reason, "priority") {
			t.Errorf("%s: %s", name, whole.Reason)
		}
		for _, item := range whole.Items {
			if item.Property != validity.Lateness {
				t.Errorf("%s: %+v", name, item)
			}
		}
	}
	if mostLate != rule.Drain {
		t.Errorf("a cable may be %s late, and rules allow %s", mostLate, rule.Drain)
	}
}

// An order that the process of a cable does not know is an error for both who speak, and no count.
func TestUnknownOrder(t *testing.T) {
	if err := topology.Privileged(); err != nil {
		t.Skip(err)
	}
	c := &carrier{clock: packetio.NewClock(0)}
	for _, p := range []**packetio.Port{&c.inner, &c.outer} {
		var err error
		*p, err = packetio.Open("lo", c.clock, packetio.Options{})
		must(t, err)
	}
	ended, said := make(chan error, 1), &bytes.Buffer{}
	ended <- nil
	err := c.obey(bufio.NewScanner(strings.NewReader("begn\ncount\n")), json.NewEncoder(said), ended)
	const want = "remote: cable: order begn: unknown; want begin, end, count or stop"
	if err == nil || err.Error() != want || said.String() != `{"sent":0,"received":0,"error":"`+want+`"}`+"\n" {
		t.Errorf("%v, and to the bench %s", err, said)
	}
}

// A frame that one end has sent and the other has not received, or that was damaged, is lost on the cable. The counters
// of an RNIC's network device leave out what it sends by itself.
func TestCableIsJudged(t *testing.T) {
	counters := func(name string, n uint64) station.Counters {
		return station.Counters{"net/rx_packets": 10, "net/tx_packets": 20, "net/" + name: n}
	}
	for _, c := range []struct {
		what      string
		far, near station.Counters
		soft      bool
		want      string
	}{
		{"whole", counters("rx_packets", 15), counters("tx_packets", 1), true, ""},
		{"lost towards it", counters("rx_packets", 14), nil, true, "cable of dut1 frames there is 4, want 5"},
		{"damaged there", counters("rx_crc_errors", 2), nil, false,
			"cable of dut1 errors there is 2 (net/rx_crc_errors), want 0"},
		{"dropped here", counters("rx_packets", 10), counters("tx_dropped", 3), false,
			"cable of dut1 errors here is 3 (net/tx_dropped), want 0"},
		{"an RNIC", counters("rx_packets", 10), nil, false, ""},
	} {
		cable := &cable{host: &Host{At: testbed.Host{Name: "dut1"}}, soft: c.soft,
			before: ends{far: counters("rx_packets", 10)}}
		items := cable.judge(&ends{far: c.far, near: c.near}, &carried{Sent: 5})
		if got := certify.Issue("during", items); got.Valid != (c.want == "") ||
			!strings.HasPrefix(got.Reason, c.want) {
			t.Errorf("%s: %s; want %q", c.what, got.Reason, c.want)
		}
	}
}
