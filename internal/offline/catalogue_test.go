package offline

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
	"github.com/karpenter-go/karpenter/internal/catalogue"
)

// Types that are printed as JSON and read again are equal.
func TestCatalogueRoundTrip(t *testing.T) {
	for _, provider := range []string{"aws", "kwok"} {
		types, err := TypesOf(provider, "eu-west-1")
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(types)
		if err != nil {
			t.Fatal(err)
		}
		read, err := ReadCatalogue("x.json", text)
		if err != nil {
			t.Fatal(err)
		}
		if len(read.fixed) != len(types) || len(types) < 100 {
			t.Fatalf("%s: %d types read of %d", provider, len(read.fixed), len(types))
		}
		for i, m := range read.fixed {
			if diff := cmp.Diff(types[i], catalogue.Describe(m)); diff != "" {
				t.Fatalf("%s changed (-before +after):\n%s", m.Name, diff)
			}
		}
	}
}

// The types in the catalogue depend on the node class: on its kubelet settings and on the zones of its subnets.
func TestClassShapesTypes(t *testing.T) {
	find := func(class *awsv1.EC2NodeClass) *model.InstanceType {
		c := Shipped(DefaultRegion)
		pool := defaultPool()
		types, err := c.Types(pool, class)
		if err != nil {
			t.Fatal(err)
		}
		again, err := c.Types(pool, class)
		if err != nil || reflect.ValueOf(again).Pointer() != reflect.ValueOf(types).Pointer() {
			t.Errorf("types of one class are not shared: %v", err)
		}
		for _, m := range types {
			if m.Name == "m5.large" {
				return m
			}
		}
		t.Fatal("no m5.large")
		return nil
	}
	plain := find(nil)
	if plain.Allocatable["pods"] != 29 {
		t.Errorf("%d pods without a class", plain.Allocatable["pods"])
	}
	if r, _ := plain.Requirements.Get(awsv1.LabelNodeClass); !r.Equal(require.New(awsv1.LabelNodeClass, require.In, DefaultPool)) {
		t.Errorf("the class's label is %s", r)
	}
	class := &awsv1.EC2NodeClass{}
	if err := json.Unmarshal([]byte(`{"metadata": {"name": "default"}, "spec": {"kubelet": {"maxPods": 10, "kubeReserved": {"cpu": "500m"}}},
		"status": {"subnets": [{"id": "s", "zone": "us-east-1b"}]}}`), class); err != nil {
		t.Fatal(err)
	}
	shaped := find(class)
	if shaped.Allocatable["pods"] != 10 || shaped.Allocatable["cpu"] != 1500 {
		t.Errorf("allocatable is %v", shaped.Allocatable)
	}
	for _, o := range shaped.Offerings {
		if o.Zone != "us-east-1b" {
			t.Errorf("offered in %s", o.Zone)
		}
	}
}

// NodePools of Cluster API have types only in a file. Without a file, a warning says so, and no types of another cloud are
// used.
func TestTypesOfClusterAPI(t *testing.T) {
	p := &apiv1.NodePool{}
	p.Name = "workers"
	p.Spec.Template.Spec.NodeClassRef = &apiv1.NodeClassReference{Group: "clusterapi.ext.karpenter.sh", Kind: "ClusterAPINodeClass", Name: "workers"}
	got, err := Shipped(DefaultRegion).Supply([]*apiv1.NodePool{p}, nil, nil)
	if err != nil || len(got.Types["workers"]) != 0 || len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "--catalog") {
		t.Errorf("supply is %v, %v; want no types and a warning", got, err)
	}
	file := `[{"name":"small","arch":"amd64","labels":{},"allocatable":{"cpu":"4","memory":"16Gi","pods":"110"},` +
		`"offerings":[{"zone":"a","capacityType":"on-demand","price":0.2}]}]`
	c, err := ReadCatalogue("types.json", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	got, err = c.Supply([]*apiv1.NodePool{p}, nil, nil)
	if err != nil || len(got.Types["workers"]) != 1 || len(got.Warnings) != 0 {
		t.Errorf("supply is %v, %v; want the type of the file", got, err)
	}
}
