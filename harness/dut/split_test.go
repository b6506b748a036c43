package dut

import (
	"strings"
	"testing"
)

// TestSplit: each connection keeps its own statements and those for all connections.
func TestSplit(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"qp count=3\nload write msg=1024 count=9\n", "load"},
		{"qp count=2\ndrop A qp=1 psn=+1\ndrop B type=ACK\npost-write wr=1 qp=0 len=8\npost-write wr=2 qp=1 len=9\n",
			"drop B, post-write 1; drop A, drop B, post-write 2"},
		{"qp count=2\ndrop A qp=0 psn=+1\ninject B qp=0 at=5ms : SEND_LAST psn=+0\ninject B qp=1 at=5ms " +
			": ACK psn=+0 msn=1\n",
			"drop A, inject; inject"},
	} {
		var got []string
		for _, s := range Split(parse(t, c.text)) {
			if s.QPs != 1 {
				t.Errorf("%s: %d connections", c.text, s.QPs)
			}
			got = append(got, lines(s.String()))
		}
		if g := strings.Join(got, "; "); g != c.want {
			t.Errorf("%s: %s, want %s", c.text, g, c.want)
		}
	}
}

// lines abbreviates the statements of a Spec. None may name another connection than the first.
func lines(text string) string {
	var list []string
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		switch {
		case strings.Contains(line, "qp=1"):
			list = append(list, "of another connection: "+line)
		case words[0] == "drop":
			list = append(list, "drop "+words[1])
		case strings.HasPrefix(words[0], "post-"):
			for _, w := range words {
				if id, ok := strings.CutPrefix(w, "wr="); ok {
					list = append(list, words[0]+" "+id)
				}
			}
		case words[0] == "load", words[0] == "inject":
			list = append(list, words[0])
		}
	}
	return strings.Join(list, ", ")
}

// TestFitServes: without a workload, the crafted packets determine the operation that a device has to serve.
func TestFitServes(t *testing.T) {
	for packet, want := range map[string]string{"WRITE_MIDDLE psn=+0 len=1024": "ib_write_bw",
		"SEND_LAST psn=+0":             "ib_send_bw",
		"READ_REQUEST psn=+0 dmalen=8": "ib_read_bw", "READ_RESP_LAST psn=+0 msn=1 len=8": "", "FETCH_ADD psn=+0": ""} {
		tool, _, err := Fit(parse(t, "inject B at=5ms : "+packet+"\n"), 1)
		if (want == "") != (err != nil) || err == nil && tool.Program != want {
			t.Errorf("%s: %+v, %v; want %q", packet, tool, err, want)
		}
	}
}
