package listing

import "testing"

func TestCatalogueIsWhole(t *testing.T) {
	if n := len(catalogued()); n != 345 {
		t.Errorf("%d rules, the catalogue has 345", n)
	}
}
