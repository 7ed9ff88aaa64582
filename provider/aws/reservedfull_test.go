package aws_test

import (
	"errors"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/internal/awsemu/control"
	"github.com/karpenter-go/karpenter/provider/aws"
)

// useUp launches an instance into the reservation as another program would.
func (w *world) useUp(t *testing.T, id string) {
	t.Helper()
	_, err := w.compute().RunInstances(t.Context(), &ec2.RunInstancesInput{
		MinCount: awssdk.Int32(1), MaxCount: awssdk.Int32(1), InstanceType: "m5.large",
		ImageId: awssdk.String(w.class(t).Status.AMIs[0].ID), SubnetId: awssdk.String(w.subnetIn(t, "us-east-1a")),
		CapacityReservationSpecification: &ec2types.CapacityReservationSpecification{
			CapacityReservationTarget: &ec2types.CapacityReservationTarget{CapacityReservationId: awssdk.String(id)},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// subnetIn returns the class's subnet in a zone.
func (w *world) subnetIn(t *testing.T, zone string) string {
	t.Helper()
	for _, n := range w.class(t).Status.Subnets {
		if n.Zone == zone {
			return n.ID
		}
	}
	t.Fatalf("the class has no subnet in %s", zone)
	return ""
}

// A full reservation gets the count 0 and its offering stays available. If EC2 refuses a reservation for another
// reason, or reclaims it, its offering is unavailable for a while and its count is kept.
func TestReservationRefused(t *testing.T) {
	for _, tt := range []struct {
		name      string
		refuse    func(t *testing.T, w *world, p *aws.Provider, id string)
		available bool
		left      int
	}{
		{"full", func(t *testing.T, w *world, p *aws.Provider, id string) {
			w.useUp(t, id)
			w.refused(t, p)
		}, true, 0},
		{"no capacity behind it", func(t *testing.T, w *world, p *aws.Provider, _ string) {
			if err := w.control.ICE(t.Context(), control.Pool{Type: "m5.large", Capacity: apiv1.CapacityTypeReserved}); err != nil {
				t.Fatal(err)
			}
			w.refused(t, p)
		}, false, 1},
		{"not in a state to launch", func(t *testing.T, w *world, p *aws.Provider, _ string) {
			if err := w.control.SetCapacity(t.Context(), control.Capacity{
				Pool: control.Pool{Type: "m5.large", Capacity: apiv1.CapacityTypeReserved}, Code: "InvalidCapacityReservationState.Unavailable",
			}); err != nil {
				t.Fatal(err)
			}
			w.refused(t, p)
		}, false, 1},
		{"taken back", func(t *testing.T, w *world, p *aws.Provider, _ string) {
			c := w.anyCapacity(t, "node")
			w.launched(t, "node", create(t, p, c))
			p.MarkUnavailable(w.load(t, "node"), apiv1.CapacityTypeReserved)
		}, false, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorldSelling(t, "m5.large")
			p := w.start(t)
			id := w.reserve(t, control.Reservation{Type: "m5.large", Zone: "us-east-1a", Count: 1, Targeted: true})
			tt.refuse(t, w, p, id)
			if o, ok := reservedOffer(t, p, id); !ok || o.Available != tt.available || o.ReservationCapacity != tt.left || o.Launchable() {
				t.Errorf("the offering is %+v, %v; want available %v with %d left", o, ok, tt.available, tt.left)
			}
			if i := create(t, p, w.anyCapacity(t, "next")); i.Labels[apiv1.CapacityTypeLabelKey] == apiv1.CapacityTypeReserved {
				t.Errorf("launched %v", i.Labels)
			}
		})
	}
}

// refused checks that the launch of a claim gives an InsufficientCapacityError.
func (w *world) refused(t *testing.T, p *aws.Provider) {
	t.Helper()
	var none *cloud.InsufficientCapacityError
	if _, err := p.Create(t.Context(), w.anyCapacity(t, "refused")); !errors.As(err, &none) {
		t.Fatalf("into a reservation without capacity: %v", err)
	}
}
