package roce

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tsharkFields are the fields that tshark must read as this package wrote them.
var tsharkFields = []string{
	"infiniband.bth.opcode", "infiniband.bth.se", "infiniband.bth.m", "infiniband.bth.padcnt", "infiniband.bth.p_key",
	"infiniband.bth.destqp", "infiniband.bth.a", "infiniband.bth.psn",
	"infiniband.reth.va", "infiniband.reth.r_key", "infiniband.reth.dmalen",
	"infiniband.aeth.msn", "infiniband.immdt", "infiniband.invariant.crc",
	"ip.checksum.status", "udp.checksum.status",
}

// tsharkRow is the expected line of tshark for a frame, its fields separated by semicolons.
func tsharkRow(f *Frame, frame []byte) string {
	p := &f.Packet
	num := func(b bool) int {
		if b {
			return 1
		}
		return 0
	}
	l := p.Opcode.Layout()
	reth, msn, imm := ";;", "", ""
	switch {
	case l&LayoutRETH != 0:
		reth = fmt.Sprintf("0x%016x;0x%08x;%d", p.RETH.VA, p.RETH.RKey, p.RETH.DMALen)
	case l&LayoutAtomicETH != 0:
		reth = fmt.Sprintf("0x%016x;0x%08x;", p.RETH.VA, p.RETH.RKey)
	}
	if l&LayoutAETH != 0 {
		msn = fmt.Sprint(p.AETH.MSN)
	}
	if l&LayoutImm != 0 {
		imm = fmt.Sprintf("%08x", p.Imm)
	}
	ip, udp := "1", "3" // good; absent
	if f.isIPv6() {
		ip, udp = "", "1"
	}
	return fmt.Sprintf("%d;%d;%d;%d;%d;0x%06x;%d;%d;%s;%s;%s;0x%08x;%s;%s", p.Opcode, num(p.SE),
		num(p.Mig), p.Pad, p.PKey,
		p.DestQP, num(p.AckReq), p.PSN, reth, msn, imm, binary.BigEndian.Uint32(frame[len(frame)-4:]), ip, udp)
}

// pcapOf returns a capture file of the frames, all with time zero.
func pcapOf(frames [][]byte) []byte {
	le := binary.LittleEndian
	b := le.AppendUint32(nil, 0xA1B2C3D4)
	b = le.AppendUint32(b, 2|4<<16)
	b = append(b, make([]byte, 8)...)
	b = le.AppendUint32(b, 65535)
	b = le.AppendUint32(b, 1)
	for _, f := range frames {
		b = append(b, make([]byte, 8)...)
		b = le.AppendUint32(b, uint32(len(f)))
		b = le.AppendUint32(b, uint32(len(f)))
		b = append(b, f...)
	}
	return b
}

// runTshark returns the rows that tshark prints for the frames. It skips the test where tshark is not installed.
func runTshark(t *testing.T, frames [][]byte, fields ...string) []string {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: starts tshark")
	}
	path, err := exec.LookPath("tshark")
	if err != nil {
		t.Skip("no tshark to compare with")
	}
	file := filepath.Join(t.TempDir(), "frames.pcap")
	if err := os.WriteFile(file, pcapOf(frames), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"-r", file, "-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE", "-T", "fields", "-E",
		"separator=;", "-E", "occurrence=f"}
	for _, f := range fields {
		args = append(args, "-e", f)
	}
	out, err := exec.Command(path, args...).Output()
	if err != nil {
		t.Fatalf("tshark: %v", err)
	}
	return strings.Split(strings.TrimRight(string(out), "\n"), "\n")
}

// TestTsharkAgrees compares every standard packet with tshark's reading. Left out are the extension opcodes, which are
// this project's own, the annex A19 operations, which tshark does not know, and the ICRC of a CNP, which it does not
// show.
func TestTsharkAgrees(t *testing.T) {
	var frames [][]byte
	var want []string
	for _, op := range knownOpcodes() {
		if op == Flush || op == AtomicWrite || op == LoWAR || op.Class() >= ClassCNP {
			continue
		}
		for i, f := range []*Frame{writeFrame(0), overIPv6(writeFrame(0))} {
			f.Packet = canonical(randomPacket(op, 17+i, uint64(op)))
			b := f.AppendTo(nil)
			frames = append(frames, b)
			want = append(want, tsharkRow(f, b))
		}
	}
	got := runTshark(t, frames, tsharkFields...)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tshark reads (-ours +tshark):\n%s", diff)
	}
}

// TestTsharkReadsCM compares a REQ and a REP with tshark, which has its own offsets.
func TestTsharkReadsCM(t *testing.T) {
	ids := CommIDs{Local: 0x11, Remote: 0x22}
	var frames [][]byte
	for _, m := range []CMMessage{
		&REQ{LocalCommID: 0x22, ServiceID: 0x1000000, QPN: 0x123456, StartingPSN: 0xABCDEF, RemoteCMTimeout: 20,
			LocalCMTimeout: 19,
			PKey:           0xFFFF, PathMTU: 5, ACKTimeout: 14, LocalGID: [16]byte{10: 0xFF, 11: 0xFF, 12: 10},
			RemoteGID: [16]byte{10: 0xFF, 11: 0xFF, 12: 10}},
		&REP{CommIDs: ids, QPN: 0x654321, StartingPSN: 0xFEDCBA},
		&DREQ{CommIDs: ids, RemoteQPN: 0x123456},
	} {
		f := writeFrame(0)
		f.Packet = Packet{BTH: BTH{Opcode: UDSendOnly, PKey: DefaultPKey, DestQP: CMQueuePair},
			DETH: DETH{QKey: CMQKey, SrcQP: CMQueuePair}, Payload: AppendCM(nil, 7, m)}
		frames = append(frames, f.AppendTo(nil))
	}
	got := runTshark(t, frames, "infiniband.deth.q_key", "infiniband.mad.transactionid", "infiniband.mad.attributeid",
		"infiniband.cm.req.localqpn", "infiniband.cm.req.startpsn", "infiniband.cm.req.pppmtu",
		"infiniband.cm.req.prim_localacktout",
		"infiniband.cm.rep.remotecommid", "infiniband.cm.rep.localqpn", "infiniband.cm.rep.startpsn",
		"infiniband.cm.dreq.remotecommid")
	want := []string{
		"0x0000000080010000;0x0000000000000007;0x0010;0x123456;0xabcdef;0x05;0x0e;;;;",
		"0x0000000080010000;0x0000000000000007;0x0013;;;;;0x00000022;0x654321;0xfedcba;",
		"0x0000000080010000;0x0000000000000007;0x0015;;;;;;;;0x00000022",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tshark reads (-ours +tshark):\n%s", diff)
	}
}
