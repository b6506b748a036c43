package roce

import "testing"

// TestNames reads back every name that a packet prints, and the number that a log prints with it.
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
		if o, ok := ParseName(p.Name()); !ok || o != tt.opcode {
			t.Errorf("ParseName(%q) = %v, %v", p.Name(), o, ok)
		}
		if uint32(p.Number()) != tt.number {
			t.Errorf("%s: number %d, want %d", tt.text, p.Number(), tt.number)
		}
	}
	if _, ok := ParseName("REPAIRS"); ok {
		t.Error("REPAIRS is no name")
	}
}
