package listing

import "testing"

func TestCatalogueIsWhole(t *testing.T) {
	if n := len(catalogued()); n != 340 {
		t.Errorf("%d rules, the catalogue has 340", n)
	}
}
