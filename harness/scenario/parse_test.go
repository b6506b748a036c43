package scenario

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/fault"
	"github.com/rdma-gauntlet/gauntlet/netem/spec"
)

// work is a workload that makes any statement a whole Spec.
const work = "load write msg=1 count=1\n"

func parse(text string) (*Spec, error) { return Parse(strings.NewReader(text)) }

// Each statement changes the default Spec in one way.
func TestStatements(t *testing.T) {
	tests := []struct {
		text string
		want func(*Spec)
	}{
		{"# one\n#two\n\n#\nseed 1\n# later", func(s *Spec) { s.Title = []string{"one", "two", ""} }},
		{"seed 0xFFFFFFFFFFFFFFFF", func(s *Spec) { s.Seed = 1<<64 - 1 }},
		{"seed 010", func(s *Spec) { s.Seed = 10 }},
		{"impl irn", func(s *Spec) { s.Impl = [2]string{"irn", "irn"} }},
		{"impl irn gbn", func(s *Spec) { s.Impl = [2]string{"irn", "gbn"} }},
		{"param cap=500 mode=a=b\nparam cap=", func(s *Spec) { s.Params = engine.Params{"cap": "", "mode": "a=b"} }},
		{"link delay=5us\nlink A>B rate=10G", func(s *Spec) {
			s.Link.AB.Delay, s.Link.BA.Delay, s.Link.AB.Rate = 5*vtime.Microsecond, 5*vtime.Microsecond, 10*unit.Gbps
		}},
		{"loss random p=1e-4\nlink delay=1ms", func(s *Spec) {
			l := spec.Link{Queue: 1000, Delay: vtime.Millisecond, Loss: spec.Loss{Model: spec.Bernoulli, P: 1e-4}}
			s.Link = spec.Duplex{AB: l, BA: l}
		}},
		{"loss random p=1\nloss A>B none\nloss B>A burst:enter=1,len=8", func(s *Spec) {
			s.Link.BA.Loss = spec.Loss{Model: spec.Sojourn, P: 1, H: 1, Length: 8}
		}},
		{"lan rate=10G\nlan loss random p=1e-3\nlan drop B type=ACK", func(s *Spec) {
			s.LAN.Link.Rate, s.LAN.Link.Loss = 10*unit.Gbps, spec.Loss{Model: spec.Bernoulli, P: 1e-3}
			s.LAN.Faults = []fault.Fault{{Action: fault.Drop, From: fault.B, QP: fault.AnyQP, Type: "ACK"}}
		}},
		{"lan delay=0", func(s *Spec) { s.LAN.Link.Delay = 0 }},
		{"cm on\ncm off", func(s *Spec) { s.CM = CMOff }},
		{"cm on\ncm auto", func(s *Spec) {}},
		{"drop A psn=+2 tx=1", func(s *Spec) {
			s.Faults = []fault.Fault{{Action: fault.Drop, From: fault.A, QP: fault.AnyQP, PSN: fault.At(2), Tx: 1}}
		}},
		{"inject B at=10us cut=20 icrc=bad set=ttl:0x3,ipsrc:10.0.0.9,ipsrc:0x0a000009 :  ACK psn=+1 msn=1 ",
			func(s *Spec) {
				s.Injections = []Injection{{To: trace.B, At: 10 * vtime.Microsecond, Packet: "ACK psn=+1 msn=1",
					Cut: 20, BadCRC: true,
					Raw: []Edit{{"ttl", 3}, {"ipsrc", 0x0A000009}, {"ipsrc", 0x0A000009}}}}
			}},
		{"inject A chop=9 : ACK psn=1 msn=1", func(s *Spec) {
			s.Injections = []Injection{{Packet: "ACK psn=1 msn=1", Chop: 9}}
		}},
		{"qp timeout=18 retry=3", func(s *Spec) {
			for i := range s.QP {
				s.QP[i].Timeout, s.QP[i].RetryCount = 18, 3
			}
		}},
		{"qp B pkey=0x7FFF access=rw rto=1ms", func(s *Spec) {
			q := &s.QP[1]
			q.PKey, q.Access, q.RTO = 0x7FFF, engine.LocalWrite|engine.RemoteRead|engine.RemoteWrite, vtime.Millisecond
		}},
		{"qp access=none", func(s *Spec) { s.QP[0].Access, s.QP[1].Access = engine.LocalWrite, engine.LocalWrite }},
		{"qp count=7 receives=600 receive-len=9 replenish=0", func(s *Spec) {
			s.QPs, s.Receives, s.ReceiveLen,
				s.Replenish = 7, 600, 9, false
		}},
		{"qp start=9\nqp B start=5", func(s *Spec) {
			s.QP[0].SendPSN, s.QP[0].RecvPSN, s.QP[1].SendPSN, s.QP[1].RecvPSN = 9, 5, 5, 9
		}},
		{"load send-imm from=B msg=2KiB count=3", func(s *Spec) {
			s.Loads = append([]Load{{From: trace.B, Op: engine.OpSendImm, Msg: 2048, Count: 3}}, s.Loads...)
		}},
		{"post-write from=B at=1s wr=7 len=9 local=-1 remote=2 imm=0xFFFFFFFF rkey=bad solicited=1 signal=0",
			func(s *Spec) {
				s.Posts = []Post{{From: trace.B, At: vtime.Second, LocalOff: -1, RemoteOff: 2, BadKey: true,
					WR: engine.WorkRequest{ID: 7, Op: engine.OpWriteImm, Len: 9, Imm: 1<<32 - 1,
						Solicited: true, Unsignal: true}}}
			}},
		{"post-send inv=0x10 len=1GiB", func(s *Spec) {
			s.Posts = []Post{{WR: engine.WorkRequest{Op: engine.OpSendInv, InvKey: 16, Len: 1 << 30}}}
		}},
		{"post-read len=5", func(s *Spec) { s.Posts = []Post{{WR: engine.WorkRequest{Op: engine.OpRead, Len: 5}}} }},
		{"post-atomic value=18446744073709551615", func(s *Spec) {
			s.Posts = []Post{{WR: engine.WorkRequest{Op: engine.OpFetchAdd, Len: 8, SwapAdd: 1<<64 - 1}}}
		}},
		{"post-atomic op=swap compare=1", func(s *Spec) {
			s.Posts = []Post{{WR: engine.WorkRequest{Op: engine.OpCompareSwap, Len: 8, Compare: 1}}}
		}},
		{"post-receive len=5 local=64", func(s *Spec) {
			s.Posts = []Post{{From: trace.B, Receive: true, LocalOff: 64, WR: engine.WorkRequest{Len: 5}}}
		}},
		{"report detail", func(s *Spec) { s.Reads.Detail = true }},
		{"report detail\nreport completions", func(*Spec) {}},
		{"report fuzz", func(s *Spec) { s.Reads = Readings{Detail: true, Fuzz: true} }},
		{"run for=1s limit=2s", func(s *Spec) { s.For, s.Limit = vtime.Second, 2*vtime.Second }},
		{"\r\n \t qp  \t retry=7 \r\n", func(*Spec) {}},
	}
	for _, tt := range tests {
		want := Default()
		want.Loads = []Load{{Op: engine.OpWrite, Msg: 1, Count: 1}}
		tt.want(want)
		got, err := parse(tt.text + "\n" + work)
		if err != nil {
			t.Errorf("%q: %v", tt.text, err)
			continue
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%q: -want +got\n%s", tt.text, d)
		}
	}
}

// Each error names the line, the field and the remedy.
func TestErrors(t *testing.T) {
	long := strings.Repeat("x", maxLine)
	tests := []struct{ text, want string }{
		{"latency 5",
			`1: unknown verb "latency"; known: seed impl param link loss drop dup delay reorder corrupt rewrite mark ` +
				`inject lan cm device qp load turns post-write post-send post-read post-atomic post-receive report run`},
		{"\x7fELF\x02\x01", `1: unknown verb "\x7fELF\x02\x01"; known: `},
		{"\n\nseed", `3: seed: "": want one whole number below 2^64`},
		{"seed 18446744073709551616", `1: seed: "18446744073709551616": want one whole number below 2^64`},
		{"seed 1 2", `1: seed: unexpected word "2"; leave it out`},
		{"impl", "1: impl: want one name of at most 64 letters, or two for A and B"},
		{"param", "1: param: want name=value"},
		{"lan", "1: lan: want fields such as rate=100G delay=1us, or loss …, or a fault such as drop A psn=+2"},
		{"lan dorp A", "1: lan: want fields such as rate=100G delay=1us, or loss …, or a fault such as drop A psn=+2"},
		{"lan up rate=1G", `1: lan: unexpected word "up"; leave it out`},
		{"cm yes", `1: cm: "yes": want on, off or auto`},
		{"turns", `1: turns: "": want write or rping`},
		{"turns write count=3", "1: turns: msg is missing; write msg=64"},
		{"turns write msg=8", "1: turns: count is missing; write count=100"},
		{"turns write msg=0 count=1", "1: turns: msg=0: a WRITE of no bytes is not seen by who waits for its last one"},
		{"turns rping msg=8 count=1", "1: turns: msg=8: rping takes 32 to 65535"},
		{"param =3", "1: param: =3: want name=value"},
		{"link", "1: link: want fields such as rate=10G delay=20ms queue=1000"},
		{"link delay=-1ms", "1: link: delay=-1ms is negative; use 0 or more"},
		{"link speed=10G",
			`1: link: unknown field "speed"; known are rate, delay, jitter, queue, port, ecn-min, ecn-max, ecn-p, ` +
				`reorder, duplicate, corrupt`},
		{"link C>D delay=1ms", `1: link: unexpected word "C>D"; leave it out`},
		{"link delay=1ms delay=2ms", "1: link: delay=2ms: given twice; keep one"},
		{"loss", "1: loss: want a model, such as loss random p=1e-4, or loss none"},
		{"loss random p=120%", `1: loss random: p: ratio "120%": outside 0 to 1 (0% to 100%)`},
		{"loss tape file=" + long[:2000], `1: loss: file="` + long[:60] + `": want a shorter path`},
		{"drop C", `1: fault "drop C": unknown side "C"; known are A, B`},
		{"drop A psn=x",
			`1: fault "drop A psn=x": psn="x": want an offset from the start PSN such as +2, or a range such as +2..+5`},
		{"drop A type=WRITE_FRIST",
			`2: fault 0: unknown type "WRITE_FRIST"; known are DATA, ACK, NAK, RNR, READ_RESP, CM, FEC, SEND_FIRST`},
		{"rewrite A field=flow value=1", "2: rewrite: field=flow: the frames of a run are IPv4; use tos or udpsum"},
		{"inject B at=1us", `1: inject: no packet; want "inject B at=10us : WRITE_ONLY psn=+3 len=8"`},
		{"inject : ACK psn=1 msn=1", `1: inject: side "": name the side that receives it, A or B`},
		{"inject B : FOO", `1: inject: packet "FOO": unknown opcode FOO`},
		{"inject B set=ttl : ACK psn=1 msn=1",
			"1: inject: set=ttl: want field:number such as ttl:3, or ipsrc:10.0.0.9"},
		{"inject B set=ipsrc:::1 : ACK psn=1 msn=1",
			"1: inject: set=ipsrc:::1: want field:number such as ttl:3, or ipsrc:10.0.0.9"},
		{"inject B set=t" + strings.Repeat(",t:1", 33) + " : ACK psn=1 msn=1", "1: inject: set=t: want field:number"},
		{"inject B set=t:1" + strings.Repeat(",t:1", 32) + " : ACK psn=1 msn=1",
			"1: inject: set= of 33 fields; use 32 at most"},
		{"inject B icrc=no : ACK psn=1 msn=1", "1: inject: icrc=no: want good or bad"},
		{"inject B cut=0 : ACK psn=1 msn=1", "1: inject: cut=0: want a whole number from 1 to 65535"},
		{"inject B : ACK psn=1 msn=1 " + long[:1024], "1: inject: packet text of 1040 bytes; use 1024 at most"},
		{"inject B qp=1 : ACK psn=1 msn=1", "2: inject: qp=1: there are 1, numbered from 0"},
		{"drop A qp=1", "2: drop: qp=1: there are 1, numbered from 0"},
		{"post-read qp=1", "2: post-read: qp=1: there are 1, numbered from 0"},
		{"qp mtu=1000", "1: qp: mtu=1000: want 256, 512, 1024, 2048 or 4096"},
		{"qp mtu=8192", "1: qp: mtu=8192: want a whole number from 256 to 4096"},
		{"qp A mtu=512", "2: qp: mtu=512 at A and mtu=1024 at B; both ends of a connection share the path MTU"},
		{"qp retry=8", "1: qp: retry=8: want a whole number from 0 to 7"},
		{"qp retry=1_0", "1: qp: retry=1_0: want a whole number from 0 to 7"},
		{"qp retry=3 retry=3", "1: qp: retry=3: given twice; keep one"},
		{"qp C retry=3", `1: qp: side "C": want A or B, or leave it out for both`},
		{"qp count=10001", "1: qp: count=10001: want a whole number from 1 to 10000"},
		{"qp start=16777216", "1: qp: start=16777216: want a whole number from 0 to 16777215"},
		{"qp rto=-1ms", "1: qp: rto=-1ms: is negative; want 0 or more"},
		{"qp rto=5", "1: qp: rto=5: want a duration such as 40ms or 5us"},
		{"qp access=wx", "1: qp: access=wx: want letters of wra (write, read, atomic), each once, or none"},
		{"qp access=", "1: qp: access=: want letters of wra (write, read, atomic), each once, or none"},
		{"qp replenish=yes", "1: qp: replenish=yes: want 0 or 1"},
		{"qp \x1b[2J=1",
			`1: qp: unknown field "\x1b[2J"; known: access ackreq cc coalesce count cqmod dest-rd min-rnr mtu pkey qd rd ` +
				`receive-len receives replenish retry rnr rto start timeout`},
		{"load write count=1", "1: load: msg is missing; write msg=64KiB"},
		{"load write cdf=websearch msg=1 count=1",
			"1: load: msg and cdf both say how large messages are; leave one out"},
		{"load write cdf=x:1 count=1", `1: load: cdf: corner "x:1": size "x": want bytes such as 1500, 64KiB or 1MiB`},
		{"load write cdf=2GiB:1 count=1", "1: load: cdf: messages of 2GiB; want 1GiB at most"},
		{"load write msg=1 offered=2 count=1", "1: load: offered=2: want a share from 0 to 1, such as 0.3 or 30%"},
		{"load write msg=1 offered=0.5 count=1",
			"2: load: offered= is a share of a rate and the link has none; write link rate=10G"},
		{"link rate=1G\nload write msg=1 offered=0.5 every=1ms count=1",
			"3: load: offered= and every= both say when messages arrive; leave one out"},
		{"link rate=1G\nload write msg=0 offered=0.5 count=1",
			"3: load: messages of no bytes offer no load; write msg=64KiB, or every=1ms instead of offered="},
		{"load send cdf=websearch count=1", "2: load: sizes that vary need a buffer for the largest in every " +
			"receive; use write, write-imm or read with cdf="},
		{"load send msg=1 count=3 ahead=1\nload send from=B msg=1 count=1", "3: load: ahead= waits for messages of the " +
			"other side, and too few of them take a receive; raise the count= of its load send"},
		{"load send msg=1 count=1 ahead=1 every=1ms", "2: load: ahead= and a clock both say when messages are sent; " +
			"leave one out"},
		{"load copy msg=1", `1: load: unknown operation "copy"; known: send send-imm write write-imm read`},
		{"load write msg=1025MiB", "1: load: msg=1025MiB: want a size from 0 to 1GiB, such as 1500 or 64KiB"},
		{"load write msg=5GiB", "1: load: msg=5GiB: want a size from 0 to 1GiB, such as 1500 or 64KiB"},
		{"load write msg=-1", "1: load: msg=-1: want a size from 0 to 1GiB, such as 1500 or 64KiB"},
		{"load from=C msg=1", "1: load: from=C: want A or B"},
		{"load write msg=1", "2: load: never ends; give it a count, or the run a duration (run for=10s)"},
		{"post-write wr=1000000000", "1: post-write: wr=1000000000: want a whole number from 0 to 999999999"},
		{"post-write op=swap",
			`1: post-write: unknown field "op"; known: at from imm len local qp remote rkey signal solicited wr`},
		{"post-send remote=5",
			`1: post-send: unknown field "remote"; known: at from imm inv len local qp signal solicited wr`},
		{"post-send imm=1 inv=2", "1: post-send: inv=2: a SEND has an immediate or a key to invalidate; leave one out"},
		{"post-read imm=1",
			`1: post-read: unknown field "imm"; known: at from len local qp remote rkey signal solicited wr`},
		{"post-atomic len=9",
			`1: post-atomic: unknown field "len"; known: at from local op qp remote rkey signal solicited value wr`},
		{"post-atomic compare=9", `1: post-atomic: unknown field "compare"`},
		{"post-atomic op=mul", "1: post-atomic: op=mul: want add or swap"},
		{"post-atomic value=-1", "1: post-atomic: value=-1: want a number of 64 bits, such as 7 or 0xff"},
		{"post-write imm=4294967296", "1: post-write: imm=4294967296: want a whole number from 0 to 4294967295"},
		{"post-write rkey=good", "1: post-write: rkey=good: the only choice is bad; leave it out for the right key"},
		{"post-write : ACK", `1: post-write: nothing may follow a colon; leave out "ACK"`},
		{"report all", `1: report: "all": want detail, completions or fuzz`},
		{"run until=5s", `1: run: unknown field "until"; known: for limit`},
		{"run limit=0", "2: run: limit=0s: every run needs a limit; write limit=60s"},
		{"run for=2s limit=1s", "2: run: for=2s is beyond limit=1s; raise the limit"},
		{"qp retry=" + long[:200], `1: qp: retry="` + long[:60] + `": want a whole number from 0 to 7`},
		{long, "1: unknown verb"},
		{long + "x", "1: line longer than 4096 bytes; split the statement"},
		{strings.Repeat(long, 100), "1: line longer than 4096 bytes; split the statement"},
		{"#" + long[1:], "1: line longer than 4096 bytes; split the statement"},
		{strings.Repeat("\n", maxLines), "10001: more than 10000 lines; a Spec is one run, split it"},
		{strings.Repeat("#\n", maxEntries+1),
			"9901: more than 9900 comments, parameters, faults, injections, loads and posts; split the Spec"},
		{strings.Repeat("drop A\n", fault.MaxFaults+1), "4099: fault: 4097 faults, want at most 4096"},
	}
	for _, tt := range tests {
		_, err := parse(tt.text + "\n" + work)
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%.80q:\n got %v\nwant %s", tt.text, err, tt.want)
		} else if strings.ContainsAny(err.Error(), "\n\r\x1b") {
			t.Errorf("%.80q: more than one line, or a control character: %q", tt.text, err)
		}
	}
	if _, err := parse("# prose alone\n"); err == nil ||
		err.Error() != "1: nothing to do; add a load, a post-…, a turns or an inject line" {
		t.Errorf("a Spec without work: %v", err)
	}
}

// A value just within a bound is accepted.
func TestWithinBounds(t *testing.T) {
	for _, text := range []string{
		"# " + strings.Repeat("x", maxLine-2), strings.Repeat("\n", maxLines-2), strings.Repeat("#\n", maxEntries-1),
		strings.Repeat("drop A\n", fault.MaxFaults), "qp count=10000\ndrop A qp=9999", "run for=1s limit=1s",
		"load write msg=1GiB count=999999999",
		"qp mtu=256", "qp mtu=4096 qd=65536 cqmod=65536 start=16777215 timeout=31",
		"impl " + strings.Repeat("x", maxName),
		"post-atomic op=swap compare=0xFFFFFFFFFFFFFFFF", "load write msg=0 count=1",
	} {
		s, err := parse(text + "\n" + work)
		if err != nil {
			t.Errorf("%.40q: %v", text, err)
			continue
		}
		again, err := parse(s.String())
		if err != nil {
			t.Errorf("%.40q does not parse back: %v", text, err)
		} else if d := cmp.Diff(s, again); d != "" {
			t.Errorf("%.40q: %s", text, d)
		}
	}
}

func TestReadFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.txt")
	if _, err := ReadFile(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	if err := os.WriteFile(path, []byte("seed 1\nseed x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	want := path + `:2: seed: "x": want one whole number below 2^64`
	if _, err := ReadFile(path); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := os.WriteFile(path, []byte(work), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := ReadFile(path); err != nil || len(s.Loads) != 1 {
		t.Errorf("got %v, %v", s, err)
	}
}

type brokenReader struct{ error }

func (r brokenReader) Read([]byte) (int, error) { return 0, r.error }

func TestReadError(t *testing.T) {
	boom := errors.New("boom")
	if _, err := Parse(brokenReader{boom}); !errors.Is(err, boom) {
		t.Errorf("got %v", err)
	}
}
