package nodeclass

import (
	"testing"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
)

func TestTerms(t *testing.T) {
	got := terms([]awsv1.SubnetSelectorTerm{
		{Tags: map[string]string{"b": "2", "a": "*"}}, {ID: "subnet-1"}, {ID: "subnet-2"}, {ID: "subnet-3"}, {ID: "subnet-4"},
	})
	if want := "[tags a=*,b=2; id subnet-1; id subnet-2; and 2 more]"; got != want {
		t.Errorf("terms are %s, want %s", got, want)
	}
}
