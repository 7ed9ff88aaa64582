package kwok

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

const (
	// typesFile is the environment variable with the name of the controller's file of instance types.
	typesFile = "INSTANCE_TYPES_FILE_PATH"
	// reservedType is the only type on arm64, so no other test uses it. It has reservedCount reserved instances in
	// reservedZone.
	reservedType  = "r-2x-arm64-linux"
	reservedZone  = "test-zone-b"
	reservedCount = 2
)

// object is JSON.
type object = map[string]any

// giveTypes writes the instance types of the controller to a file, and sets the environment variable with its name. The types
// are the Linux types on amd64 by the formula of the documentation, and one type with reservations.
func giveTypes(dir string) error {
	var list []object
	for family, memory := range map[string]int{"c": 2, "s": 4, "m": 8} {
		for _, cores := range []int{1, 2, 4, 8, 16, 32, 48, 64, 96, 128, 192, 256} {
			price := 0.025*float64(cores) + 0.001*float64(memory*cores<<30)/1e9
			var offerings []object
			for _, zone := range []string{"test-zone-a", "test-zone-b", "test-zone-c", "test-zone-d"} {
				offerings = append(offerings, offering(zone, "on-demand", price), offering(zone, "spot", 0.7*price))
			}
			list = append(list, instanceType(fmt.Sprintf("%s-%dx-amd64-linux", family, cores), "amd64", cores, memory*cores, offerings))
		}
	}
	reserved := offering(reservedZone, apiv1.CapacityTypeReserved, 0.001)
	reserved["ReservationCapacity"] = reservedCount
	list = append(list, instanceType(reservedType, "arm64", 2, 4, []object{reserved, offering(reservedZone, "on-demand", 0.1)}))
	text, err := json.Marshal(list)
	if err != nil {
		return err
	}
	file := filepath.Join(dir, "types.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return err
	}
	return os.Setenv(typesFile, file)
}

func instanceType(name, arch string, cores, gibibytes int, offerings []object) object {
	return object{
		"name": name, "architecture": arch, "operatingSystems": []string{"linux"}, "offerings": offerings,
		"resources": object{
			"cpu": fmt.Sprint(cores), "memory": fmt.Sprintf("%dGi", gibibytes), "ephemeral-storage": "20Gi", "pods": fmt.Sprint(min(16*cores, 1024)),
		},
	}
}

func offering(zone, capacityType string, price float64) object {
	in := func(key, value string) object { return object{"key": key, "operator": "In", "values": []string{value}} }
	return object{"Price": price, "Available": true, "Requirements": []object{
		in(corev1.LabelTopologyZone, zone), in(apiv1.CapacityTypeLabelKey, capacityType),
	}}
}

// Reserved capacity is used first, up to the number of reserved instances. Capacity that becomes free is used again.
func TestReservedOfferings(t *testing.T) {
	shownBy(t, "reservation_planned_once")
	t.Parallel()
	c := newCorner(t, "reserved")
	c.pool(quick, func(p *apiv1.NodePool) {
		p.Spec.Template.Spec.Requirements = needs{in(corev1.LabelInstanceTypeStable, reservedType)}
	})
	kinds := func() map[string]int {
		count := map[string]int{}
		for _, n := range c.nodes() {
			count[n.Labels[apiv1.CapacityTypeLabelKey]]++
		}
		return count
	}
	d := c.deploy("web", 4, "1500m")
	c.awaitRunning("web", 4)
	c.awaitNodes(4)
	if got := kinds(); got["reserved"] != reservedCount || got["on-demand"] != 2 {
		t.Errorf("nodes are %v, want %d reserved and the others on demand", got, reservedCount)
	}
	c.scale(d, 0)
	c.awaitNodes(0)
	c.poll(func() string { return missing(len(c.claims()) == 0, "%d claims are left", len(c.claims())) })
	c.scale(d, 1)
	c.awaitRunning("web", 1)
	if got := kinds(); got["reserved"] != 1 || got["on-demand"] != 0 {
		t.Errorf("nodes are %v, want one reserved: both are free again", got)
	}
}
