package scenario

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// Device is a foreign implementation at one end, in place of an endpoint of this project. It chooses its own numbers.
// They are known after the exchange of a tool or of the connection manager, whose code therefore adds the Device to the
// Spec.
type Device struct {
	QPN    uint32 // number of its queue pair; zero where there is no device
	Key    uint32 // R_Key of the buffer that it lets its peer reach
	Buffer uint64 // address of that buffer

	// Fill is the value of every byte that its peer sends to it, if the device sends from the same buffer that it
	// receives into: its retransmissions then carry the bytes of the first transmission. Zero allows any bytes.
	Fill byte
}

// Present reports whether there is a device.
func (d Device) Present() bool { return d.QPN != 0 }

// readDevice reads the numbers of the device at a side.
func readDevice(s *Spec, st *statement) {
	w, _ := st.word()
	side, ok := parseSide(w)
	if !ok {
		st.errorf("side %.60q: want A or B", w)
		return
	}
	d := &s.Devices[side]
	whole(st, "qpn", &d.QPN, 1, psn.Mask)
	whole(st, "key", &d.Key, 0, 1<<32-1)
	st.word64("buffer", &d.Buffer)
	whole(st, "fill", &d.Fill, 0, 255)
}

// devices prints the devices as readDevice reads them.
func (s *Spec) devices() (text string) {
	for side, d := range s.Devices {
		if d.Present() {
			text += fmt.Sprintf("device %s qpn=%#x key=%#x buffer=%#x", trace.Side(side), d.QPN, d.Key, d.Buffer)
			if d.Fill != 0 {
				text += fmt.Sprintf(" fill=%#x", d.Fill)
			}
			text += "\n"
		}
	}
	return text
}
