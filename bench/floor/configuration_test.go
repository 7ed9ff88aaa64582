package floor

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/bench/workload"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/internal/catalogue"
)

// bins returns a cluster with one pod of one GiB for each number of cores, and one type of eight cores for each price.
func bins(cores []int, prices ...float64) *workload.Cluster {
	c := &workload.Cluster{}
	for i, price := range prices {
		c.Catalogue = append(c.Catalogue, catalogue.Type{
			Name: fmt.Sprint("t", i), Allocatable: map[string]string{"cpu": "8", "memory": "64Gi", "pods": "100"},
			Offerings: []catalogue.Offering{{Zone: "a", CapacityType: apiv1.CapacityTypeOnDemand, Price: price}},
		})
	}
	for i, n := range cores {
		p := workload.Pods(workload.Skewed, 1, 1)[0]
		p.Name = fmt.Sprint("p", i)
		p.Spec.Containers[0].Resources.Requests = requests(n)
		c.Pods = append(c.Pods, p)
	}
	return c
}

func TestConfiguration(t *testing.T) {
	for _, tt := range []struct {
		name   string
		cores  []int
		prices []float64
		want   float64
	}{
		{"none", nil, []float64{1}, 0},
		{"too large to share", []int{5, 5, 5}, []float64{2, 1}, 3},
		{"two to a node", []int{4, 4, 4, 4}, []float64{1}, 2},
		{"half a node", []int{4, 4, 4}, []float64{1}, 1.5},
		{"a large one with a small one each", []int{5, 3, 5, 3, 5}, []float64{1}, 3},
		{"one of each only", []int{7, 1, 2}, []float64{1}, 2},
		{"three small ones", []int{3, 3, 3}, []float64{1}, 1.5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, _, err := Configuration(bins(tt.cores, tt.prices...), 100, apiv1.CapacityTypeOnDemand)
			if err != nil {
				t.Fatal(err)
			}
			if got > tt.want*(1+1e-9) || got < tt.want*(1-2*gap) {
				t.Errorf("Configuration = %v, want %v", got, tt.want)
			}
		})
	}
	if _, _, err := Configuration(bins([]int{9}, 1), 10, apiv1.CapacityTypeOnDemand); err == nil {
		t.Error("a pod that fits nowhere has a floor")
	}
}

// The bound is between the plain lower bound and the price of a plan. For large pods it is above the plain lower bound.
func TestConfigurationIsBetween(t *testing.T) {
	for _, profile := range []workload.Profile{workload.Large, workload.Skewed} {
		c, err := workload.New(profile, 40, 3, "cmr6")
		if err != nil {
			t.Fatal(err)
		}
		plain, err := Price(c, apiv1.CapacityTypeOnDemand)
		if err != nil {
			t.Fatal(err)
		}
		bound, cost, err := Configuration(c, 100, apiv1.CapacityTypeOnDemand)
		if err != nil {
			t.Fatal(err)
		}
		d, err := c.Delta()
		if err != nil {
			t.Fatal(err)
		}
		plan := pack.Solve(model.Compile(d), pack.Options{Labels: apiv1.CoreLabels()})
		if bound > plan.Price*(1+1e-9) || bound < plain*(1-1e-3) || profile == workload.Large && bound < plain*1.01 ||
			bound > cost*(1+1e-9) {
			t.Errorf("%s: bound %v, not above %v, plain floor %v, plan %v", profile, bound, cost, plain, plan.Price)
		}
	}
}

func requests(cores int) corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU: *quantity.NewQuantity(int64(cores), quantity.DecimalSI), corev1.ResourceMemory: quantity.MustParse("1Gi"),
	}
}
