package roce

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// registry repeats the opcode table in the terms of the standard and of the extension registry: code, bytes of headers
// including the BTH, and a letter for each predicate that holds: Q request, R response, K acknowledgement of READ data,
// F first, M middle, L last, O only, S send, W write, D read request, A atomic, r read response, I immediate, P
// payload.
const registry = `
00 12 QFSP SEND_FIRST
01 12 QMSP SEND_MIDDLE
02 12 QLSP SEND_LAST
03 16 QLSIP SEND_LAST_IMM
04 12 QOSP SEND_ONLY
05 16 QOSIP SEND_ONLY_IMM
06 28 QFWP WRITE_FIRST
07 12 QMWP WRITE_MIDDLE
08 12 QLWP WRITE_LAST
09 16 QLWIP WRITE_LAST_IMM
0a 28 QOWP WRITE_ONLY
0b 32 QOWIP WRITE_ONLY_IMM
0c 28 QOD READ_REQUEST
0d 16 RFrP READ_RESP_FIRST
0e 12 RMrP READ_RESP_MIDDLE
0f 16 RLrP READ_RESP_LAST
10 16 ROrP READ_RESP_ONLY
11 16 RO ACKNOWLEDGE
12 24 RO ATOMIC_ACK
13 40 QOA CMP_SWAP
14 40 QOA FETCH_ADD
16 16 QLSP SEND_LAST_INV
17 16 QOSP SEND_ONLY_INV
1c 32 QO FLUSH
1d 28 QOP ATOMIC_WRITE
1f 12 P LOWAR
20 12 QFSP UC_SEND_FIRST
21 12 QMSP UC_SEND_MIDDLE
22 12 QLSP UC_SEND_LAST
23 16 QLSIP UC_SEND_LAST_IMM
24 12 QOSP UC_SEND_ONLY
25 16 QOSIP UC_SEND_ONLY_IMM
26 28 QFWP UC_WRITE_FIRST
27 12 QMWP UC_WRITE_MIDDLE
28 12 QLWP UC_WRITE_LAST
29 16 QLWIP UC_WRITE_LAST_IMM
2a 28 QOWP UC_WRITE_ONLY
2b 32 QOWIP UC_WRITE_ONLY_IMM
64 20 QOSP UD_SEND_ONLY
65 24 QOSIP UD_SEND_ONLY_IMM
81 12 P CNP
c0 20 QFSP X_SEND_FIRST
c1 20 QMSP X_SEND_MIDDLE
c2 20 QLSP X_SEND_LAST
c3 24 QLSIP X_SEND_LAST_IMM
c4 20 QOSP X_SEND_ONLY
c5 24 QOSIP X_SEND_ONLY_IMM
c6 28 QFWP X_WRITE_FIRST
c7 28 QMWP X_WRITE_MIDDLE
c8 28 QLWP X_WRITE_LAST
c9 40 QLWIP X_WRITE_LAST_IMM
ca 28 QOWP X_WRITE_ONLY
cb 40 QOWIP X_WRITE_ONLY_IMM
cc 36 QOD X_READ_REQUEST
cd 24 RFrP X_READ_RESP_FIRST
ce 24 RMrP X_READ_RESP_MIDDLE
cf 24 RLrP X_READ_RESP_LAST
d0 24 ROrP X_READ_RESP_ONLY
d2 32 ROr X_ATOMIC_ACK
d3 48 QOA X_CMP_SWAP
d4 48 QOA X_FETCH_ADD
d8 20 RO IRN_NACK
d9 20 KO IRN_READ_ACK
da 20 RO RACK
e0 20 QFSP F_SEND_FIRST
e1 20 QMSP F_SEND_MIDDLE
e2 20 QLSP F_SEND_LAST
e3 24 QLSIP F_SEND_LAST_IMM
e4 20 QOSP F_SEND_ONLY
e5 24 QOSIP F_SEND_ONLY_IMM
e6 28 QFWP F_WRITE_FIRST
e7 20 QMWP F_WRITE_MIDDLE
e8 20 QLWP F_WRITE_LAST
e9 32 QLWIP F_WRITE_LAST_IMM
ea 28 QOWP F_WRITE_ONLY
eb 40 QOWIP F_WRITE_ONLY_IMM
ec 36 QOD F_READ_REQUEST
ed 20 RFrP F_READ_RESP_FIRST
ee 20 RMrP F_READ_RESP_MIDDLE
ef 20 RLrP F_READ_RESP_LAST
f0 20 ROrP F_READ_RESP_ONLY
f8 20 RO SACK
f9 20 KO F_READ_ACK
fa 20 RO SACK_OVERFLOW
fb 20 RO FNACK
`

// letters returns the letters of the predicates that hold for o.
func letters(o Opcode) string {
	var b strings.Builder
	for _, q := range []struct {
		letter byte
		holds  bool
	}{
		{'Q', o.IsRequest()}, {'R', o.IsResponse()}, {'K', o.IsReadAck()},
		{'F', o.IsFirst()}, {'M', o.IsMiddle()}, {'L', o.IsLast()}, {'O', o.IsOnly()},
		{'S', o.IsSend()}, {'W', o.IsWrite()}, {'D', o.IsRead()}, {'A', o.IsAtomic()}, {'r', o.IsReadResponse()},
		{'I', o.HasImm()}, {'P', o.HasPayload()},
	} {
		if q.holds {
			b.WriteByte(q.letter)
		}
	}
	return b.String()
}

func TestOpcodeTable(t *testing.T) {
	var got strings.Builder
	got.WriteByte('\n')
	for _, o := range knownOpcodes() {
		fmt.Fprintf(&got, "%02x %d %s %v\n", uint8(o), o.HeaderLen(), letters(o), o)
	}
	if diff := cmp.Diff(registry, got.String()); diff != "" {
		t.Errorf("opcode table (-want +got):\n%s", diff)
	}
}

// knownOpcodes returns every registered opcode in order.
func knownOpcodes() []Opcode {
	var all []Opcode
	for i := range 256 {
		if Opcode(i).Known() {
			all = append(all, Opcode(i))
		}
	}
	return all
}

func TestOpcodeConsistency(t *testing.T) {
	for i := range 256 {
		o := Opcode(i)
		if got, ok := ParseOpcode(o.String()); !ok || got != o {
			t.Errorf("ParseOpcode(%v) = %#x, %v", o, uint8(got), ok)
		}
		if o.Class() != Class(i/32) {
			t.Errorf("%v.Class() = %v", o, o.Class())
		}
		if o.StartsMessage() != (o.IsFirst() || o.IsOnly()) || o.EndsMessage() != (o.IsLast() || o.IsOnly()) {
			t.Errorf("%v: start and end contradict position", o)
		}
		if o.Layout().Len() != o.HeaderLen() {
			t.Errorf("%v: layout %d bytes, header %d", o, o.Layout().Len(), o.HeaderLen())
		}
		if !o.Known() && (o.HeaderLen() != bthLen || letters(o) != "") {
			t.Errorf("%v is unknown and has %s", o, letters(o))
		}
	}
}

func TestParseOpcodeErrors(t *testing.T) {
	for _, s := range []string{"", "write_first", "OP_0x06", "OP_0xZZ", "OP_0x", "OP_0x151", "WRITE"} {
		if o, ok := ParseOpcode(s); ok {
			t.Errorf("ParseOpcode(%q) = %v", s, o)
		}
	}
}

func TestClassString(t *testing.T) {
	var got []string
	for c := range Class(8) {
		got = append(got, c.String())
	}
	if diff := cmp.Diff([]string{"RC", "UC", "RD", "UD", "CNP", "XRC", "X", "F"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestRNRTimer compares the table with IBTA table 45, in milliseconds.
func TestRNRTimer(t *testing.T) {
	want := [32]float64{655.36, 0.01, 0.02, 0.03, 0.04, 0.06, 0.08, 0.12, 0.16, 0.24, 0.32, 0.48,
		0.64, 0.96, 1.28, 1.92,
		2.56, 3.84, 5.12, 7.68, 10.24, 15.36, 20.48, 30.72, 40.96, 61.44, 81.92, 122.88, 163.84, 245.76, 327.68, 491.52}
	for i, ms := range want {
		if got := RNRTimer(i).Duration().Seconds() * 1e3; got < ms*0.9999 || got > ms*1.0001 {
			t.Errorf("code %d = %v ms, want %v", i, got, ms)
		}
	}
	if RNRTimer(33).Duration() != RNRTimer(1).Duration() {
		t.Error("a timer code has five bits")
	}
	if got := (SyndromeRNR + 12).Timer(); got != 12 {
		t.Errorf("RNR syndrome 0x2c holds timer %d", got)
	}
}
