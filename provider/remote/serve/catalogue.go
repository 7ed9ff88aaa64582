package serve

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	cloudv1 "github.com/karpenter-go/karpenter/cloud/proto/karpenter/cloud/v1"
	"github.com/karpenter-go/karpenter/provider/remote/wire"
)

// chunk is the maximum number of instance types in one message.
const chunk = 200

// WatchCatalogue implements the service.
func (s *Server) WatchCatalogue(request *cloudv1.WatchCatalogueRequest, stream grpc.ServerStreamingServer[cloudv1.WatchCatalogueResponse]) error {
	pool := &apiv1.NodePool{}
	spec := &pool.Spec.Template.Spec
	ref := request.GetNodeClass()
	spec.NodeClassRef = &apiv1.NodeClassReference{Group: ref.GetGroup(), Kind: ref.GetKind(), Name: ref.GetName()}
	for text, to := range map[string]any{request.GetTaintsJson(): &spec.Taints, request.GetStartupTaintsJson(): &spec.StartupTaints} {
		if text == "" {
			continue
		}
		if err := json.Unmarshal([]byte(text), to); err != nil {
			return status.Errorf(codes.InvalidArgument, "decode taints: %v", err)
		}
	}
	if _, err := s.config.Classes.learn(request.GetNodeClassJson()); err != nil {
		return err
	}
	sent := sender{provider: s.config.Provider, stream: stream, types: map[string]*cloud.InstanceType{}}
	for {
		stale := s.staleness() // read before the types, so that no change is missed
		if err := sent.send(stream.Context(), pool); err != nil {
			return err
		}
		timer := s.config.Clock.NewTimer(s.config.Poll)
		select {
		case <-stream.Context().Done():
			timer.Stop()
			return status.FromContextError(stream.Context().Err()).Err()
		case <-stale:
			timer.Stop()
		case <-timer.C():
		}
	}
}

// A sender sends the changes of a catalogue.
type sender struct {
	provider cloud.Provider
	stream   grpc.ServerStreamingServer[cloudv1.WatchCatalogueResponse]
	begun    bool
	types    map[string]*cloud.InstanceType // the types in the state in which they were sent
	last     *cloudv1.WatchCatalogueResponse
}

// send reads the instance types and sends the changes.
func (s *sender) send(ctx context.Context, pool *apiv1.NodePool) error {
	list, err := s.provider.InstanceTypes(ctx, pool)
	if ctx.Err() != nil {
		return status.FromContextError(ctx.Err()).Err()
	}
	end := &cloudv1.WatchCatalogueResponse{Commit: true}
	var unready *cloud.NodeClassNotReadyError
	switch {
	case errors.As(err, &unready):
		end.Failure = wire.WriteFailure(err)
	case err != nil && s.last != nil:
		return nil // the client continues to use the types that were sent
	case err != nil:
		end.Failure = &cloudv1.Failure{Message: err.Error()}
	}
	if p, ok := s.provider.(cloud.Pricer); ok {
		end.PricesOutdated = !p.PricesCurrent()
	}
	if z, ok := s.provider.(cloud.Shifter); ok {
		end.ShiftedZones = z.ShiftedZones(ctx)
	}
	if err == nil {
		if err := s.changes(list, end); err != nil {
			return err
		}
	}
	if s.last != nil && len(end.GetRemoved())+len(end.GetInstanceTypes())+len(end.GetUpdates()) == 0 && s.same(end) {
		return nil
	}
	end.Reset_ = !s.begun
	s.begun, s.last = true, end
	return s.stream.Send(end)
}

// same reports whether a commit has the same failure, shifted zones and state of prices as the last one. It does not
// compare instance types.
func (s *sender) same(m *cloudv1.WatchCatalogueResponse) bool {
	return (m.GetFailure() == nil) == (s.last.GetFailure() == nil) && m.GetFailure().GetMessage() == s.last.GetFailure().GetMessage() &&
		m.GetPricesOutdated() == s.last.GetPricesOutdated() && slices.Equal(m.GetShiftedZones(), s.last.GetShiftedZones())
}

// changes adds to the message end what has changed since the last call. If there are too many changed types for one message
// (chunk), it sends the first ones in messages before.
func (s *sender) changes(list []*cloud.InstanceType, end *cloudv1.WatchCatalogueResponse) error {
	now := make(map[string]*cloud.InstanceType, len(list))
	for _, t := range list {
		now[t.Name] = t
		old := s.types[t.Name]
		updates, whole := compare(old, t)
		end.Updates = append(end.Updates, updates...)
		if whole {
			end.InstanceTypes = append(end.InstanceTypes, wire.WriteType(t))
		}
		if len(end.GetInstanceTypes()) < chunk {
			continue
		}
		part := &cloudv1.WatchCatalogueResponse{Reset_: !s.begun, InstanceTypes: end.GetInstanceTypes(), Updates: end.GetUpdates()}
		if err := s.stream.Send(part); err != nil {
			return err
		}
		s.begun, end.InstanceTypes, end.Updates = true, nil, nil
	}
	for name := range maps.Keys(s.types) {
		if now[name] == nil {
			end.Removed = append(end.Removed, name)
		}
	}
	s.types = now
	return nil
}

// compare returns the offerings of t whose terms differ from those in old. If other parts of the type have changed, or old
// is nil, whole is true and updates is nil.
func compare(old, t *cloud.InstanceType) (updates []*cloudv1.OfferingUpdate, whole bool) {
	switch {
	case old == t:
		return nil, false
	case old == nil || len(old.Offerings) != len(t.Offerings) || !old.Requirements.Equal(t.Requirements) ||
		!maps.Equal(old.Capacity, t.Capacity) || !maps.Equal(old.Allocatable, t.Allocatable) || !maps.Equal(old.Attach, t.Attach):
		return nil, true
	}
	for n, o := range t.Offerings {
		was := old.Offerings[n]
		if o.Zone != was.Zone || o.CapacityType != was.CapacityType || o.ReservationID != was.ReservationID || !o.Requirements.Equal(was.Requirements) {
			return nil, true
		}
		if o.Price != was.Price || o.Available != was.Available || o.Unpriced != was.Unpriced ||
			o.ReservationCapacity != was.ReservationCapacity || !o.Since.Equal(was.Since) {
			updates = append(updates, wire.WriteUpdate(t.Name, o))
		}
	}
	return updates, false
}
