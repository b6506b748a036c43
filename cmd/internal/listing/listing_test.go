package listing

import "testing"

func TestCatalogueIsWhole(t *testing.T) {
	if n := len(catalogued()); n != 339 {
		t.Errorf("%d rules, the catalogue has 339", n)
	}
}
