package doctor

import (
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/netem/injector"
)

// Whoever cannot have the injector is told the reason, and which rights it needs.
func TestInjects(t *testing.T) {
	if f := injects(injector.Support{OK: true, Hook: "TCX"}); f.State != "ok" || f.Remedy != "" ||
		!strings.Contains(f.Found, "TCX") {
		t.Errorf("%+v", f)
	}
	f := injects(injector.Support{Reason: "no right to load programs"})
	if f.State != "limited" || !strings.Contains(f.Found, "no right to load programs") ||
		!strings.Contains(f.Remedy, "CAP_BPF and CAP_NET_ADMIN") {
		t.Errorf("%+v", f)
	}
}
