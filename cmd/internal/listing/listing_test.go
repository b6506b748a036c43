package listing

import "testing"

func TestCatalogueIsWhole(t *testing.T) {
	if n := len(catalogued()); n != 325 {
		t.Errorf("%d rules, the catalogue has 325", n)
	}
}
