package evidence

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// What a repair packet repairs was sent before it. That it is beyond the newest request may be a wrong PSN, until a
// later request passes.
func TestGapsThatAreRepaired(t *testing.T) {
	const repair = psn.PSN(1000) // stands for a repair packet of the requests 0 to 3
	for name, c := range map[string]struct {
		sent []psn.PSN
		gaps int
	}{
		"all passed":              {[]psn.PSN{0, 1, 2, 3, repair, 4}, 0},
		"one did not":             {[]psn.PSN{0, 1, 3, repair, 4}, 1},
		"repaired twice":          {[]psn.PSN{0, 1, 3, repair, repair, 4}, 1},
		"the last did not":        {[]psn.PSN{0, 1, 2, repair, 4}, 1},
		"the last comes":          {[]psn.PSN{0, 1, 2, repair, 3, 4}, 0},
		"the last comes, go-back": {[]psn.PSN{0, 1, 2, repair, 0, 1, 2, 3, 4}, 0},
		"nothing comes":           {[]psn.PSN{0, 1, 2, repair}, 0},
		"two did not":             {[]psn.PSN{0, 3, repair, 4}, 0},
	} {
		x := course{requester: &host{}, responder: &host{}}
		for i, p := range c.sent {
			s := Sighting{PSN: p, Opcode: roce.SendOnly, At: vtime.Time(i) * vtime.Time(vtime.Microsecond),
				Headed: true, Sound: true}
			if p == repair {
				s.PSN, s.Opcode, s.Length = 0, roce.LoWAR, 4<<16|1<<8
				x.repair(&s)
				continue
			}
			x.request(&s, 1, true)
		}
		if got := x.requester.gaps; got != c.gaps || x.before != (c.gaps > 0) {
			t.Errorf("%s: %d gaps, want %d; before is %v", name, got, c.gaps, x.before)
		}
	}
}
