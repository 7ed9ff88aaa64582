package upkeep

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/provider/aws/catalog"
	"github.com/karpenter-go/karpenter/provider/aws/periodic"
)

// Types returns the instance types of node classes.
type Types interface {
	Types(class *awsv1.EC2NodeClass) ([]*model.InstanceType, error)
	Machines() []catalog.Machine
}

// maxOfferings is a number of offerings, without those of addUnreserved. Each offering has two series. If there are more offerings, only instance
// types that NodeClaims have, or had since the start, have metrics.
const maxOfferings = 1000

// offersEvery is the interval at which the metrics are computed.
const offersEvery = time.Minute

// Offers publishes metrics of offerings and their prices. It removes those of offerings that no longer exist.
type Offers struct {
	reader client.Reader
	types  Types
	// reserved adds availabilities of 0 for reserved capacity that does not exist.
	reserved bool

	available, price, cores, memory *prometheus.Desc

	told atomic.Pointer[[]prometheus.Metric]
	// used are the instance types of NodeClaims since the start. Only Refresh uses it.
	used map[string]bool
}

// NewOffers registers the metrics with reg. With reserved, an instance type without reserved capacity in a zone has the availability
// 0 for it, and no price.
func NewOffers(reader client.Reader, types Types, reserved bool, reg prometheus.Registerer) *Offers {
	o := &Offers{
		reader: reader, types: types, reserved: reserved,
		available: prometheus.NewDesc("karpenter_cloudprovider_instance_type_offering_available",
			"1 if the offering can be had by any node class, else 0.", []string{"instance_type", "capacity_type", "zone"}, nil),
		price: prometheus.NewDesc("karpenter_cloudprovider_instance_type_offering_price_estimate",
			"Estimated price of the offering in dollars per hour.", []string{"instance_type", "capacity_type", "zone"}, nil),
		cores: prometheus.NewDesc("karpenter_cloudprovider_instance_type_cpu_cores",
			"vCPUs of the type.", []string{"instance_type"}, nil),
		memory: prometheus.NewDesc("karpenter_cloudprovider_instance_type_memory_bytes",
			"Memory of the type, nothing subtracted.", []string{"instance_type"}, nil),
	}
	reg.MustRegister(o)
	return o
}

// Describe implements prometheus.Collector.
func (o *Offers) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{o.available, o.price, o.cores, o.memory} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (o *Offers) Collect(out chan<- prometheus.Metric) {
	if told := o.told.Load(); told != nil {
		for _, m := range *told {
			out <- m
		}
	}
}

// Task returns the task that refreshes the metrics.
func (o *Offers) Task() periodic.Task {
	return periodic.Task{Label: "cloudprovider.metrics", Run: func(ctx context.Context) (time.Duration, error) {
		return offersEvery, o.Refresh(ctx)
	}}
}

// shown returns a function that reports whether an instance type has metrics. n is the number of offerings.
func (o *Offers) shown(ctx context.Context, n int) (func(instanceType string) bool, error) {
	var claims apiv1.NodeClaimList
	if err := o.reader.List(ctx, &claims); err != nil {
		return nil, fmt.Errorf("list claims: %w", err)
	}
	if o.used == nil {
		o.used = map[string]bool{}
	}
	for i := range claims.Items {
		o.used[claims.Items[i].Labels[corev1.LabelInstanceTypeStable]] = true
	}
	return func(instanceType string) bool { return n <= maxOfferings || o.used[instanceType] }, nil
}

type offer struct{ instanceType, capacityType, zone string }

// Refresh computes the metrics. Classes whose instance types are not known yet are ignored.
func (o *Offers) Refresh(ctx context.Context) error {
	var classes awsv1.EC2NodeClassList
	if err := o.reader.List(ctx, &classes); err != nil {
		return fmt.Errorf("list node classes: %w", err)
	}
	price, available := map[offer]float64{}, map[offer]bool{}
	for i := range classes.Items {
		types, err := o.types.Types(&classes.Items[i])
		if err != nil {
			log.FromContext(ctx).V(1).Info("skipping EC2NodeClass: instance types unavailable", "EC2NodeClass", klog.KRef("", classes.Items[i].Name), "error", err.Error())
			continue
		}
		for _, t := range types {
			for _, f := range t.Offerings {
				k := offer{t.Name, f.CapacityType, f.Zone}
				price[k], available[k] = f.Price, available[k] || f.Available
			}
		}
	}
	if o.reserved {
		addUnreserved(available)
	}
	of, err := o.shown(ctx, len(price))
	if err != nil {
		return err
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) prometheus.Metric {
		return prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	var told []prometheus.Metric
	for k, have := range available {
		if !of(k.instanceType) {
			continue
		}
		yes := 0.0
		if have {
			yes = 1
		}
		told = append(told, gauge(o.available, yes, k.instanceType, k.capacityType, k.zone))
		if p, ok := price[k]; ok {
			told = append(told, gauge(o.price, p, k.instanceType, k.capacityType, k.zone))
		}
	}
	for _, m := range o.types.Machines() {
		if !of(m.Name) {
			continue
		}
		told = append(told, gauge(o.cores, float64(m.VCPU), m.Name), gauge(o.memory, float64(m.MemoryMiB)*(1<<20), m.Name))
	}
	o.told.Store(&told)
	return nil
}

// addUnreserved adds an offering that is not available for each instance type and zone without reserved capacity.
func addUnreserved(available map[offer]bool) {
	for _, k := range slices.Collect(maps.Keys(available)) {
		k.capacityType = apiv1.CapacityTypeReserved
		if _, ok := available[k]; !ok {
			available[k] = false
		}
	}
}
