// Package rciwarp is engines of iWARP over TCP that are wrong on purpose, one behaviour broken in each, to prove that
// the rules of the family RCIW can fail. Most alter FPDUs in outgoing frames; two complete receives too early.
package rciwarp

import (
	"embed"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/engine/tamper"
	"github.com/rdma-gauntlet/gauntlet/harness/iwarp"
	"github.com/rdma-gauntlet/gauntlet/impls/broken"
	"github.com/rdma-gauntlet/gauntlet/impls/rciwarp"
)

// recipe is the source form of a variant.
type recipe struct {
	name, breaks, catches, scenarios string
	// out and in change an outgoing or arriving FPDU; its CRC is then corrected, unless keepCRC
	out, in     func(fpdu []byte)
	keepCRC     bool
	early, lazy bool
}

// recipes are sorted by name.
func recipes() []recipe {
	nothing := func([]byte) {}
	return []recipe{
		{name: "crc-ignored", breaks: "takes FPDUs whose CRC is wrong", catches: "RCIW-MPA-003",
			scenarios: "corrupted", in: nothing},
		{name: "crc-wrong", breaks: "sends WRITEs with a wrong CRC", catches: "RCIW-MPA-001",
			scenarios: "mixed", keepCRC: true,
			out: func(b []byte) {
				if opcode(b) == iwarp.Write {
					b[len(b)-1] ^= 1
				}
			}},
		{name: "delivers-early", breaks: "completes receives with SENDs that follow a hole in the stream",
			catches: "RCIW-HOL-001", scenarios: "hole", early: true},
		{name: "marker-astray", breaks: "sends a wrong pointer in the first marker", catches: "RCIW-MPA-002",
			scenarios: "marked",
			out: func(b []byte) {
				if b[0]|b[1]|b[2]|b[3] == 0 { // a marker before an FPDU
					b[3] = 4
				}
			}},
		{name: "msn-skips", breaks: "numbers SENDs from 2", catches: "RCIW-DDP-001", scenarios: "mixed",
			out: func(b []byte) {
				if opcode(b).IsSend() {
					b[msnAt+3]++
				}
			}},
		{name: "places-late", breaks: "completes receives before earlier data is placed", catches: "RCIW-ORD-001",
			scenarios: "mixed", lazy: true},
		{name: "read-astray", breaks: "answers READs with another STag", catches: "RCIW-RD-001", scenarios: "reads",
			out: func(b []byte) {
				if opcode(b) == iwarp.ReadResp {
					b[stagAt+3] ^= 1
				}
			}},
		{name: "wrong-code", breaks: "calls an invalid STag a range error", catches: "RCIW-TERM-001",
			scenarios: "bad-stag",
			out: func(b []byte) {
				if opcode(b) == iwarp.Terminate {
					b[codeAt] = 1
				}
			}},
	}
}

//go:embed testdata
var stimuli embed.FS

// Family returns the variants.
func Family() broken.Family {
	var list []broken.Recipe
	for _, r := range recipes() {
		list = append(list,
			broken.Recipe{Name: r.name, Breaks: r.breaks, Catches: r.catches, Scenarios: r.scenarios, Change: r.change})
	}
	return broken.Make(rciwarp.Implementation, stimuli, list...)
}

// change breaks the correct engine.
func (r *recipe) change(impl *engine.Implementation) {
	impl.NewStream = nil // the hooks need frames and packets, so the engine runs over TCP-lite
	if r.early || r.lazy {
		impl.NewHost = nil
		impl.New = func(qp engine.QP, mem engine.Memory) (engine.Requester, engine.Responder, error) {
			return newEnd(qp, mem, r)
		}
	}
	var f tamper.Frames
	if r.out != nil {
		f.Out = editor(r.out, r.keepCRC)
	}
	if r.in != nil {
		f.In = editor(r.in, r.keepCRC)
	}
	*impl = tamper.Around(*impl, f)
}
