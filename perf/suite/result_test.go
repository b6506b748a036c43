package suite

import "testing"

func TestPerfIsTheWorstOfItsClaims(t *testing.T) {
	for _, tt := range []struct {
		statuses, findings []string
		status, finding    string
	}{
		{nil, nil, Reported, ""},
		{[]string{Reported, Holds}, []string{"", Reproduced}, Holds, Reproduced},
		{[]string{Holds, Open}, []string{NotReproduced, Reproduced}, Open, NotReproduced},
		{[]string{Broken, Open}, []string{"", ""}, Broken, ""},
		{[]string{Unknown, Broken, Holds}, []string{"", "", ""}, Unknown, ""},
	} {
		c := Claim{}
		for i := range tt.statuses {
			c.Measured = append(c.Measured, Measured{Status: tt.statuses[i], Finding: tt.findings[i]})
		}
		c.Settle()
		p := Result{Claims: []Claim{{Status: Reported}, c}}
		if p.Settle(); c.Status != tt.status || c.Finding != tt.finding || p.Status != tt.status {
			t.Errorf("%v: %s, %q, all %s; want %s, %q", tt.statuses, c.Status, c.Finding, p.Status,
				tt.status, tt.finding)
		}
	}
}
