package listing

import "testing"

func TestCatalogueIsWhole(t *testing.T) {
	if n := len(catalogued()); n != 362 {
		t.Errorf("%d rules, the catalogue has 362", n)
	}
}
