package enginetest

import (
	"fmt"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// alive reports a breach when a requester sends after it was flushed.
func (d *pair) alive(e *end) bool {
	if e.failed {
		d.breach("a flushed requester sends at %sus", d.now.Micros())
	}
	return true
}

// nag makes calls that have no effect by the contract: an early timer, and polls that are refused.
func (d *pair) nag(e *end) {
	var p roce.Packet
	for _, half := range []engine.Engine{e.req, e.resp} {
		if at := deadline(half); at > d.now {
			half.HandleTimer(d.now)
			if deadline(half) != at {
				d.breach("an early HandleTimer at %sus moves the deadline", d.now.Micros())
			}
		}
		before := d.vars(half)
		if half.PollTransmit(d.now, &p) || half.PollTransmit(d.now, &p) {
			d.breach("PollTransmit refused and then sent %s", &p)
		}
		if after := d.vars(half); !slices.Equal(before, after) {
			d.breach("a refused PollTransmit changes %v into %v", before, after)
		}
	}
}

func (d *pair) breach(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf(format, args...)
	}
}

// vars returns the variables of an engine that shows them, and checks that they follow the entries already in the list.
func (d *pair) vars(e engine.Engine) []engine.Var {
	first := engine.Var{Name: "first", Value: 1, IsPSN: true}
	list := inspect(e, []engine.Var{first})
	if len(list) == 0 || list[0] != first {
		d.breach("Vars changes the entries that are in the list")
		return list
	}
	return list[1:]
}

// inspect appends the variables of an engine that shows them.
func inspect(e engine.Engine, list []engine.Var) []engine.Var {
	if in, ok := e.(engine.Inspector); ok {
		return in.Vars(list)
	}
	return list
}
