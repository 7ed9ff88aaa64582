package v1_test

import (
	"encoding/json"
	"os"
	"testing"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

func TestHashMatchesKarpenter(t *testing.T) {
	b, err := os.ReadFile("testdata/hash-vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Version string
		Vectors []struct {
			Note     string
			Template apiv1.NodeClaimTemplate
			Hash     string
		}
	}
	if err := json.Unmarshal(b, &file); err != nil {
		t.Fatal(err)
	}
	if file.Version != apiv1.NodePoolHashVersion {
		t.Errorf("vectors are of version %q, the code makes %q", file.Version, apiv1.NodePoolHashVersion)
	}
	if len(file.Vectors) != 11 {
		t.Errorf("read %d vectors, want 11", len(file.Vectors))
	}
	for _, v := range file.Vectors {
		t.Run(v.Note, func(t *testing.T) {
			pool := apiv1.NodePool{Spec: apiv1.NodePoolSpec{Template: v.Template}}
			if got := pool.Hash(); got != v.Hash {
				t.Errorf("Hash() = %s, want %s", got, v.Hash)
			}
		})
	}
}

func TestHashIgnoresWhatClaimsDoNotCopy(t *testing.T) {
	pool := apiv1.NodePool{}
	pool.Spec.Template.Spec.NodeClassRef = &apiv1.NodeClassReference{Group: "g", Kind: "K", Name: "n"}
	want := pool.Hash()
	weight, replicas := int32(5), int64(3)
	pool.Spec.Weight, pool.Spec.Replicas = &weight, &replicas
	pool.Spec.Limits = apiv1.Limits{"cpu": {}}
	pool.Spec.Disruption.ConsolidateAfter = apiv1.MustParseNillableDuration("5m")
	pool.Status.Nodes = 7
	if got := pool.Hash(); got != want {
		t.Errorf("Hash() = %s with weight, replicas, limits and disruption, want %s", got, want)
	}
	pool.Spec.Template.Spec.ExpireAfter = apiv1.MustParseNillableDuration("60m")
	sixty := pool.Hash()
	pool.Spec.Template.Spec.ExpireAfter = apiv1.MustParseNillableDuration("1h")
	if got := pool.Hash(); got != sixty || got == want {
		t.Errorf("Hash() = %s for 1h, %s for 60m, %s for none", got, sixty, want)
	}
}
