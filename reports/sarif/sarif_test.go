package sarif

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/rdma-gauntlet/gauntlet/reports/model"
	"github.com/rdma-gauntlet/gauntlet/reports/model/modeltest"
)

// write returns the document, which must conform to the published schema.
func write(t *testing.T, g *model.Gate) *log {
	t.Helper()
	var b strings.Builder
	if err := Gate(&b, g); err != nil {
		t.Fatal(err)
	}
	if err := valid(b.String()); err != nil {
		t.Fatalf("%v\n%s", err, b.String())
	}
	var l log
	if err := json.Unmarshal([]byte(b.String()), &l); err != nil {
		t.Fatal(err)
	}
	return &l
}

// schema is the published one of OASIS (sarif-schema-2.1.0.json, errata 01), which allows only its own names.
var schema = sync.OnceValue(func() *jsonschema.Schema {
	return jsonschema.NewCompiler().MustCompile("testdata/sarif-schema-2.1.0.json")
})

// valid checks a document against the schema.
func valid(text string) error {
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return err
	}
	return schema().Validate(document)
}

func TestGate(t *testing.T) {
	r := write(t, modeltest.Gate()).Runs[0]
	if len(r.Results) != 3 || len(r.Tool.Driver.Rules) != 3 {
		t.Fatalf("%+v", r)
	}
	if x := r.Results[0]; x.RuleID != "GBN-NAK-002" || x.Level != "error" || x.Message.Text != "second NAK of psn=+2" ||
		x.Locations[0].Physical.Artifact.URI != "mine.gate" ||
		len(x.Suppressions) > 0 {
		t.Errorf("%+v", x)
	}
	if x := r.Results[1]; x.RuleID != "RC-RNR-001" || x.Level != "note" || len(x.Suppressions) != 1 ||
		!strings.Contains(x.Suppressions[0].Justification, "slow timer") {
		t.Errorf("%+v", x)
	}
	if r := write(t, &model.Gate{Status: "PASS", Subject: "gbn"}).Runs[0]; len(r.Results) != 0 {
		t.Errorf("%+v", r)
	}
}

// Whatever text is in a field, the document conforms to the schema.
func TestHostileTextEverywhere(t *testing.T) {
	for _, text := range modeltest.Hostile() {
		if r := write(t, modeltest.Fill(modeltest.Gate(), text, true)).Runs[0]; len(r.Results) != 3 {
			t.Errorf("%.60q: %d results", text, len(r.Results))
		}
	}
}

// The test above can fail: the schema rejects a wrong document.
func TestSchemaIsKept(t *testing.T) {
	const run = `{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"x"}},"results":[{"message":{"text":"x"},` +
		`"level":"note"}]}]}`
	if err := valid(run); err != nil {
		t.Error(err)
	}
	for _, change := range [][2]string{{`"note"`, `"bad"`}, {`"tool":{"driver":{"name":"x"}},`, ""},
		{`"level"`, `"levels"`}, {"2.1.0", "3"}, {`"message":{"text":"x"},`, ""}} {
		if valid(strings.Replace(run, change[0], change[1], 1)) == nil {
			t.Errorf("%s in place of %s keeps the schema", change[1], change[0])
		}
	}
}
