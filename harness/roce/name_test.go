package roce

import "testing"

// TestNames reads the names under which packets print, and the numbers that a log prints with them.
func TestNames(t *testing.T) {
	for _, tt := range []struct {
		text   string
		opcode Opcode
		number uint32
	}{
		{"WRITE_ONLY psn=5 len=8", WriteOnly, 5},
		{"REPAIR bpsn=7 n=2 r=8 c=1", LoWAR, 7},
		{"ANNOUNCE bpsn=9 r=8 c=1", LoWAR, 9},
		{"FEEDBACK r=8 c=1", LoWAR, 0},
	} {
		p, err := ParsePacket(tt.text)
		if err != nil {
			t.Fatal(err)
		}
		if p.Opcode != tt.opcode || uint32(p.Number()) != tt.number {
			t.Errorf("%s: %v, number %d, want %v, %d", tt.text, p.Opcode, p.Number(), tt.opcode, tt.number)
		}
	}
}
