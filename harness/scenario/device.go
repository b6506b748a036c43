package scenario

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// Device is what stands at one end in place of an endpoint of this project: a foreign implementation, whose numbers are
// its own choice. They are known when the two have been introduced, by a tool's exchange or by the connection manager,
// so a Device is added to a Spec by what introduced them.
type Device struct {
	QPN    uint32 // of its queue pair; zero where there is no device
	Key    uint32 // R_Key of the buffer that it lets its peer reach
	Buffer uint64 // address of that buffer

	// Fill is what every byte is that its peer sends it, where it sends from the very memory that it receives into:
	// what it sends again is then what it sent. Zero is anything.
	Fill byte
}

// Present reports whether there is a device.
func (d Device) Present() bool { return d.QPN != 0 }

// readDevice reads what was learnt of the device at a side.
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

// devices prints what readDevice reads.
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
