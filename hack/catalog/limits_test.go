package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const limitsSource = `// This file was generated at 2026-09-02T16:44:35Z
package vpc

var Limits = map[string]*VPCLimits{
	"m5.large": {
		Interface: 3, IPv4PerInterface: 10, IsTrunkingCompatible: true, BranchInterface: 9,
		DefaultNetworkCardIndex: 0,
		NetworkCards: []NetworkCard{{MaximumNetworkInterfaces: 3, NetworkCardIndex: 0}},
		Hypervisor: "nitro", IsBareMetal: false,
	},
	"p9.metal": {
		Interface: 4, IPv4PerInterface: 50, DefaultNetworkCardIndex: 1,
		NetworkCards: []NetworkCard{
			{MaximumNetworkInterfaces: 1, NetworkCardIndex: 1},
			{MaximumNetworkInterfaces: 3, NetworkCardIndex: 0},
		},
		Hypervisor: "", IsBareMetal: true,
	},
}
`

func TestReadLimits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "limits.go")
	if err := os.WriteFile(path, []byte(limitsSource), 0o600); err != nil {
		t.Fatal(err)
	}
	got, date, err := readLimits(path)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]limit{
		"m5.large": {Interface: 3, IPv4PerInterface: 10, IsTrunkingCompatible: true, BranchInterface: 9, Cards: []int{3}, Hypervisor: "nitro"},
		"p9.metal": {Interface: 4, IPv4PerInterface: 50, DefaultNetworkCardIndex: 1, Cards: []int{3, 1}, IsBareMetal: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("limits differ (-want +got):\n%s", diff)
	}
	if date != "2026-09-02" {
		t.Errorf("date is %q, want 2026-09-02", date)
	}
}
