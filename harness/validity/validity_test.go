package validity

import (
	"encoding/json"
	"testing"
)

func TestFails(t *testing.T) {
	for _, c := range []struct {
		rests, failed Property
		want          bool
	}{
		{Frames, Lateness, false},
		{Frames, Everything &^ Frames, false},
		{Frames, 0, true}, // an unknown property failed
		{Sequence, Capture, true},
		{Sequence, Lateness | Loss, false},
		{Reaction, Delay | Order | Loss, false},
		{Path, Loss, false},
		{Path, Order, true},
		{0, Loss, true}, // it is unknown what the evidence rests on
		{0, 0, true},
	} {
		if got := c.rests.Fails(c.failed); got != c.want {
			t.Errorf("%v fails with %v: %v", c.rests, c.failed, got)
		}
	}
}

func TestText(t *testing.T) {
	for _, c := range []struct {
		p    Property
		text string
		back Property
	}{
		{0, "everything", Everything},
		{Everything, "everything", Everything},
		{Frames, "frames", Frames},
		{Reaction, "frames, capture, accounts, rate, lateness, clock", Reaction},
		{Loss | Delay, "loss, delay", Loss | Delay},
	} {
		var back Property
		text, err := json.Marshal(c.p)
		if err == nil {
			err = json.Unmarshal(text, &back)
		}
		if err != nil || string(text) != `"`+c.text+`"` || back != c.back {
			t.Errorf("%#x: %s, %#x, %v", uint16(c.p), text, uint16(back), err)
		}
	}
	if _, err := end.MarshalText(); err == nil {
		t.Error("a property that is none prints")
	}
	var p Property
	for _, bad := range []string{"", "weather", "frames,capture", "frames, everything"} {
		if err := p.UnmarshalText([]byte(bad)); err == nil {
			t.Errorf("%q is read as %v", bad, p)
		}
	}
}

// TestSetsGrow checks that each set of properties includes the one before.
func TestSetsGrow(t *testing.T) {
	sets := []Property{Frames, Sequence, Reaction, Path, Everything}
	for i := 1; i < len(sets); i++ {
		if !sets[i].Has(sets[i-1]) || sets[i-1].Has(sets[i]) {
			t.Errorf("%v does not grow out of %v", sets[i], sets[i-1])
		}
	}
	if Everything != end-1 || len(names) != 10 || 1<<len(names) != end {
		t.Errorf("everything is %#x of %#x, with %d names", uint16(Everything), uint16(end-1), len(names))
	}
}

// TestBeside: the state of the link is named beside a verdict, unless the verdict has it.
func TestBeside(t *testing.T) {
	late := State{Invalid, "during the run: late"}
	for _, c := range []struct {
		state        State
		status, want string
		note         string
	}{
		{State{}, "FAIL", "FAIL", ""},
		{State{Validity: Valid}, "PASS", "PASS", ""},
		{late, "FAIL", "FAIL (link INVALID)", "link INVALID during the run: late"},
		{late, "INVALID", "INVALID", ""},
	} {
		if got, note := c.state.Beside(c.status), c.state.Note(c.status); got != c.want || note != c.note {
			t.Errorf("%+v beside %s: %q, %q; want %q, %q", c.state, c.status, got, note, c.want, c.note)
		}
	}
}
