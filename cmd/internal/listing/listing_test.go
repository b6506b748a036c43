package listing

import "testing"

func TestCatalogueIsWhole(t *testing.T) {
	if n := len(catalogued()); n != 342 {
		t.Errorf("%d rules, the catalogue has 342", n)
	}
}
