package wire

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
)

// The configuration of a relay is the text of a Spec, which determines its connections.
func TestReadClassifier(t *testing.T) {
	s, err := scenario.Parse(strings.NewReader("seed 5\nqp count=3\nload write msg=1KiB count=1\n"))
	if err != nil {
		t.Fatal(err)
	}
	config, err := json.Marshal(s.String())
	if err != nil {
		t.Fatal(err)
	}
	if c, err := ReadClassifier(config); err != nil || !reflect.DeepEqual(c, NewClassifier(s)) || c.qps != 3 {
		t.Errorf("%+v, %v; want that of the Spec", c, err)
	}
	for config, want := range map[string]string{`{}`: "relay: dialect: ", `"link rate=?"`: "relay: spec line "} {
		if _, err := ReadClassifier(json.RawMessage(config)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %q", config, err, want)
		}
	}
}
