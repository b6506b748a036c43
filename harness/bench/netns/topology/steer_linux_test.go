package topology

import (
	"os"
	"strings"
	"testing"
)

func TestProcessorMask(t *testing.T) {
	for n, want := range map[int]string{0: "1", 5: "20", 31: "80000000", 32: "1,00000000", 70: "40,00000000,00000000"} {
		if got := processorMask(n); got != want {
			t.Errorf("processor %d: %q, want %q", n, got, want)
		}
	}
}

// TestSteer checks that one processor processes what a device receives, where the kernel has this setting.
func TestSteer(t *testing.T) {
	top := open(t, Options{Bridge: true, Steer: true})
	for _, c := range top.cables {
		for device, n := range map[string]*Namespace{c.Host.Device: c.In, c.Port: top.M} {
			set, err := processors(n, device)
			if os.IsNotExist(err) {
				t.Skip("this kernel has no receive packet steering")
			}
			must(t, err)
			if one := strings.Trim(set, "0,"); len(one) != 1 || !strings.Contains("1248", one) {
				t.Errorf("%s: processors %q, want one", device, set)
			}
		}
	}
}

// processors returns the processors that process what a device receives, as sysfs shows them.
func processors(n *Namespace, device string) (set string, err error) {
	err = n.Do(func() error {
		return inSysfs(func() error {
			text, err := os.ReadFile(steering(device))
			set = strings.TrimSpace(string(text))
			return err
		})
	})
	return set, err
}
