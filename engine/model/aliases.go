package model

import (
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/require"
)

// coreAliases are the label keys that Kubernetes has deprecated, with the keys that replace them.
var coreAliases = apiv1.CoreLabels().Aliases

// Normalize returns the set with the deprecated keys of s.Aliases replaced.
func Normalize(s *Snapshot, set require.Set) require.Set { return normalize(set, s.Aliases) }

// normalize returns the set with deprecated keys replaced. aliases are as Snapshot.Aliases.
func normalize(set require.Set, aliases map[string]string) require.Set {
	if aliases == nil {
		aliases = coreAliases
	}
	return set.Normalize(aliases)
}
