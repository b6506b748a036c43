package merge_test

import (
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/capture"
	"github.com/rdma-gauntlet/gauntlet/harness/merge"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/tracetest"
)

// A repair packet whose sender masks its type in the ICRC, like the reserved bits of a BTH, has a wrong ICRC if its QP
// is known. If not, its opcode is a reserved one.
func TestRepairPacketWithMaskedType(t *testing.T) {
	for known, want := range map[bool]trace.Integrity{true: trace.Bad, false: trace.Good} {
		f := tracetest.Parse(t, "A>B SEND_ONLY psn=+0 len=64 A\nA>B REPAIR bpsn=+0 isn=0 n=1 r=4 c=2 FIRST LAST\n", 0)
		frames := tracetest.FramesAt(f, trace.A)
		masked(frames[1].Raw)
		if !known {
			f.Header.Conns[0].Ends[trace.B].QP.QPN += 7
		}
		k := &trace.Collector{}
		if err := merge.OneTap(&f.Header, trace.A, []capture.Source{&tracetest.Frames{List: frames}}, k); err != nil {
			t.Fatal(err)
		}
		if r := k.Records[1]; r.ICRC != want || r.Reserved() == known || r.Packet.Opcode != roce.LoWAR ||
			known != (r.Packet.Repair.Type == roce.RepairData) {
			t.Errorf("known %v: %+v, %s", known, r.Packet, r.Defect)
		}
	}
}

// masked gives a frame the ICRC with the masked byte of the reserved bits of a BTH (IBTA A17.3.3).
func masked(raw []byte) {
	const ip, udp, bth = 14, 34, 42
	b := append(make([]byte, 8, 8+len(raw)), raw[ip:len(raw)-4]...)
	for i := range 8 {
		b[i] = 0xFF
	}
	for _, at := range []int{1, 8, 10, 11, udp - ip + 6, udp - ip + 7, bth - ip + 4} {
		b[8+at] = 0xFF
	}
	binary.LittleEndian.PutUint32(raw[len(raw)-4:], crc32.ChecksumIEEE(b))
}
