package measure

import "testing"

// A machine that runs this test carries packets, and its threads wait for a positive time.
func TestHostCanDoSomething(t *testing.T) {
	var h Host
	if err := h.sleep(); err != nil {
		t.Error(err)
	}
	late := h.Late
	if err := h.work(); err != nil || h.Packets <= 0 || late <= 0 || h.Late < late {
		t.Errorf("%+v, %v", h, err)
	}
}
