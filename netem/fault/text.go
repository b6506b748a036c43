package fault

import "fmt"

// Validate reports the first field that makes no sense, with the remedy.
func (f Fault) Validate() error {
	if gravity(f.Action) < 0 {
		return fmt.Errorf("action %q: unknown", f.Action)
	}
	return nil
}
