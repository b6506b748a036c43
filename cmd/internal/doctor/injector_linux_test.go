package doctor

import (
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/netem/injector"
)

// A user without the injector gets the reason, such as missing rights, and the alternative.
func TestInjects(t *testing.T) {
	if f := injects(injector.Support{OK: true, Hook: "TCX"}); f.State != "ok" || f.Remedy != "" ||
		!strings.Contains(f.Found, "TCX") {
		t.Errorf("%+v", f)
	}
	f := injects(injector.Support{Reason: "no right: run as root, or with CAP_SYS_ADMIN"})
	if f.State != "limited" || !strings.HasSuffix(f.Found, ": no right: run as root, or with CAP_SYS_ADMIN") ||
		f.Remedy != "the relay does them; the injector needs Linux 5.12" {
		t.Errorf("%+v", f)
	}
}
