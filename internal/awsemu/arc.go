package awsemu

import (
	"fmt"
	"net/http"

	"github.com/karpenter-go/karpenter/internal/awsemu/wire"
)

// arcActions returns the operations of ARC zonal shift.
func (e *Emulator) arcActions() map[string]handler {
	return map[string]handler{"GetManagedResource": e.getManagedResource}
}

type managedResourceJSON struct {
	ARN            string             `json:"arn"`
	Name           string             `json:"name"`
	AppliedWeights map[string]float64 `json:"appliedWeights"`
	Autoshifts     []struct{}         `json:"autoshifts"`
	ZonalShifts    []zonalShiftJSON   `json:"zonalShifts"`
}

type zonalShiftJSON struct {
	ID         string `json:"zonalShiftId"`
	Resource   string `json:"resourceIdentifier"`
	AwayFrom   string `json:"awayFrom"`
	Applied    string `json:"appliedStatus"`
	Comment    string `json:"comment"`
	StartTime  int64  `json:"startTime"`
	ExpiryTime int64  `json:"expiryTime"`
}

// getManagedResource returns the cluster, the only managed resource here, and its current zonal shifts.
func (e *Emulator) getManagedResource(r *request) (any, *wire.Error) {
	if r.path != e.clusterARN() {
		err := wire.Errorf("ResourceNotFoundException", "The resource %s is not managed by zonal shift.", r.path)
		err.Status = http.StatusNotFound
		return nil, err
	}
	out := managedResourceJSON{
		ARN: r.path, Name: e.cfg.Cluster.Name, AppliedWeights: map[string]float64{}, ZonalShifts: []zonalShiftJSON{},
		Autoshifts: []struct{}{},
	}
	for _, z := range e.world.Zones() {
		out.AppliedWeights[z.ID] = 1
	}
	for _, s := range e.world.Shifts() {
		applied := "APPLIED"
		if s.NotApplied {
			applied = "NOT_APPLIED"
		} else {
			out.AppliedWeights[s.ZoneID] = 0
		}
		out.ZonalShifts = append(out.ZonalShifts, zonalShiftJSON{
			ID: s.ID, Resource: r.path, AwayFrom: s.ZoneID, Applied: applied, Comment: "ordered by the emulator's user",
			StartTime: s.Start.Unix(), ExpiryTime: s.Expiry.Unix(),
		})
	}
	return out, nil
}

// clusterARN returns the ARN of the cluster.
func (e *Emulator) clusterARN() string {
	return fmt.Sprintf("arn:%s:eks:%s:%s:cluster/%s", e.world.Partition(), e.world.Region(), e.world.Account(), e.cfg.Cluster.Name)
}
