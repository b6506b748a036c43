package scenario

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
)

// verb is one word of the language: how it is read, and how it is explained.
type verb struct {
	name    string
	example string
	meaning string
	read    func(*Spec, *statement)
}

// verbs is the whole language, in the order in which a Spec prints.
var verbs = []verb{
	{"seed", "seed 7", "the seed of every random stream", readSeed},
	{"impl", "impl gbn", "the implementation at both sides; two names are A's and B's", readImpl},
	{"param", "param cap=500", "a parameter of the scheme", readParam},
	{"link", "link rate=10G delay=20ms queue=100000", "both directions; link A>B … and link B>A … are one", readLink},
	{"loss", "loss random p=1e-4", "the loss process: none random gemodel state burst tape; loss A>B " +
		"… is one direction", readLoss},
	{"drop", "drop A psn=+2 tx=1", "lose A's third packet the first time it is sent", readFault},
	{"dup", "dup A psn=+2 copies=2", "deliver it three times", readFault},
	{"delay", "delay A psn=+3 by=100us", "deliver it later", readFault},
	{"reorder", "reorder A psn=+2 behind=3", "let three packets overtake it", readFault},
	{"corrupt", "corrupt A psn=+2 field=payload",
		"flip a bit: any ip udp bth opcode psn qpn ext payload icrc", readFault},
	{"rewrite", "rewrite A psn=+1 field=ttl value=3",
		"change a field that routers change, outside the ICRC", readFault},
	{"mark", "mark A psn=+2 count=*", "set ECN to CE", readFault},
	{"inject", "inject B at=10us set=ttl:3 : WRITE_ONLY psn=+3 len=8",
		"a crafted packet; qp= cut= chop= icrc=bad set=FIELD:NUMBER,… bend it", readInjection},
	{"lan", "lan rate=100G delay=1us", "the link between A and a middlebox near it; lan loss … and lan drop A psn=+2 " +
		"are what happens there", readLAN},
	{"cm", "cm on", "set connections up by messages of the communication manager: on, off, or auto, " +
		"which is on with a middlebox", readCM},
	{"device", "device B qpn=0x11 key=0x1f buffer=0x7f00", "a foreign implementation " +
		"is at B, with these numbers of its own; what introduces it adds the line", readDevice},
	{"qp", "qp mtu=1024 timeout=14 retry=7 qd=128",
		"attributes of both ends; qp A … is one; count= connections", readQP},
	{"load", "load write msg=64KiB count=100", "keep every queue full: send send-imm write write-imm read; from=B; " +
		"cdf=websearch instead of msg; offered=30% or every=1ms: messages come by the clock; ahead=1: each answers one " +
		"of the other side", readLoad},
	{"turns", "turns write from=A msg=64 count=100",
		"two applications take turns: write, as ib_write_lat, or rping", readTurns},
	{"post-write", "post-write at=5us len=4096 remote=64", "one WRITE; imm= makes it WRITE_IMM", postWrite},
	{"post-send", "post-send qp=1 len=4096", "one SEND; imm= or inv= make it SEND_IMM or SEND_INV", postSend},
	{"post-read", "post-read wr=3 len=4096", "one READ", postRead},
	{"post-atomic", "post-atomic op=swap compare=0x1 value=0x2", "one atomic: op=add or op=swap", postAtomic},
	{"post-receive", "post-receive from=B len=4096", "one receive buffer", readReceive},
	{"report", "report detail", "endpoints report placements, timers and counters too; report completions is the " +
		"default, and report fuzz does more: a million mutated frames", readReport},
	{"run", "run for=10s limit=60s", "stop after so long; without for=, when the work is done", readRun},
}

// findVerb returns nil for a verb that the language does not have. A search of twenty names costs nothing beside the
// rest of a line, and keeps the table in the order in which it is shown.
func findVerb(name string) *verb {
	i := slices.IndexFunc(verbs, func(v verb) bool { return v.name == name })
	if i < 0 {
		return nil
	}
	return &verbs[i]
}

// verbNames lists the verbs for the error about an unknown one.
func verbNames() string {
	var names []string
	for _, v := range verbs {
		names = append(names, v.name)
	}
	return strings.Join(names, " ")
}

// Language returns the reference of the scenario text: an example of every verb with its meaning, one line each.
func Language() string {
	var b strings.Builder
	for _, v := range verbs {
		fmt.Fprintf(&b, "%-58s %s\n", v.example, v.meaning)
	}
	return b.String()
}

// The verbs that post work requests, by the operation they begin as.
func postWrite(s *Spec, st *statement)  { s.post(st, engine.OpWrite) }
func postSend(s *Spec, st *statement)   { s.post(st, engine.OpSend) }
func postRead(s *Spec, st *statement)   { s.post(st, engine.OpRead) }
func postAtomic(s *Spec, st *statement) { s.post(st, engine.OpFetchAdd) }
