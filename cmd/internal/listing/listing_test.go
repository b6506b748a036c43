package listing

import "testing"

func TestCatalogueIsWhole(t *testing.T) {
	if n := len(catalogued()); n != 361 {
		t.Errorf("%d rules, the catalogue has 361", n)
	}
}
