package cli

import "testing"

func TestNoPool(t *testing.T) {
	for name, want := range map[string]string{"": "no NodePool exists", "blue": `NodePool "blue" not found`} {
		if got := noPool(name).Error(); got != want {
			t.Errorf("noPool(%q) = %q, want %q", name, got, want)
		}
	}
}
