package recording

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/capture"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/tracetest"
)

// ported returns the frames of a text at A, some of them with other source ports, by their number.
func ported(t *testing.T, text string, ports map[int]uint16) []capture.Frame {
	t.Helper()
	list := tracetest.FramesAt(tracetest.Parse(t, text, 0), trace.A)
	for i := range list {
		var h roce.Frame
		if err := h.Decode(list[i].Raw); err != nil {
			t.Fatal(err)
		}
		if p := ports[i]; p != 0 {
			h.SrcPort = p
			list[i].Raw = h.AppendTo(nil)
		}
	}
	return list
}

// Another port or MTU where a connection may begin may be of another connection, also when a former port comes back,
// and when only one direction was captured. Within a message, where the MSN goes on, or twice where the PSNs go on, it
// is not.
func TestAnotherConnectionOfAFlow(t *testing.T) {
	const ask, answer = "@1..9 A>B SEND_ONLY psn=+4 len=1 A\n", "@10..19 B>A ACK psn=+4 msn=1\n"
	const full = "@1..9 A>B WRITE_FIRST psn=+4 len=256\n@2..10 A>B WRITE_LAST psn=+5 len=1 A\n"
	for name, c := range map[string]struct {
		text  string
		ports map[int]uint16
		want  bool
	}{
		"a port comes back": {ask + answer + "@30..39 A>B SEND_ONLY psn=+4 len=2 A\n@40..49 B>A ACK psn=+4 msn=1\n" +
			"@50..59 A>B SEND_ONLY psn=+4 len=3 A\n@60..69 B>A ACK psn=+4 msn=1\n", map[int]uint16{2: 50001}, true},
		"within a message": {full + answer, map[int]uint16{1: 50001}, false},
		"one direction":    {ask + "@30..39 A>B SEND_ONLY psn=+3 len=1 A\n", map[int]uint16{1: 50001}, true},
		"one direction, two ports that the PSNs pass over": {ask + "@30..39 A>B SEND_ONLY psn=+5 len=1 A\n" +
			"@40..49 A>B SEND_ONLY psn=+6 len=1 A\n", map[int]uint16{1: 50001, 2: 50002}, false},
		"answers alone": {"@1..9 B>A ACK psn=+4 msn=3\n@30..39 B>A ACK psn=+4 msn=1\n", map[int]uint16{1: 50001}, true},
		"answers of a connection that goes on": {ask + answer + "@30..39 A>B SEND_ONLY psn=+5 len=1 A\n" +
			"@40..49 B>A ACK psn=+5 msn=2\n", map[int]uint16{3: 50001}, false},
		"answers far from the requests": {ask + answer + "@30..39 A>B SEND_ONLY psn=+5 len=1 A\n" +
			"@40..49 B>A ACK psn=+900 msn=2\n", map[int]uint16{3: 50001}, true},
		"answers of two more connections": {ask + answer + "@40..49 B>A ACK psn=+90000 msn=0\n@50..59 B>A ACK psn=+4 msn=1\n",
			map[int]uint16{2: 50001, 3: 50000}, true},
		"answers before the first request": {ask + "@10..19 B>A ACK psn=+4 msn=5\n@20..21 A>B SEND_ONLY psn=+5 len=1 A\n" +
			"@22..23 A>B SEND_ONLY psn=+6 len=1 A\n@30..39 B>A ACK psn=+6 msn=1\n", map[int]uint16{4: 50001}, true},
		"a late answer to an earlier connection": {ask + answer + "@20..21 A>B SEND_ONLY psn=+5 len=1 A\n@22..23 A>B " +
			"SEND_ONLY psn=+4 len=1 A\n@30..39 B>A ACK psn=+5 msn=2\n@40..49 B>A ACK psn=+4 msn=1\n",
			map[int]uint16{3: 50001}, true},
		"data with repair packets, which are longer": {"@1..9 A>B READ_REQUEST psn=+4 dmalen=257 A\n@10..19 B>A " +
			"READ_RESP_FIRST psn=+4 msn=1 len=256\n@11..20 B>A READ_RESP_LAST psn=+5 msn=1 len=1\n@12..21 B>A REPAIR " +
			"bpsn=+4 isn=0 n=2 r=4 c=1 FIRST LAST K\n", nil, false},
		"another first request, without an answer":   {ask + answer + "@30..39 A>B SEND_ONLY psn=+4 len=2 A\n", nil, true},
		"the first request again, without an answer": {ask + answer + "@30..39 A>B SEND_ONLY psn=+4 len=1 A\n", nil, false},
		"another MTU": {full + "@30..39 A>B WRITE_FIRST psn=+4 len=512\n@40..49 A>B WRITE_LAST psn=+5 len=1 A\n",
			nil, true},
		"a message longer than the MTU": {"@1..9 A>B WRITE_ONLY psn=+4 len=512 A\n@30..39 A>B WRITE_FIRST psn=+9 " +
			"len=256\n@40..49 A>B WRITE_LAST psn=+10 len=1 A\n", nil, true},
		"an MTU for each direction": {full + answer + "@30..39 A>B READ_REQUEST psn=+6 dmalen=600\n" +
			"@40..49 B>A READ_RESP_FIRST psn=+6 len=512 msn=2\n@41..50 B>A READ_RESP_LAST psn=+7 len=88 msn=2\n", nil, true},
		"an MTU for requests, and one for answers": {"@1..9 B>A WRITE_FIRST psn=+90 len=256\n@10..19 A>B READ_REQUEST " +
			"psn=+4 dmalen=600\n@20..29 B>A READ_RESP_FIRST psn=+4 len=512 msn=1\n", nil, true},
		"an answer longer than the MTU of requests": {full + "@10..19 A>B READ_REQUEST psn=+6 dmalen=512\n" +
			"@20..29 B>A READ_RESP_ONLY psn=+6 len=512 msn=2\n", nil, true},
		"another MTU within a message": {full + "@30..39 A>B WRITE_FIRST psn=+6 len=256\n" +
			"@40..49 A>B WRITE_MIDDLE psn=+7 len=512\n", nil, false},
		"another service for a packet": {full + "@11..19 A>B SEND_FIRST psn=+6 len=256\n@12..20 A>B X_SEND_ONLY psn=+7 " +
			"len=1 sn=1 off=0\n@13..21 A>B SEND_LAST psn=+8 len=1 A\n", nil, false},
		"a selective acknowledgement of a scheme over RC": {ask + "@2 A>X SEND_ONLY psn=+5 len=1 A\n@3..11 A>B SEND_ONLY " +
			"psn=+6 len=1 A\n@10..19 B>A ACK psn=+4 msn=1\n@11..20 B>A RACK psn=+5 msn=1 sack=+6 PSN_SEQ_ERR\n", nil, false},
		"datagrams": {"@1..9 A>B SEND_ONLY psn=+4 len=1 A\n@2..10 A>B UD_SEND_ONLY psn=+9 len=1 srcqp=17 qkey=0x1\n",
			nil, true},
	} {
		r, _ := filed(t, ported(t, c.text, c.ports))
		conn := &r.Header.Conns[0]
		if conn.Anew != c.want || c.want && (conn.Doubts[0] == nil || conn.Doubts[1] == nil) {
			t.Errorf("%s: anew %v, want %v; doubts %v", name, conn.Anew, c.want, conn.Doubts)
		}
	}
}

// Nothing answers datagrams: a flow of answers of a reliable connection is of another QP.
func TestDatagramsHaveNoPeer(t *testing.T) {
	r, _ := filed(t, tracetest.FramesAt(tracetest.Parse(t, "qp start=7\nqp conn=1 start=900\n"+
		"@1..9 A>B UD_SEND_ONLY psn=+4 len=1 srcqp=17 qkey=0x1\n@10..19 B>A ACK psn=+0 msn=1 conn=1\n", 0), trace.A))
	if len(r.Header.Conns) != 2 {
		t.Errorf("%d connections, want 2", len(r.Header.Conns))
	}
}
